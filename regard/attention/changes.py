"""Interfere with a trained model: switch heads off, flatten or harden the attention, and put it back afterwards.

    with changed(model, off={"decoder.0.cross_attention": [1]}, temperature=2.0):
        ...

The model is changed for everybody who uses it meanwhile: threads that share it take turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from torch import nn

from regard.attention.multi_head import MultiHead
from regard.errors import UsageError, did_you_mean

COLDEST = 0.01  # colder is hard attention in all but name, and overflows in the end


@contextmanager
def changed(
    model: nn.Module, off: Mapping[str, Sequence[int]] = {}, temperature: float = 1.0, hard: bool = False
) -> Iterator[None]:
    """`off` names heads by module and number (from 0); `temperature` and `hard` are of every attention in the model."""
    attentions = {name: module for name, module in model.named_modules() if isinstance(module, MultiHead)}
    check(attentions, off, temperature)
    before = {module: (module.silent, module.temperature, module.hard) for module in attentions.values()}
    for name, module in attentions.items():
        module.silent, module.temperature, module.hard = tuple(sorted(set(off.get(name, ())))), temperature, hard
    try:
        yield
    finally:
        for module, values in before.items():
            module.silent, module.temperature, module.hard = values


def check(attentions: Mapping[str, MultiHead], off: Mapping[str, Sequence[int]], temperature: float) -> None:
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
