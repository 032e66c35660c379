"""A second model over the same numbers: one to rearrange for speed while the other stays as it is, or one per process."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)
T = TypeVar("T")


def copy_sharing(model: M) -> M:
    """New modules, the same tensors: replacing a layer or a weight of the copy leaves the model as it was.

    What is written into a tensor is seen by both, as long as both have it.
    """
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    return deepcopy(model, shared)  # what stands there already is not copied


def copy_for_processes(thing: T, tensors: Sequence[Tensor], file: Path) -> T:
    """A copy to send to processes, not to use: its `tensors` lie in a safetensors file, which these map.

    So they have the numbers in memory once for all. Shared memory would do the same, but is small in many containers.
    """
    stored, memory, sent = dict[str, Tensor](), set[int](), dict[int, Any]()
    for tensor in tensors:
        numbers = tensor.detach().contiguous()
        place = numbers.untyped_storage().data_ptr()
        name = f"{place} {numbers.storage_offset()} {tuple(numbers.shape)}"  # what is tied stays so
        if name not in stored:
            stored[name] = (
                numbers.clone() if place in memory else numbers
            )  # the format wants no two views of one memory
            memory.add(place)
        sent[id(tensor)] = _Sent(file, name, isinstance(tensor, nn.Parameter))
    save_file(stored, file)
    return deepcopy(thing, sent)


class _Sent:
    """What stands for a tensor on its way to another process, and is that tensor where it arrives."""

    def __init__(self, *told: Any) -> None:
        self.told = told

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, self.told


def _received(file: Path, name: str, parameter: bool) -> Tensor:
    tensor: Tensor = _opened(file).get_tensor(name)  # type: ignore[no-untyped-call]
    return nn.Parameter(tensor, requires_grad=False) if parameter else tensor


@lru_cache(maxsize=1)
def _opened(file: Path) -> safe_open:
    return safe_open(file, framework="pt")
