"""How much a vector still knows: what a linear reader finds in it, tried on vectors that it was not fitted to.

N vectors · D width · C classes
"""

from __future__ import annotations

import torch
from torch import Tensor

RIDGE = 1e-3  # of the number of vectors: enough that no direction without variance decides


def read_linearly(vectors: Tensor, classes: Tensor, count: int) -> float:
    """Vectors [N, D] and the class of each [N] → the share whose class a linear reader finds.

    It is fitted to the first half, by ridge regression on one-hot classes, and tried on the second. Each dimension is
    brought to mean 0 and variance 1 before, so that small numbers are read as well as large ones.
    """
    half = len(vectors) // 2
    fitted = vectors[:half].double()
    mean, spread = fitted.mean(0), fitted.std(0).clamp_min(torch.finfo(torch.float32).eps)
    rows = (vectors.double() - mean) / spread
    rows = torch.cat([rows, rows.new_ones(len(rows), 1)], 1)  # [N, D + 1]
    wanted = torch.nn.functional.one_hot(classes[:half], count).double()  # [N / 2, C]
    known = rows[:half]
    gram = known.T @ known + RIDGE * half * torch.eye(rows.size(1), dtype=torch.double)
    reader = torch.linalg.solve(gram, known.T @ wanted)  # [D + 1, C]
    guessed = (rows[half:] @ reader).argmax(1)
    return float((guessed == classes[half:]).double().mean())
