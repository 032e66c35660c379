"""Matrix products in 8-bit integers, for decoding on a CPU: a quarter of the weights' memory, and faster.

Weights are rounded to multiples of 1/127 of the largest of each output, inputs to multiples of 1/63 of the largest of
each row. Per row, and not per batch as torch's own dynamic quantization does it: what comes out for a sentence must
not depend on its neighbours. And 1/63, since CPUs without VNNI add two products in 16 bits.

N rows · I inputs · O outputs
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from regard.errors import UsageError
from regard.models.sharing import copy_sharing

WEIGHT_STEPS, INPUT_STEPS, INPUT_ZERO = 127, 63, 64
TINY = 1e-30  # a row of zeros stays zeros
M = TypeVar("M", bound=nn.Module)


class Int8Linear(nn.Module):
    """What `nn.Linear` computes, rounded."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.bias = bias
        weight = weight.detach()
        self.packed = _pack(weight, weight.abs().amax(1).clamp_(min=TINY).double() / WEIGHT_STEPS)
        self.out_features, self.in_features = weight.shape

    def forward(self, x: Tensor) -> Tensor:
        """x [.., I] → [.., O]."""
        largest = x.abs().amax(-1, keepdim=True).clamp_(min=TINY)  # [.., 1]; vector_norm takes ten times as long
        product: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            x / largest, 1 / INPUT_STEPS, INPUT_ZERO, self.packed
        )
        return product.mul_(largest) if self.bias is None else torch.addcmul(self.bias, product, largest)

    def __getstate__(self) -> dict[str, Any]:
        """What is packed is of this CPU and of this process; others are sent the integers, and pack them again."""
        rounded, _ = torch.ops.quantized.linear_unpack(self.packed)
        # As arrays: torch would put tensors into shared memory, which is small in many containers.
        integers = rounded.int_repr().numpy(), rounded.q_per_channel_scales().numpy()
        return {**self.__dict__, "packed": integers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        integers, steps = map(torch.from_numpy, state["packed"])
        super().__setstate__({**state, "packed": _pack(integers, steps)})  # type: ignore[no-untyped-call]


def _pack(rounded: Tensor, steps: Tensor) -> torch.ScriptObject:
    """rounded [O, I]: multiples of each output's step [O] as integers, or still to be rounded → what the kernel reads."""
    zeros = torch.zeros(len(steps), dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch wants these functions replaced some day; the kernel has no other door
        if rounded.dtype == torch.int8:
            rounded = torch._make_per_channel_quantized_tensor(rounded, steps, zeros, 0)
        else:
            rounded = torch.quantize_per_channel(rounded, steps, zeros, 0, torch.qint8)
    packed: torch.ScriptObject = torch.ops.quantized.linear_prepack(rounded, None)
    return packed


def in_int8(model: M) -> M:
    """A copy with every linear layer replaced. The model stays as it is; embeddings, norms and biases are shared with it."""
    if any(parameter.device.type != "cpu" for parameter in model.parameters()):
        raise UsageError("int8 is for the CPU; leave out `int8`, or `device`")
    if not {"x86", "fbgemm"} & set(torch.backends.quantized.supported_engines):
        raise UsageError("this build of torch has no 8-bit matrix products; leave out `int8`")
    copy = copy_sharing(model)
    for module in list(copy.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Int8Linear(child.weight, child.bias))
    return copy
