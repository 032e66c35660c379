"""One process or many, DDP or FSDP2: the only file that knows. `torchrun` sets the environment that is read here.

Both ways are tested on CPUs with gloo. CUDA with nccl is written for real, but untested: our machines have no GPU.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import distributed_c10d
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.elastic.multiprocessing.errors import get_error_handler
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.rendezvous import rendezvous
from torch.distributed.tensor import DTensor, distribute_tensor

from regard.config import Training
from regard.errors import ProcessError, RegardError, UsageError
from regard.training.meeting import LOOK_EVERY, called, differences, meet, read
from regard.training.orphans import ending_with_parent

MEETING = timedelta(minutes=10)  # as long as torchrun waits for its machines
LONG = timedelta(hours=6)  # the others wait while the first prepares a corpus or validates
LAST_WORDS = 5.0  # seconds in which processes tell each other why they end
MISTAKE = "regard/mistake"  # in torchrun's store, which outlives the processes
BROKEN = re.compile(r"gloo/|NCCL|(?i:connection (?:closed|reset|refused))")
"""What an exchange raises, as a RuntimeError, when another process is gone or silent."""
R = TypeVar("R", bound=RegardError)


@dataclass(frozen=True)
class Processes:
    """The processes that train together, seen from one of them."""

    rank: int
    count: int
    device: torch.device
    local: int = 0
    """Its number among those of its machine."""
    hosts: tuple[str, ...] = ()
    """The machine of each."""
    store: Any = None
    """What all can read and write; torchrun's outlives them."""
    meeting: str = ""
    """The name under which they met."""
    group: Any = None
    """Those that exchange gradients, with the patience of an update; everything else waits longer."""

    @property
    def first(self) -> bool:
        return self.rank == 0

    def sum(self, numbers: Tensor) -> Tensor:
        """The sum over all processes, the same in each."""
        if self.count > 1:
            numbers = numbers.to(self.device)  # nccl sums nothing elsewhere
            dist.all_reduce(numbers, group=self.group)
        return numbers

    def gather(self, thing: Any) -> list[Any]:
        """What each process has, in every process. It passes as JSON: nothing of another machine's is run."""
        if self.count == 1:
            return [thing]
        text = json.dumps(thing).encode()
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.count)]
        dist.all_gather(sizes, torch.tensor([len(text)]))
        padded = torch.zeros(max(int(size) for size in sizes), dtype=torch.uint8)
        padded[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        texts = [torch.zeros_like(padded) for _ in sizes]
        dist.all_gather(texts, padded)
        return [json.loads(each[: int(size)].numpy().tobytes()) for each, size in zip(texts, sizes, strict=True)]

    def share(self, thing: Any) -> Any:
        """What the first process has, in every process; the others wait for it as long as preparing may take."""
        return self.gather(thing if self.first else None)[0]

    def wait(self) -> None:
        """For each other, as long as it takes: what only the first does is no part of an update."""
        self.share(None)

    @contextmanager
    def together(self) -> Iterator[dict[str, Any]]:
        """All do what is inside, and fill in facts; they go on only if all succeeded and found the same."""
        facts: dict[str, Any] = {}
        error: Exception | None = None
        try:
            yield facts
        except Exception as raised:
            error = raised
        mistake = error is None or isinstance(error, RegardError)
        told = self.gather({"facts": facts, "error": error and _in_words(error), "mistake": mistake})
        found = differences(told, self.hosts)
        if found is None:
            return
        alike = all(each["error"] == told[0]["error"] for each in told)
        if not all(each["mistake"] for each in told):  # a disk or a program failed: another time it may not
            raise error if error and not mistake else self.told_once(ProcessError(found))
        raise self.known_to_all(error if isinstance(error, RegardError) and alike else UsageError(found))

    def told_once(self, error: R) -> R:
        """An error that every process of a machine raises: the first of them tells it."""
        error.told = self.local > 0
        return error

    def known_to_all(self, error: RegardError) -> RegardError:
        """A mistake that every process knows and no restart mends: it is told once, also if torchrun starts them again."""
        if self.store is not None:
            with suppress(RuntimeError):  # it may be gone
                self.store.set(f"{MISTAKE}/{self.rank}", json.dumps([os.getpid(), str(error)]))
        return self.told_once(error)

    def explain(self, error: Exception) -> Exception:
        """Why training ends, if that is because of another process; torchrun's last words will name it too."""
        if self.store is None:
            return error
        explained = error
        if isinstance(error, RuntimeError) and BROKEN.search(str(error)):
            with suppress(RuntimeError):  # the store may be gone as well
                explained = self._lost()
        else:
            with suppress(RuntimeError):
                self.store.set(self._key(self.rank, "ended"), _in_words(error))
        _record(explained)
        return explained

    def _key(self, rank: int, word: str) -> str:
        return f"{self.meeting}/{rank}/{word}"

    def _lost(self) -> ProcessError:
        """Who broke the exchange: those who say so, else those who say nothing."""
        self.store.set(self._key(self.rank, "noticed"), "yes")
        others = [rank for rank in range(self.count) if rank != self.rank]
        until = time.monotonic() + LAST_WORDS
        while time.monotonic() < until:
            words = {rank: said[0] for rank in others if (said := read(self.store, self._key(rank, "ended")))}
            silent = [rank for rank in others if rank not in words and not read(self.store, self._key(rank, "noticed"))]
            if words or not silent:
                break
            time.sleep(LOOK_EVERY)
        on_disk = "What is saved is whole, and the same command goes on from there."
        if words:
            who = "; ".join(f"{called([rank], self.hosts)} failed: {text}" for rank, text in words.items())
            error = self.told_once(ProcessError(f"{who}. {on_disk}"))
            error.told |= self.hosts[self.rank] in {self.hosts[rank] for rank in words}
            return error
        who = called(silent, self.hosts) if silent else "another process"
        why = "it was killed, stopped or cut off, or is slower than training.timeout allows"
        return self.told_once(ProcessError(f"{who} no longer answers: {why}. {on_disk}"))

    def close(self) -> None:
        if self.count > 1:
            # gloo's thread drops the last tensor it exchanged, for which it needs Python's lock; destroying the group
            # holds that lock while it waits for the thread (torch 2.13). So let the thread finish first.
            time.sleep(0.5)
            dist.destroy_process_group()


def _record(error: Exception) -> None:
    """For torchrun's last words: a mistake as its message, anything else with its traceback."""
    file = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if file and isinstance(error, RegardError):
        message = "told by another process" if error.told else str(error)
        with suppress(OSError):
            Path(file).write_text(json.dumps({"message": message, "timestamp": int(time.time())}), encoding="utf-8")
    elif file:
        get_error_handler().record_exception(error)


def _in_words(error: Exception) -> str:
    return str(error) if isinstance(error, RegardError) else f"{type(error).__name__}: {error}"


ALONE = Processes(0, 1, torch.device("cpu"))


@contextmanager
def joined() -> Iterator[Processes]:
    """Together with the processes that torchrun started, or alone."""
    launched = "TORCHELASTIC_RUN_ID" in os.environ
    with ending_with_parent() if launched else nullcontext():
        processes = join() if launched or int(os.environ.get("WORLD_SIZE", "1")) > 1 else ALONE
        try:
            yield processes
        except Exception as error:
            if (explained := processes.explain(error)) is error:
                raise
            raise explained from None
        finally:
            processes.close()


def join() -> Processes:
    """Meet the others, wherever they are."""
    count, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    store, *_ = next(rendezvous("env://", rank, count, timeout=MEETING))
    local, host = int(os.environ.get("LOCAL_RANK", "0")), socket.gethostname()
    alone = Processes(rank, 1, torch.device("cpu"), local, (host,), store)
    known = read(store, f"{MISTAKE}/{rank}")
    who, mistake = json.loads(known[0]) if known else (os.getpid(), "")
    if who != os.getpid():  # this one may train something else after a mistake, as trials do
        _record(UsageError(mistake))
        raise alone.told_once(UsageError("started again, and ended: the mistake that was told before needs mending"))
    if count == 1:
        return alone
    try:
        meeting = meet(store, rank, count, MEETING.total_seconds())
    except ProcessError as error:
        raise alone.told_once(error) from None
    here = distributed_c10d.PrefixStore(meeting, store)
    dist.init_process_group("gloo", store=here, rank=rank, world_size=count, timeout=LONG)
    processes = replace(alone, count=count, meeting=meeting)
    return replace(processes, hosts=tuple(processes.gather(host)))


def find_device(settings: Training) -> torch.device:
    """Where this process computes."""
    wanted = settings.device
    if wanted == "cuda" and not torch.cuda.is_available():
        raise UsageError("training.device = 'cuda', but torch sees no CUDA device; use 'cpu' or 'auto'")
    if wanted == "cuda" or (wanted == "auto" and torch.cuda.is_available()):
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cpu")


def equip(processes: Processes, settings: Training, device: torch.device) -> Processes:
    """With the device, threads and patience that the recipe gives them (all must call)."""
    if device.type == "cuda":
        torch.cuda.set_device(device)
    torch.set_num_threads(settings.threads or threads_of_a_process())
    group = None
    if processes.count > 1:
        backend = "nccl" if device.type == "cuda" else "gloo"
        group = dist.new_group(timeout=timedelta(minutes=settings.timeout), backend=backend)
    return replace(processes, device=device, group=group)


def threads_of_a_process() -> int:
    """Its share of the cores; alone, what OMP_NUM_THREADS says. (torchrun sets that to 1, whatever there is.)"""
    here, named = int(os.environ.get("LOCAL_WORLD_SIZE", "1")), os.environ.get("OMP_NUM_THREADS", "")
    if here == 1 and named.isdecimal() and int(named):
        return int(named)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // here)


def spread(objective: nn.Module, layers: list[nn.Module], processes: Processes, sharding: str) -> nn.Module:
    """Bring it to the device, and make the gradients of all processes one. `layers` are what FSDP2 gathers one at a time."""
    if is_sharded(processes, sharding):  # layer by layer it moves to the device, on which the whole need not fit
        mesh = DeviceMesh.from_group(processes.group, processes.device.type)
        for part in [*layers, objective]:
            fully_shard(part, mesh=mesh)
        return objective
    objective.to(processes.device)
    if processes.count == 1:
        return objective
    # The only buffers are tables of positions, as long in each process as its own longest sequence.
    return nn.parallel.DistributedDataParallel(objective, broadcast_buffers=False, process_group=processes.group)


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


class Unsharded:
    """Makes a plain model of one that may be sharded: in the first process, for as long as somebody looks at it."""

    def __init__(self, model: nn.Module, processes: Processes, sharding: str) -> None:
        """Before it is sharded, for a sharded model cannot be copied. What is kept of it holds no weights."""
        self.model, self.processes = model, processes
        self.sharded = is_sharded(processes, sharding)
        if self.sharded and processes.first:
            weights = {name: tensor.detach().to("meta") for name, tensor in model.named_parameters()}
            self.outline = with_weights(model, weights)

    def around(self, weights: Mapping[str, Tensor]) -> nn.Module:
        """With other weights (first process only)."""
        return with_weights(self.outline if self.sharded else self.model, weights).to(self.processes.device)

    def __call__(self) -> nn.Module | None:
        """With the weights of now; None in the other processes (all must call)."""
        if not self.sharded:
            return self.model if self.processes.first else None
        weights = whole(dict(self.model.named_parameters()), self.processes)
        return self.around(weights) if self.processes.first else None


def with_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> nn.Module:
    """A copy of a model around other weights, which are not copied; what is tied stays tied."""
    known = {id(tensor): nn.Parameter(weights[name], tensor.requires_grad) for name, tensor in model.named_parameters()}
    return deepcopy(model, known)


def is_sharded(processes: Processes, sharding: str) -> bool:
    return sharding == "full" and processes.count > 1


def local_part(tensor: Tensor) -> Tensor:
    """Of a tensor that may be sharded, what this process has."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def fill(tensor: Tensor, full: Tensor) -> None:
    """Write a full tensor into one that may be sharded."""
    with torch.no_grad():
        if isinstance(tensor, DTensor):
            full = distribute_tensor(full.to(tensor.device), tensor.device_mesh, tensor.placements)
        tensor.copy_(full)
