"""A caption as a row of ids, always of the same length: START, its tokens, END, and padding up to the last position.

S captions · K positions of a caption
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard.data.tokenizer import END, PAD, START, Tokenizer


def caption_ids(captions: Sequence[str], tokenizer: Tokenizer, positions: int) -> tuple[Tensor, list[bool]]:
    """[S, K], and of each whether it was too long and lost its end. The last position is always padding: there the picture
    begins."""
    room = positions - 3
    ids = np.full((len(captions), positions), PAD, dtype=np.int64)
    cut = []
    for row, tokens in enumerate(tokenizer.encode_all(captions, "source")):
        cut.append(len(tokens) > room)
        written = [START, *tokens[:room], END]
        ids[row, : len(written)] = written
    return torch.from_numpy(ids), cut


def no_caption(positions: int) -> Tensor:
    """[K]: of a picture of which nothing is said."""
    return torch.tensor([START, END, *[PAD] * (positions - 2)])
