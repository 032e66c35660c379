"""A model that travels inside a page and runs in the browser: its program, and its numbers in 8 bits.

A matrix becomes whole numbers from −127 to 127 with a scale for every `GROUP` of them; the rest, such as biases and norms, stays
as it is in 32 bits. `rounded` is what the page computes with, for whoever wants to compare.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.view.document import asset
from regard.view.scenes import render

PROGRAM = (
    "sentencepiece",
    "sentences",
    "part_reading",
    "word_groups",
    "unpack_weights",
    "network",
    "transformer",
    "stacked_layers",
    "search",
    "sampling",
    "scene_parts",
    "translation",
    "language_model",
    "classification",
    "worker",
)
"""The scripts that a thread of the page runs."""
GROUP = 64
"""Numbers that share a scale: fewer are more precise, and take more room."""
MOST_CHARACTERS, MOST_BEAM = 1_000, 10


def render_live(told: Mapping[str, Any], model: Mapping[str, Any], text: str = "") -> str:
    """A page with a model inside: `told` is what a live page knows of any model, `model` what this one computes with."""
    inside = {"program": program(), "model": dict(model), "text": text}
    live = {"models": [dict(told)], "most_characters": MOST_CHARACTERS, "most_beam": MOST_BEAM, "inside": inside}
    return render([], None, live)


def program(scripts: Iterable[str] = PROGRAM) -> str:
    """What the thread runs, as text."""
    return "\n".join(('"use strict";', *(asset(f"{name}.js") for name in scripts)))


def pack_weights(model: nn.Module) -> dict[str, Any]:
    """All numbers of a model as a page reads them; what is tied is packed once, also where it lies in memory twice."""
    packed, tensors, same, places = bytearray(), [], {}, dict[tuple[torch.Size, bytes], str]()
    for name, tensor in model.state_dict().items():
        group = group_of(tensor)
        numbers = b"".join(part.tobytes() for part in _parts(tensor, group))
        if (first := places.setdefault((tensor.shape, sha256(numbers).digest()), name)) != name:
            same[name] = first
            continue
        tensors.append({"name": name, "shape": list(tensor.shape), "at": len(packed), "group": group})
        packed += numbers + bytes(-len(numbers) % 4)  # numbers of 32 bits begin at a multiple of four
    return {"numbers": base64.b64encode(packed).decode(), "tensors": tensors, "same": same}


def group_of(tensor: Tensor) -> int:
    """How many numbers of a tensor share a scale; 0: it is not rounded."""
    if tensor.dim() < 2:
        return 0
    return GROUP if tensor.numel() % GROUP == 0 else tensor.size(-1)


def rounded(tensor: Tensor) -> Tensor:
    """A tensor as it is in the page."""
    group = group_of(tensor)
    if not group:
        return tensor.detach().float()
    scales, whole = _parts(tensor, group)
    return torch.from_numpy(whole.astype(np.float32).reshape(-1, group) * scales[:, None]).view(tensor.shape)


def round_weights(tensors: Iterable[Tensor]) -> None:
    """Make tensors what they are in the page, in place: to see what 8 bits do to a model."""
    with torch.no_grad():
        for tensor in tensors:
            tensor.copy_(rounded(tensor))


def _parts(tensor: Tensor, group: int) -> list[NDArray[Any]]:
    """Scales and whole numbers; or the numbers themselves."""
    numbers = tensor.detach().float().cpu().contiguous().numpy()
    if not group:
        return [numbers.astype("<f4")]
    groups = numbers.reshape(-1, group)
    scales = (np.abs(groups).max(1) / 127).astype("<f4")
    whole = np.rint(groups / np.where(scales == 0, 1, scales)[:, None]).clip(-127, 127).astype(np.int8)
    return [scales, whole]
