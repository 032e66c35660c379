"""Image classifiers for onnxruntime: one graph from bytes to logits, and what runs it.

S pictures · H height · W width · C channels · L labels
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import UsageError
from regard.export.folder import describe, need, replacing
from regard.export.graphs import NAME, OPSET, open_graphs, run, save
from regard.models.vit import PictureClassifier
from regard.tasks.task import Trained

MODEL = "model.onnx"


def export_picture_classifier(trained: Trained, folder: Path, *, made_from: str = "") -> None:
    """Write a folder with one graph: pixels as bytes → logits; normalising is part of it."""
    need(NAME)
    import onnx

    if not isinstance(trained.model, PictureClassifier):
        raise UsageError(f"cannot export {type(trained.model).__name__} to ONNX: it is not an architecture of regard")
    channels, side, _ = trained.assets.sizes
    pixels = torch.zeros(2, side, side, channels, dtype=torch.uint8)
    axes = {"pixels": {0: "pictures"}, "logits": {0: "pictures"}}
    with replacing(folder) as temporary, torch.no_grad():
        graph = PictureGraph(trained.model, trained.assets).eval()
        save(graph, (pixels,), temporary / MODEL, ("pixels",), ("logits",), axes)
        describe(
            temporary, trained, NAME, made_from, version=onnx.__version__, opset=OPSET,
            labels=list(trained.assets.labels), temperature=trained.assets.temperature,
        )  # fmt: skip


class PictureGraph(nn.Module):
    """Bytes [S, H, W, C] → logits [S, L]."""

    def __init__(self, model: PictureClassifier, assets: Any) -> None:
        super().__init__()
        self.model, self.assets = model, assets

    def forward(self, pixels: Tensor) -> Tensor:
        logits: Tensor = self.model(self.assets.normalise(pixels))
        return logits


class OnnxPictureClassifier:
    """An exported classifier, as onnxruntime runs it."""

    def __init__(self, folder: Path) -> None:
        self.description, (self._session,) = open_graphs(folder, (MODEL,))

    def logits(self, pixels: Tensor) -> Tensor:
        """Bytes [S, H, W, C] → [S, L]."""
        return run(self._session, {"pixels": pixels})[0]
