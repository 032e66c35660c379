"""A page with a painter inside: a caption is typed, and its picture is painted there, code by code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from torch import nn

from regard.errors import UsageError
from regard.models.image_codes import Block
from regard.tasks.text_to_image.page import BODY, SCRIPTS
from regard.tasks.text_to_image.painter import Painter
from regard.view.document import document, write_document
from regard.view.portable import pack_weights, program

INSIDE_SCRIPTS = (*SCRIPTS, "painting_inside")
PROGRAM = (
    "sentencepiece",
    "word_groups",
    "unpack_weights",
    "network",
    "stacked_layers",
    "sampling",
    "picture_decoder",
    "painter",
    "painter_worker",
)
"""The scripts that a thread of the page runs."""


@dataclass(frozen=True, repr=False)
class PaintingLivePage:
    """A painter that runs in the browser."""

    title: str
    facts: dict[str, str]
    model: dict[str, Any]
    """All that it computes with."""
    caption: str = ""
    """To begin with."""

    def draw(self, console: Console) -> None:
        """A terminal runs no page."""
        raise UsageError("a live page is a file: name it with -o, such as -o painter.html")

    def write(self, path: str | Path, command: str = "") -> None:
        """As one HTML file that needs nothing else."""
        inside = {"program": program(PROGRAM), "model": self.model, "caption": self.caption}
        data = {"title": self.title, "facts": self.facts, "inside": inside}
        write_document(
            Path(path), document(f"{self.title} · regard", BODY, ["painting"], INSIDE_SCRIPTS, data, threads=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """What the page computes with, as plain JSON values."""
        return self.model


def live_page(painter: Painter, name: str, caption: str | None) -> PaintingLivePage:
    """Of a loaded painter."""
    facts = {
        "parameters": f"{sum(each.numel() for each in painter.model.parameters()):,}",
        "codes": f"{painter.model.grid} × {painter.model.grid} ({painter.model.codes})",
        "weights": "8 bits",
    }
    return PaintingLivePage(name, facts, portable(painter), caption or "")


def portable(painter: Painter) -> dict[str, Any]:
    """What a page needs to paint as a Painter does: of the first stage, only what turns codes into a picture."""
    settings = painter.recipe.model
    stage = nn.ModuleDict({"decoder": painter.codes.decoder, "quantiser": painter.codes.quantiser})
    quantiser = painter.codes.quantiser
    return {
        "settings": vars(settings),
        "weights": pack_weights(painter.model),
        "tokenizer": painter.tokenizer.to_dict(),
        "stage": {
            "grid": painter.model.grid,
            "blocks": sum(isinstance(each, Block) for each in painter.codes.decoder),
            "halvings": sum(isinstance(each, nn.Sequential) for each in painter.codes.decoder),
            "levels": list(getattr(quantiser, "levels", ())),
            "weights": pack_weights(stage),
        },
    }
