"""Settings → model: the one table of architectures."""

from __future__ import annotations

from regard import config
from regard.models.transformer import Transformer

Model = Transformer


def build(settings: config.Transformer, source_size: int, target_size: int) -> Model:
    """An untrained model; torch's seed decides its weights."""
    return Transformer(settings, source_size, target_size)
