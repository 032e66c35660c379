"""A Transformer with ALiBi (Press et al. 2022): no positions are added to embeddings; far keys score less instead.

    regard train examples/alibi.toml --plugin examples/alibi.py

B batch · H heads · Q query positions · K key positions
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

import regard
from regard import config
from regard.attention.masks import as_mask
from regard.attention.multi_head import SelfAttention
from regard.config.field import setting
from regard.models.layers import attention_options
from regard.models.transformer import Transformer


@dataclass(frozen=True)
class AlibiSettings(config.Transformer):
    """`[model]` with `architecture = "alibi"`."""

    architecture: str = "alibi"
    steepness: float = setting(8.0, most=64)
    """Head h of H takes 2 ** (-steepness · h / H) off a score for each position of distance."""


class AlibiAttention(SelfAttention):
    slopes: torch.Tensor

    def __init__(self, settings: AlibiSettings, both_ways: bool) -> None:
        super().__init__(settings.width, settings.heads, **attention_options(settings))
        self.both_ways = both_ways
        heads = torch.arange(1, settings.heads + 1) / settings.heads
        self.register_buffer("slopes", 2 ** (-settings.steepness * heads)[:, None, None], persistent=False)  # [H, 1, 1]

    def bias(self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        places = torch.arange(key.size(2), device=key.device)
        if self.both_ways:
            return -self.slopes * (places[:, None] - places).abs()  # [H, Q, K]
        # As far as there are later ones to look at: a beam's hypotheses have their keys side by side, and a mask shows each its own.
        shown = torch.ones_like(places)[None] if mask is None else as_mask(mask).long()  # [.., Q, K]
        return -self.slopes * (shown.sum(-1, keepdim=True) - shown.cumsum(-1))  # [B, H, Q, K]


@regard.register_architecture(
    "alibi", settings=AlibiSettings, sizes=config.TASKS["translation"].architectures["transformer"].sizes
)
class AlibiTransformer(Transformer):
    def __init__(self, settings: AlibiSettings, source_size: int, target_size: int) -> None:
        super().__init__(settings, source_size, target_size)
        self.source_embedding.positions = self.target_embedding.positions = None
        for layers, both_ways in ((self.encoder, True), (self.decoder, False)):
            for layer in layers:
                layer.self_attention = AlibiAttention(settings, both_ways)
