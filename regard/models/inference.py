"""The layers of a Transformer once more, for decoding on a CPU: the same numbers in as few calls as there can be.

At one sentence a step multiplies single rows, and what surrounds the products, a module's call or a tensor's view, takes longer
than they do. So whoever decodes takes the numbers out of the layers once (`for_inference`) and walks through them directly.
Layers of another kind, that train, have hooks or are watched stay as they are: `models/layers.py` is what is computed.

S sentences · W positions or hypotheses of each · T positions looked at · H heads · E width of one head · D width
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.cache import KeyValueCache
from regard.attention.changes import here as changing
from regard.attention.layout import PADDED, Padded
from regard.attention.multi_head import CrossAttention, SelfAttention
from regard.attention.record import here as recording
from regard.models.int8 import Int8Linear
from regard.models.layers import ACTIVATIONS, DecoderLayer, EncoderLayer, Residual
from regard.products import LEAST_ROWS, Linear, PackedLinear, product

attend = torch.nn.functional.scaled_dot_product_attention
Product = Callable[[Tensor], Tensor]


class Around(NamedTuple):
    """Add & norm: the numbers of a `Residual`."""

    norm: tuple[tuple[int, ...], Tensor, Tensor, float] | None
    pre_norm: bool
    adds: bool

    def before(self, x: Tensor) -> Tensor:
        return torch.layer_norm(x, *self.norm) if self.norm and self.pre_norm else x

    def after(self, x: Tensor, update: Tensor) -> Tensor:
        update = update.add_(x) if self.adds else update
        return update if self.pre_norm or not self.norm else torch.layer_norm(update, *self.norm)


@dataclass(frozen=True, slots=True)
class InferenceLayer:
    """Called as an `EncoderLayer` is, and stepped as a `DecoderLayer` is."""

    heads: int
    scale: float | None
    own: Product  # the query, key and value of self-attention
    own_output: Product
    after_own: Around
    query: Product | None  # of cross-attention
    cross_output: Product | None
    after_cross: Around | None
    widen: Product | None
    activation: Callable[[Tensor], Tensor]
    narrow: Product | None
    after_feed_forward: Around | None

    def __call__(
        self, x: Tensor, mask: Tensor | None, layout: Padded = PADDED, cache: KeyValueCache | None = None
    ) -> Tensor:
        """x [S, W, D] → [S, W, D]."""
        return self.step(x, None, mask, None, cache)

    def step(
        self,
        x: Tensor,
        memory: KeyValueCache | None,
        mask: Tensor | None,
        source_mask: Tensor | None,
        cache: KeyValueCache | None,
    ) -> Tensor:
        sentences, positions, width = x.shape
        x = x.view(-1, width)  # [S × W, D]
        heads = self.own(self.after_own.before(x)).view(sentences, positions, 3, self.heads, -1)
        heads = heads.permute(2, 0, 3, 1, 4)  # [3, S, H, W, E]
        key, value = heads[1:].unbind(0) if cache is None else cache.append_pair(heads[1:])
        mixed = attend(heads[0], key, value, mask, scale=self.scale)  # [S, H, W, E]
        x = self.after_own.after(x, self.own_output(mixed.transpose(1, 2).reshape(x.size(0), -1)))
        if memory is not None and self.query and self.cross_output and self.after_cross:
            query = self.query(self.after_cross.before(x)).view(sentences, positions, self.heads, -1).transpose(1, 2)
            mixed = attend(query, memory.key, memory.value, source_mask, scale=self.scale)
            x = self.after_cross.after(x, self.cross_output(mixed.transpose(1, 2).reshape(x.size(0), -1)))
        if self.widen and self.narrow and self.after_feed_forward:
            hidden = self.activation(self.widen(self.after_feed_forward.before(x)))
            x = self.after_feed_forward.after(x, self.narrow(hidden))
        return x.view(sentences, positions, width)


def for_inference(layers: Iterable[Any]) -> list[Any]:
    """The layers as they are now, to be called the same way: walked through directly if all of them can be."""
    found = list(layers)
    quick = torch.is_inference_mode_enabled() and not watched() and all(map(_is_plain, found))
    return [_numbers(layer) for layer in found] if quick else found


def watched() -> bool:
    """Whether this thread records or changes any model."""
    return bool(recording.noted or changing.changes)


def _is_plain(layer: nn.Module) -> bool:
    """Whether a layer does what its class says, on a CPU, with keys as wide as values."""
    if layer.training or type(layer) not in (EncoderLayer, DecoderLayer):
        return False
    own, cross = layer.self_attention, getattr(layer, "cross_attention", None)
    return (
        type(own) is SelfAttention
        and (cross is None or type(cross) is CrossAttention)
        and own.total_key_width == own.total_value_width
        and all(map(_is_usual, _parts(layer)))
    )


def _parts(layer: nn.Module) -> list[nn.Module]:
    """A layer and all modules inside; `modules` of torch takes longer than a product of few rows."""
    found = [layer]
    for module in found:
        found.extend(inner for inner in module._modules.values() if inner is not None)
    return found


def _is_usual(module: nn.Module) -> bool:
    if isinstance(module, nn.Linear):
        if type(module) not in (nn.Linear, Linear, PackedLinear) or module.weight.device.type != "cpu":
            return False
    return not (module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module))


def _numbers(layer: EncoderLayer | DecoderLayer) -> InferenceLayer:
    own, thought = layer.self_attention, layer.feed_forward
    cross = layer.cross_attention if isinstance(layer, DecoderLayer) else None
    return InferenceLayer(
        heads=own.heads,
        scale=None if own.scale else 1.0,
        own=_product(own.query_key_value),
        own_output=_product(own.output),
        after_own=_around(layer.after_self),
        query=cross and _product(cross.query),
        cross_output=cross and _product(cross.output),
        after_cross=_around(layer.after_cross) if isinstance(layer, DecoderLayer) else None,
        widen=thought and _product(thought.widen),
        activation=ACTIVATIONS[thought.activation] if thought else torch.relu_,
        narrow=thought and _product(thought.narrow),
        after_feed_forward=_around(layer.after_feed_forward) if layer.after_feed_forward else None,
    )


def _product(linear: nn.Linear | Int8Linear) -> Product:
    if isinstance(linear, Int8Linear | PackedLinear):
        return linear.forward
    weight, bias = linear.weight.t(), linear.bias  # [I, O]
    few: Product = (lambda x: torch.mm(x, weight)) if bias is None else (lambda x: torch.addmm(bias, x, weight))
    return lambda x: few(x) if len(x) < LEAST_ROWS else product(x, linear.weight, bias)


def _around(residual: Residual) -> Around:
    norm = residual.norm
    known = (norm.normalized_shape, norm.weight, norm.bias, norm.eps) if isinstance(norm, nn.LayerNorm) else None
    return Around(known, residual.pre_norm, residual.adds)
