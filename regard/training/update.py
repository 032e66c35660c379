"""One update of the weights by AdamW, true of any model and task: what the loop repeats, and the dry run and the race try.

Everything random in it follows from the seed, the update's number and that of the micro-batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.config import Training
from regard.errors import TrainingError
from regard.training.distributed import Processes, without_exchange
from regard.training.loss import Loss
from regard.training.trainable import MicroBatch


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


class Objective(nn.Module):
    """Model and loss in one module, so that DDP and FSDP2 see one forward pass."""

    def __init__(self, model: nn.Module, loss: Callable[[Any, Any], Loss], autocast: str = "") -> None:
        """`autocast` is the kind of device whose matrix products are computed in bfloat16, if any."""
        super().__init__()
        self.model, self.loss, self.autocast = model, loss, autocast

    def forward(self, batch: Any) -> Loss:
        with torch.autocast(self.autocast or "cpu", torch.bfloat16, enabled=bool(self.autocast)):
            return self.loss(self.model, batch)


def autocast_of(settings: Training, device: str) -> str:
    """The kind of device, if its matrix products are to be computed in bfloat16."""
    return device if settings.precision == "bfloat16" or (settings.precision == "auto" and device == "cuda") else ""


class Update(NamedTuple):
    """What came of one."""

    number: int
    loss: float
    """Without label smoothing, summed over the tokens of all processes."""
    tokens: int
    gradient_norm: float
    """Before clipping."""
    learning_rate: float
    told: list[float]
    """Of each number that the processes had to tell, the sum."""


def take_update(
    objective: nn.Module,
    optimizer: torch.optim.Optimizer,
    micro_batches: Sequence[MicroBatch],
    settings: Training,
    number: int,
    processes: Processes,
    tell: Sequence[float] = (),
    add: Callable[..., float] | None = None,
) -> Update:
    """Update `number`, counted from 1, in one process or in its share of many; each tells the others what it must. `add` is
    another way to do what `add_gradients` does, such as with workers."""
    tokens = sum(each.tokens for each in micro_batches)
    objective.train()
    loss = (add or add_gradients)(objective, micro_batches, settings, number, processes)
    sums = torch.tensor([loss, *tell], dtype=torch.float64)
    loss_sum, *told = processes.sum(sums).tolist()
    norm = clip(objective, settings.clip)
    if not (math.isfinite(loss_sum) and math.isfinite(norm)):
        raise TrainingError(
            f"update {number}: the loss is {loss_sum / tokens} and the gradient's length {norm}. "
            "Lower training.learning_rate, lengthen training.warmup or set training.clip = 1.0."
        )
    rate = learning_rate(settings, number)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return Update(number, loss_sum, tokens, norm, rate, told)


def add_gradients(
    objective: nn.Module,
    micro_batches: Sequence[MicroBatch],
    settings: Training,
    number: int,
    processes: Processes,
    worker: int = 0,
) -> float:
    """Of the micro-batches that are this process's → the sum of their losses, without smoothing. Workers, if there are several,
    have some rows of each, or none."""
    tokens = sum(each.tokens for each in micro_batches)
    mine, total = range(processes.rank, len(micro_batches), processes.count), 0.0
    for part in mine:
        if micro_batches[part].batch is None:
            continue
        torch.manual_seed(seed_of(settings.seed, number, part, *[worker] * bool(worker)))
        with without_exchange(objective, last=part == mine[-1]):
            loss: Loss = objective(micro_batches[part].batch)
            (loss.smoothed * (processes.count / tokens)).backward()  # type: ignore[no-untyped-call]
        total += loss.plain.item()
    return total


def clip(objective: nn.Module, limit: float) -> float:
    """Shorten the gradient to a length of at most `limit`, unless that is 0 → its length before."""
    norm: Tensor = nn.utils.clip_grad_norm_(objective.parameters(), limit or math.inf)
    return float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)


def seed_of(*numbers: int) -> int:
    """One seed from several numbers, well mixed."""
    mixed = 0
    for number in numbers:
        mixed = (mixed * 6_364_136_223_846_793_005 + number + 1_442_695_040_888_963_407) % 2**63
        mixed ^= mixed >> 29
    return mixed
