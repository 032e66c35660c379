"""One process or many, DDP or FSDP2: the only file that knows. `torchrun` sets the environment that is read here.

Both ways are tested on CPUs with gloo. CUDA with nccl is written for real, but untested: our machines have no GPU.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.elastic.multiprocessing.errors import get_error_handler
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from regard.config import Training
from regard.errors import UsageError


@dataclass(frozen=True)
class Processes:
    """The processes that train together, seen from one of them."""

    rank: int
    count: int
    device: torch.device

    @property
    def first(self) -> bool:
        return self.rank == 0

    def sum(self, numbers: Tensor) -> Tensor:
        """The sum over all processes, the same in each."""
        if self.count > 1:
            numbers = numbers.to(self.device)  # nccl sums nothing elsewhere
            dist.all_reduce(numbers)
        return numbers

    def share(self, thing: Any) -> Any:
        """What the first process has, in every process."""
        if self.count == 1:
            return thing
        box = [thing]
        dist.broadcast_object_list(box, src=0, device=self.device)
        return box[0]

    def report(self, error: Exception) -> None:
        """Let torchrun's last words name what happened in the process that failed first."""
        if self.count > 1:
            get_error_handler().record_exception(error)

    def close(self) -> None:
        if self.count > 1:
            # gloo's thread drops the last tensor it exchanged, for which it needs Python's lock; destroying the group
            # holds that lock while it waits for the thread (torch 2.13). So let the thread finish first.
            time.sleep(0.5)
            dist.destroy_process_group()


ALONE = Processes(0, 1, torch.device("cpu"))


def join(settings: Training) -> Processes:
    """Join the processes that torchrun started, or stand alone."""
    wanted = settings.device
    if wanted == "cuda" and not torch.cuda.is_available():
        raise UsageError("training.device = 'cuda', but torch sees no CUDA device; use 'cpu' or 'auto'")
    cuda = wanted == "cuda" or (wanted == "auto" and torch.cuda.is_available())
    count, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    local = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(settings.threads or max(1, cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))))
    if count > 1:
        # The others wait while the first prepares a corpus or validates, which may take hours.
        dist.init_process_group("nccl" if cuda else "gloo", timeout=timedelta(hours=24))
    return Processes(rank, count, device)


def spread(objective: nn.Module, layers: list[nn.Module], processes: Processes, sharding: str) -> nn.Module:
    """Bring it to the device, and make the gradients of all processes one. `layers` are what FSDP2 gathers one at a time."""
    if is_sharded(processes, sharding):  # layer by layer it moves to the device, on which the whole need not fit
        mesh = init_device_mesh(processes.device.type, (processes.count,))
        for part in [*layers, objective]:
            fully_shard(part, mesh=mesh)
        return objective
    objective.to(processes.device)
    if processes.count == 1:
        return objective
    # The only buffers are tables of positions, as long in each process as its own longest sequence.
    return nn.parallel.DistributedDataParallel(objective, broadcast_buffers=False)


def without_exchange(objective: nn.Module, last: bool) -> AbstractContextManager[Any]:
    """While gradients accumulate, only the last part exchanges them."""
    if isinstance(objective, nn.parallel.DistributedDataParallel) and not last:
        return objective.no_sync()
    if isinstance(objective, FSDPModule):
        objective.set_requires_gradient_sync(last)
    return nullcontext()


def whole(tensors: Mapping[str, Tensor], processes: Processes) -> dict[str, Tensor]:
    """Full tensors on the CPU of the first process; the others help it to one at a time and keep none (all must call)."""
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
        if processes.first:
            found[name] = full.detach().cpu()
        del full  # before the next is gathered
    return found


class Whole:
    """Makes a plain model of one that may be sharded: in the first process, for as long as somebody looks at it."""

    def __init__(self, model: nn.Module, processes: Processes, sharding: str) -> None:
        """Before it is sharded, for a sharded model cannot be copied. What is kept of it holds no weights."""
        self.model, self.processes = model, processes
        self.sharded = is_sharded(processes, sharding)
        if self.sharded and processes.first:
            weights = {name: tensor.detach().to("meta") for name, tensor in model.named_parameters()}
            self.outline = with_weights(model, weights)

    def __call__(self) -> nn.Module | None:
        """With the weights of now; None in the other processes (all must call)."""
        if not self.sharded:
            return self.model if self.processes.first else None
        weights = whole(dict(self.model.named_parameters()), self.processes)
        return with_weights(self.outline, weights).to(self.processes.device) if self.processes.first else None


def with_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> nn.Module:
    """A copy of a model around other weights, which are not copied; what is tied stays tied."""
    known = {id(tensor): nn.Parameter(weights[name], tensor.requires_grad) for name, tensor in model.named_parameters()}
    return deepcopy(model, known)


def is_sharded(processes: Processes, sharding: str) -> bool:
    return sharding == "full" and processes.count > 1


def fill(tensor: Tensor, full: Tensor) -> None:
    """Write a full tensor into one that may be sharded."""
    with torch.no_grad():
        if isinstance(tensor, DTensor):
            full = distribute_tensor(full.to(tensor.device), tensor.device_mesh, tensor.placements)
        tensor.copy_(full)
