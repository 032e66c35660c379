"""What counting alone says of n-grams: how much more often each stands in texts of a label than in all others.

S texts · G n-grams of a text · B buckets · C labels
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from regard.models.classifier import NgramBag


def log_count_ratios(bag: NgramBag, batches: Iterable[tuple[Tensor, Tensor]], labels: int) -> Tensor:
    """Of each bucket and label, the logarithm of the share of the label's texts that hold such an n-gram over the share of
    all other texts (Wang and Manning 2012) [B, C]; `batches` are ids [S, T] and labels [S].

    As if each n-gram stood in one text more of a label of usual size, and in one more of the others: what never stands
    anywhere, or everywhere alike, comes to 0.
    """
    found = torch.zeros(bag.table.num_embeddings, labels)  # [B, C]; whole numbers, exact up to 16 million texts
    texts = torch.zeros(labels)
    for ids, owners in batches:
        ngrams = bag.ngrams(ids)  # [S, G]
        found.index_put_((ngrams, owners[:, None].expand_as(ngrams)), torch.ones(()), accumulate=True)
        texts += owners.bincount(minlength=labels)
    found[0] = 0  # padding, and n-grams that came again
    others = found.sum(1, keepdim=True) - found
    unseen = labels / texts.sum()
    return (found / texts + unseen).log_() - (others / (texts.sum() - texts).clamp(min=1) + unseen).log_()
