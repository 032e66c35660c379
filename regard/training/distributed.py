"""One process or many, DDP or FSDP2: the only file that knows. `torchrun` sets the environment that is read here.

Both ways are tested on CPUs with gloo. CUDA with nccl is written for real, but untested: our machines have no GPU.
"""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager, nullcontext
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
class Workers:
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


def join(settings: Training) -> Workers:
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
    return Workers(rank, count, device)


def spread(objective: nn.Module, layers: list[nn.Module], workers: Workers, sharding: str) -> nn.Module:
    """Make the gradients of all processes one. `layers` are what FSDP2 gathers one at a time."""
    if workers.count == 1:
        return objective
    if sharding == "full":
        mesh = init_device_mesh(workers.device.type, (workers.count,))
        for part in [*layers, objective]:
            fully_shard(part, mesh=mesh)
        return objective
    return nn.parallel.DistributedDataParallel(objective)


def without_exchange(objective: nn.Module, last: bool) -> AbstractContextManager[Any]:
    """While gradients accumulate, only the last part exchanges them."""
    if isinstance(objective, nn.parallel.DistributedDataParallel) and not last:
        return objective.no_sync()
    if isinstance(objective, FSDPModule):
        objective.set_requires_gradient_sync(last)
    return nullcontext()


def whole(tensor: Tensor) -> Tensor:
    """The full tensor on the CPU, gathered from all processes if it is sharded (all must call)."""
    full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return full.detach().cpu()


def gather(model: nn.Module, plain: nn.Module) -> None:
    """Write the weights of a sharded model into a plain copy of it, if there are two (all must call)."""
    if plain is not model:
        for sharded, full in zip(model.parameters(), plain.parameters(), strict=True):
            fill(full, whole(sharded))


def fill(tensor: Tensor, full: Tensor) -> None:
    """Write a full tensor into one that may be sharded."""
    with torch.no_grad():
        if isinstance(tensor, DTensor):
            full = distribute_tensor(full.to(tensor.device), tensor.device_mesh, tensor.placements)
        tensor.copy_(full)
