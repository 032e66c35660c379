"""Matrix products, by the library that computes them faster on this CPU, and by one thread where more would not help.

torch gives products in single precision to MKL, which is Intel's and uses only half the width of another maker's AVX-512 units: on an AMD
EPYC oneDNN, which torch has on board as well, multiplies twice as fast. Both sum in 32 bits, in another order.

Threads share each product and wait for each other after it. For a small model that takes as long as it saves; beside another program, which
holds a core that one of them needs, many times as long.

N rows · I inputs · O outputs
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

LEAST_ROWS, LEAST = 16, 1 << 22  # rows, and multiplications, from which on it pays to call oneDNN
LARGE = 1 << 24  # parameters of a model from which on threads are woken
KEPT = "128"
"""Shapes that oneDNN keeps its program for: half a megabyte each, and of texts nearly every batch has a shape of its own. Its own limit is
1,024, of which torch has one more for each thread. It takes a third of a millisecond to write such a program."""

for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):  # read when the first product is computed
    os.environ.setdefault(name, KEPT)


def by_one_dnn() -> bool:
    """Whether this CPU is one on which MKL is the slower."""
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not torch.backends.mkl.is_available():  # type: ignore[no-untyped-call]
        return False
    return hasattr(torch.ops.mkldnn, "_linear_pointwise") and "GenuineIntel" not in maker()


def maker() -> str:
    """What this machine says of its CPU."""
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")[:4_096]
    except (OSError, UnicodeDecodeError):
        return platform.processor()


ONE_DNN = by_one_dnn()
PACKS = (
    platform.machine().lower() in ("x86_64", "amd64")
    and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    and "GenuineIntel" not in maker()
)
"""Whether this CPU is one on which oneDNN is the faster, for few rows: MKL is Intel's."""
LITTLE = 2**19
"""Multiplications of a product that is over before oneDNN has begun."""
MANY = 512
"""Rows beside which it hardly counts how the weight lies, but a copy of the rows would."""


def is_large(model: Any) -> bool:
    """Also what does not tell its parameters, such as another program's model."""
    parameters = getattr(model, "parameters", None)
    return parameters is None or sum(each.numel() for each in parameters()) >= LARGE


@contextmanager
def threads_that_help(model: Any) -> Iterator[None]:
    """Inside, one thread computes a small model."""
    threads = torch.get_num_threads()
    if threads == 1 or is_large(model):
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [.., I] @ weightᵀ [I, O] + bias [O] → [.., O]."""
    if not (ONE_DNN and _suits(x, weight)):
        return functional.linear(x, weight, bias)
    if torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad):
        # To more than two dimensions oneDNN answers with a view, which may not be changed in place.
        rows = x.reshape(-1, x.size(-1))
        found: Tensor = _Product.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
        return found.view(*x.shape[:-1], -1)
    return _multiply(x, weight, bias)


def product_over_rows(x: Tensor, y: Tensor) -> Tensor:
    """xᵀ [I, N] @ y [N, O] → [I, O]: the longer side as the weight, on which oneDNN does its work."""
    return product(x.t(), y.t()) if x.size(1) <= y.size(1) else product(y.t(), x.t()).t()


def zeros_over_rows(like: Tensor) -> Tensor:
    """[I, O], to be added to by the next: lying as such a product does, if there are more I than O."""
    return like.new_zeros(like.size(1), like.size(0)).t() if ONE_DNN else torch.zeros_like(like)


def add_over_rows(total: Tensor, x: Tensor, y: Tensor) -> None:
    """total [I, O] += xᵀ [I, N] @ y [N, O]."""
    if ONE_DNN and _suits(y.t(), x.t()):
        total += product_over_rows(x, y)
    else:
        total.addmm_(x.t(), y)


def _suits(x: Tensor, weight: Tensor) -> bool:
    if is_read():
        return False
    work = x.numel() * weight.size(0)
    if work < LEAST or work < LEAST_ROWS * weight.numel():
        return False
    plain = x.dtype == weight.dtype == torch.float32 and x.is_cpu and type(weight) in (Tensor, nn.Parameter)
    return plain and not torch.is_autocast_enabled("cpu")  # in half precision oneDNN computes anyway


def _multiply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return found


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        context.save_for_backward(rows, weight)
        return _multiply(rows, weight, bias)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        (rows, weight), (gradient,) = context.saved_tensors, gradients  # [N, I], [O, I], [N, O]
        wants_rows, wants_weight, wants_bias = context.needs_input_grad
        return (
            product(gradient, weight.t()) if wants_rows else None,
            product_over_rows(gradient, rows) if wants_weight else None,  # [O, I]
            gradient.sum(0) if wants_bias else None,
        )


class Linear(nn.Linear):
    """torch's layer, with such products."""

    def forward(self, input: Tensor) -> Tensor:
        """[.., I] → [.., O]."""
        return product(input, self.weight, self.bias)


class PackedLinear(Linear):
    """For whoever learns no more: what a linear layer computes, of the same weight and bias, a handful of rows at a time.

    Of its weight there are copies, made when they are first needed and when it was changed. Packed for oneDNN, products take half the time
    and less; transposed, where a row or two meet a small matrix, and where oneDNN is no faster. Many rows need neither.
    """

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self._packed: Tensor | None = None
        self._transposed: Tensor | None = None
        self._made_of: tuple[Tensor, int] | None = None

    def forward(self, input: Tensor) -> Tensor:
        """[.., I] → [.., O]."""
        weight, bias = self.weight, self.bias
        if torch.is_grad_enabled() or input.numel() >= MANY * self.in_features or is_read():
            return product(input, weight, bias)
        made_of = self._made_of
        if made_of is None or made_of[0] is not weight or made_of[1] != version(weight):
            self._packed, self._transposed, self._made_of = None, None, (weight, version(weight))
        # Another thread may replace either copy meanwhile.
        if input.numel() * self.out_features <= LITTLE or not PACKS or input.dtype != torch.float32:
            transposed = self._transposed
            if transposed is None:
                transposed = self._transposed = weight.detach().t().contiguous().t()  # [O, I], lying as [I, O]
            return functional.linear(input, transposed, bias)
        packed = self._packed
        if packed is None:
            packed = self._packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach())
        rows = input if input.ndim == 2 else input.reshape(-1, self.in_features)  # [N, I]
        count = rows.size(0)
        if more := rounded_up(count) - count:
            rows = functional.pad(rows, (0, 0, 0, more))
        found: Tensor = torch.ops.mkldnn._linear_pointwise(rows, packed, bias, "none", [], "")
        found = found[:count] if more else found
        return found if input.ndim == 2 else found.view(*input.shape[:-1], -1)

    def __getstate__(self) -> dict[str, Any]:
        """What is packed is of this CPU and of this process."""
        return {**self.__dict__, "_packed": None, "_transposed": None, "_made_of": None}


def version(weight: Tensor) -> int:
    """Another number after every change of the numbers, of which torch keeps no count where they were made to be read only."""
    return 0 if weight.is_inference() else weight._version


def is_read() -> bool:
    """Whether what runs is the reading of a program, by one who wants torch's own operations."""
    return torch.compiler.is_compiling() or torch._C._is_tracing()


def rounded_up(rows: int) -> int:
    """How many rows are multiplied, the last of them zeros: few numbers occur, since oneDNN writes a program for each of them."""
    step = 4 if rows < 32 else max(8, 1 << (rows.bit_length() - 4))
    return rows if rows <= 6 else -(-rows // step) * step
