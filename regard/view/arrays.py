"""Numbers in JSON: arrays as base64 of 16 bits each, a fifth of what their decimals would take."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

SHARES = 65_535


def pack_probabilities(values: ArrayLike) -> dict[str, Any]:
    """Numbers from 0 to 1, such as attention weights, in steps of 1 / 65,535."""
    array = np.asarray(values, dtype=np.float64)
    return _packed(np.rint(array.clip(0, 1) * SHARES).astype("<u2"), "share")


def pack(values: ArrayLike) -> dict[str, Any]:
    """Any numbers, in half precision; what is beyond its range becomes its end."""
    array = np.asarray(values, dtype=np.float64)
    return _packed(array.clip(-65_504, 65_504).astype("<f2"), "half")


def unpack(packed: dict[str, Any]) -> NDArray[np.float64]:
    """What `pack` or `pack_probabilities` packed; the page does the same."""
    bits = base64.b64decode(packed["data"])
    numbers = np.frombuffer(bits, dtype="<u2" if packed["type"] == "share" else "<f2").astype(np.float64)
    return (numbers / SHARES if packed["type"] == "share" else numbers).reshape(packed["shape"])


def _packed(array: NDArray[Any], kind: str) -> dict[str, Any]:
    return {"type": kind, "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}
