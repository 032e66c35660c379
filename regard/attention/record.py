"""Look inside: `with record(model) as seen:` keeps every tensor that the model's modules name while they compute.

Nothing is kept, and the fast path is taken, unless somebody asks; and only what the asking thread computes is kept, so
that others may use the model meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from threading import local
from types import ModuleType

from torch import Tensor, nn

from regard.errors import UsageError


class Observed(nn.Module):
    """A module that can show what it computes. It calls `note(name=tensor)`; outside `record` that does nothing."""

    @property
    def recording(self) -> bool:
        return self in here.noted

    def note(self, **tensors: Tensor) -> None:
        """Keep tensors under their names; a name that comes again begins the module's next call."""
        if not self.recording:
            return
        calls = here.noted[self]
        if not calls or not calls[-1].keys().isdisjoint(tensors):
            calls.append({})
        # A copy: the search writes on the logits that a step gives it.
        calls[-1].update({name: tensor.detach().clone() for name, tensor in tensors.items()})


class _Here(local):
    """What is being recorded in this thread. Not a ContextVar: torch.compile cannot see through one."""

    def __init__(self) -> None:
        self.noted: dict[Observed, list[dict[str, Tensor]]] = {}


here = _Here()


class Record(Mapping[str, Mapping[str, Tensor]]):
    """Tensors by module and name: `seen["decoder.0.cross_attention"]["weights"]`, of the last call.

    `calls(module)` has one dictionary per call, for instance one per decoding step.
    """

    def __init__(self, noted: dict[str, list[dict[str, Tensor]]]) -> None:
        self._noted = noted

    def calls(self, module: str) -> list[dict[str, Tensor]]:
        return self._noted[module]

    def __getitem__(self, module: str) -> Mapping[str, Tensor]:
        if module not in self or not self._noted[module]:
            raise KeyError(f"nothing was recorded of {module!r}; recorded: {', '.join(self) or 'nothing at all'}")
        return self._noted[module][-1]

    def __repr__(self) -> str:
        return f"Record({', '.join(self) or 'nothing'})"

    def __iter__(self) -> Iterator[str]:
        return (module for module, calls in self._noted.items() if calls)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, module: object) -> bool:
        return bool(self._noted.get(module))  # type: ignore[call-overload]


@contextmanager
def record(model: nn.Module) -> Iterator[Record]:
    """Record every observed module of the model; what was seen stays available afterwards."""
    if not isinstance(model, nn.Module):
        raise UsageError(
            f"record takes a model, a torch.nn.Module; not {type(model).__name__}. What `load` returns has one: x.model"
        )
    observed = {name or "model": module for name, module in model.named_modules() if isinstance(module, Observed)}
    noted: dict[str, list[dict[str, Tensor]]] = {name: [] for name in observed}
    before = here.noted
    here.noted = {**before, **{module: noted[name] for name, module in observed.items()}}
    try:
        yield Record(noted)
    finally:
        here.noted = before


class _Callable(ModuleType):
    """`from regard.attention import record` finds this module once anybody imported it; so it is called like the function."""

    def __call__(self, model: nn.Module) -> AbstractContextManager[Record]:
        return record(model)


sys.modules[__name__].__class__ = _Callable
