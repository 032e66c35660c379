"""Settings → model: the one table of architectures."""

from __future__ import annotations

from regard import config
from regard.models.transformer import Transformer

Model = Transformer

MODELS: dict[str, type[Model]] = {"transformer": Transformer}


def build(settings: config.Transformer, source_size: int, target_size: int) -> Model:
    """An untrained model; torch's seed decides its weights."""
    return MODELS[settings.architecture](settings, source_size, target_size)
