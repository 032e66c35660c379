"""What training a model needs of a machine's memory, and what there is: said before anything is built."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.errors import ConfigError

GIGA = 2**30
BYTES_OF_A_PARAMETER = 16  # its 32 bits, as many of its gradient, and of Adam's two means
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


def needed_memory(parameters: int, ema: bool = False) -> int:
    """Bytes for weights, gradients and Adam, and for a moving average of the weights."""
    return parameters * (BYTES_OF_A_PARAMETER + 4 * ema)


def whole_memory(device: str | torch.device = "cpu") -> int:
    """Bytes that a device has, or that a container is allowed; 0 where the system does not tell."""
    if torch.device(device).type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    found = []
    with suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for limit in LIMITS:
        with suppress(OSError, ValueError):  # another system, or `max`
            found.append(int(Path(limit).read_text(encoding="ascii")))
    return min((each for each in found if each > 0), default=0)


@contextmanager
def kept_for_backward(model: nn.Module) -> Iterator[dict[int, int]]:
    """By its address, the bytes of each tensor that steps taken inside keep until they go back; weights are not counted."""
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        yield kept


def require_memory(
    parameters: int, device: str | torch.device = "cpu", processes: int = 1, *, ema: bool = False
) -> None:
    """Refuse a model whose weights, gradients and Adam alone are more than there is; `processes` share one model."""
    needed, whole = needed_memory(parameters, ema) // processes, whole_memory(device)
    if whole and needed > whole:
        raise ConfigError([
            f"the model would have {parameters:,} parameters, which take {needed / GIGA:,.1f} GB for weights, gradients and"
            f" Adam, but this machine has {whole / GIGA:,.1f} GB of memory; see model.width, the layers and"
            " tokenizer.vocabulary"
        ])  # fmt: skip
