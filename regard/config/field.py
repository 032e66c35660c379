"""A setting states its own bounds, beside its default and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, field, fields
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Bounds(NamedTuple):
    """What a setting may be. Of a list, what each of its values may be."""

    least: float = 0
    most: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    path: str = ""
    """`file`: it names files, which a model file keeps by names that lead out of no folder. `place`: it belongs to the machine
    that trains, and a model file says nothing of it."""
    free: bool = False
    """It may change when a run goes on: it does not touch what was computed so far."""
    inherited: bool = False
    """A recipe that starts from a trained model and does not say it takes it over from there."""

    def broken_by(self, number: float) -> str:
        """The bound that a number breaks, or nothing."""
        if number < self.least:
            return f"at least {self.least}"
        if self.most is not None and number > self.most:
            return f"at most {self.most:,}"
        return f"below {self.below}" if self.below is not None and number >= self.below else ""


def setting(
    default: T,
    *,
    least: float = 0,
    most: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] = (),
    path: str = "",
    free: bool = False,
    inherited: bool = False,
) -> T:
    """A field with bounds. Numbers are at least 0 unless it says otherwise."""
    bounds = {"bounds": Bounds(least, most, below, choices, path, free, inherited)}
    made: Any = (
        field(default_factory=lambda: dict(default), metadata=bounds)
        if isinstance(default, Mapping)
        else field(default=default, metadata=bounds)
    )
    return made  # type: ignore[no-any-return]


def bounds_of(each: Field[Any]) -> Bounds:
    found: Bounds = each.metadata.get("bounds", Bounds())
    return found


def free_settings(section: Any) -> set[str]:
    """Of a section, the settings that may change when a run goes on."""
    return {each.name for each in fields(section) if bounds_of(each).free}
