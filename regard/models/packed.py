"""Weights copied in the order that products of a handful of rows like best, for decoding on a CPU.

Packed for oneDNN they take half the time and less; transposed they do where a row or two meet a small matrix, and where oneDNN is
no faster. Nothing else changes: the layers, their names and, but for rounding, their results stay as they are.

N rows · I inputs · O outputs
"""

from __future__ import annotations

import platform
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.models.sharing import copy_sharing
from regard.products import Linear, maker, product

PACKS = (
    platform.machine().lower() in ("x86_64", "amd64")
    and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    and "GenuineIntel" not in maker()
)
"""Whether this CPU is one on which oneDNN is the faster, for few rows: MKL is Intel's."""
LITTLE = 2**19
"""Multiplications of a product that is over before oneDNN has begun."""
M = TypeVar("M", bound=nn.Module)


class PackedLinear(Linear):
    """What a linear layer computes, of the same weight and bias. Copies of the weight are made when they are first needed."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self._packed: tuple[Tensor, Tensor | None] | None = None  #     weight and bias
        self._transposed: tuple[Tensor, Tensor | None] | None = None

    def forward(self, input: Tensor) -> Tensor:
        """[.., I] → [.., O]."""
        if torch.is_grad_enabled():
            return product(input, self.weight, self.bias)
        if input.numel() * self.out_features <= LITTLE or not PACKS or input.dtype != torch.float32:
            if self._transposed is None:
                self._transposed = self.weight.detach().t().contiguous().t(), self.bias  # [O, I], lying as [I, O]
            return functional.linear(input, *self._transposed)
        if self._packed is None:
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self.weight.detach()), self.bias
        rows = input if input.ndim == 2 else input.reshape(-1, self.in_features)  # [N, I]
        count = rows.size(0)
        if more := rounded_up(count) - count:
            rows = functional.pad(rows, (0, 0, 0, more))
        found: Tensor = torch.ops.mkldnn._linear_pointwise(rows, *self._packed, "none", [], "")
        found = found[:count] if more else found
        return found if input.ndim == 2 else found.view(*input.shape[:-1], -1)

    def __getstate__(self) -> dict[str, Any]:
        """What is packed is of this CPU and of this process."""
        return {**self.__dict__, "_packed": None, "_transposed": None}


def rounded_up(rows: int) -> int:
    """How many rows are multiplied, the last of them zeros: few numbers occur, since oneDNN writes a program for each of them."""
    step = 4 if rows < 32 else max(8, 1 << (rows.bit_length() - 4))
    return rows if rows <= 6 else -(-rows // step) * step


def pack_weights(model: M) -> M:
    """A copy with every linear layer replaced. The model stays as it is, and all its tensors are shared with the copy."""
    copy = copy_sharing(model)
    for module in list(copy.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, PackedLinear(child))
    return copy
