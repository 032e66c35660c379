"""The heart, importable by itself: `from regard.attention import attend, SelfAttention, causal_mask, record`.

Each name is imported when it is first asked for: who needs one part of the package does not pay for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.attention.masks import causal_mask, padding_mask
    from regard.attention.multi_head import CrossAttention, SelfAttention
    from regard.attention.positions import sinusoidal_positions
    from regard.attention.record import record
    from regard.attention.scaled_dot import attend
    from regard.attention.single_head import AdditiveAttention

__all__ = [
    "AdditiveAttention",
    "CrossAttention",
    "SelfAttention",
    "attend",
    "causal_mask",
    "padding_mask",
    "record",
    "sinusoidal_positions",
]

_PLACES = {
    "AdditiveAttention": "single_head",
    "CrossAttention": "multi_head",
    "SelfAttention": "multi_head",
    "attend": "scaled_dot",
    "causal_mask": "masks",
    "padding_mask": "masks",
    "sinusoidal_positions": "positions",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when first asked for."""
    if name == "record":  # the module, which is called like its function: whoever imports it binds it here
        return import_module("regard.attention.record")
    if name in _PLACES:
        return getattr(import_module(f"regard.attention.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'regard.attention' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
