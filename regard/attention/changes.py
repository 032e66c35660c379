"""Interfere with a trained model: switch heads off, flatten or harden the attention.

    with changed(model, off={"decoder.0.cross_attention": [1]}, temperature=2.0):
        ...

Only what this thread computes is changed, so that others may use the model meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import local
from typing import NamedTuple

from torch import nn

from regard.errors import UsageError, did_you_mean

COLDEST = 0.01  # colder is hard attention in all but name, and overflows in the end


class Change(NamedTuple):
    """How an attention differs from what it was trained to do."""

    off: tuple[int, ...] = ()
    """Heads whose outcome is zero."""
    temperature: float = 1.0
    hard: bool = False


AS_TRAINED = Change()


class AttentionModule(nn.Module):
    """An attention that asks for its `change` whenever it computes."""

    heads: int

    @property
    def change(self) -> Change:
        return change_of(self)


class _Here(local):
    """What is changed in this thread."""

    def __init__(self) -> None:
        self.changes: dict[nn.Module, Change] = {}


here = _Here()


def change_of(module: nn.Module) -> Change:
    """What is changed in a module, in this thread."""
    return here.changes.get(module, AS_TRAINED)


def is_changed(model: object) -> bool:
    """Whether anything in a model is, in this thread; no change of what it does counts as one."""
    if not isinstance(model, nn.Module) or not here.changes:
        return False
    return any(module in here.changes for module in model.modules())


@contextmanager
def changed(
    model: nn.Module, off: Mapping[str, Sequence[int]] = {}, temperature: float = 1.0, hard: bool = False
) -> Iterator[None]:
    """`off` names heads by module and number (from 0); `temperature` and `hard` are of every attention in the model."""
    attentions = {name: module for name, module in model.named_modules() if isinstance(module, AttentionModule)}
    if not attentions and (off or hard or temperature != 1.0):
        raise UsageError("this model has no attention that could be changed")
    check(attentions, off, temperature)
    before = here.changes
    asked = before | {
        module: Change(tuple(sorted(set(off.get(name, ())))), temperature, hard) for name, module in attentions.items()
    }
    here.changes = {module: change for module, change in asked.items() if change != AS_TRAINED}
    try:
        yield
    finally:
        here.changes = before


def check(attentions: Mapping[str, AttentionModule], off: Mapping[str, Sequence[int]], temperature: float) -> None:
    """Say what is wrong before anything is changed."""
    if not isinstance(off, Mapping) or not all(isinstance(heads, Sequence) for heads in off.values()):
        raise UsageError(f'off maps names to lists of heads, such as {{"decoder.0.cross_attention": [1]}}; not {off!r}')
    if not (isinstance(temperature, float | int) and COLDEST <= temperature <= 1 / COLDEST):
        raise UsageError(
            f"the attention's temperature must be a number from {COLDEST} to {1 / COLDEST:g}, not {temperature!r}"
        )
    for name, heads in off.items():
        if name not in attentions:
            hint = did_you_mean(name, attentions)
            raise UsageError(f"no attention is called {name!r}.{hint} There are {', '.join(attentions)}")
        for head in heads:
            if not 0 <= head < attentions[name].heads:
                raise UsageError(f"{name} has no head {head}; its heads are 0 to {attentions[name].heads - 1}")
