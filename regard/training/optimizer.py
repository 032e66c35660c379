"""AdamW and the learning rate over time."""

from __future__ import annotations

import math

import torch
from torch import nn

from regard.config import Training


def build_optimizer(model: nn.Module, settings: Training) -> torch.optim.AdamW:
    """Matrices decay, vectors (biases, norms) do not."""
    matrices = [parameter for parameter in model.parameters() if parameter.ndim >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=settings.betas, eps=settings.epsilon, fused=True)


def learning_rate(settings: Training, update: int) -> float:
    """The rate of the given update, counted from 1: a straight rise over the warm-up, then the schedule."""
    peak, warmup = settings.learning_rate, settings.warmup
    if update <= warmup:
        return peak * update / warmup
    if settings.schedule == "inverse-sqrt":  # the paper's section 5.3, with the peak as the free constant
        return peak * math.sqrt(max(warmup, 1) / update)
    if settings.schedule == "constant":
        return peak
    left = max(0.0, (settings.updates - update) / max(1, settings.updates - warmup))  # 1 → 0
    return peak * (left if settings.schedule == "linear" else (1 - math.cos(math.pi * left)) / 2)
