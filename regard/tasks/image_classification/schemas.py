"""What requests to recognize pictures and their answers look like; the API's documentation is made from this."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, FailFast, Field, WithJsonSchema

from regard.serve.schemas import TEXT_OR_TEXTS, Answered, Asked, Model, as_list

EXAMPLE = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAH0lEQVR42mNggAJGBoYTDAwMFgxMcJFnUAYTbjVwAAB7bwLwsSPTvQAAAABJRU5ErkJggg=="
"""A file of 8 × 8 pixels."""


def as_files(value: object) -> object:
    """Base64 → the bytes of files. A page's `data:` address is understood as well; what is missing at the end is not."""
    texts = as_list(value)
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise ValueError("should be a picture in base64 or a list of them")
    return [_decoded(number, each) for number, each in enumerate(texts)]


def _decoded(number: int, text: str) -> bytes:
    place = f"picture {number} (counting from 0) "
    if text.startswith("data:"):
        about, comma, text = text.partition(",")
        if not comma or not about.endswith(";base64"):
            raise ValueError(f"should be base64: {place}is a data: address without it")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):  # the latter of letters beyond ASCII
        raise ValueError(f"should be base64, of which {place}is none") from None


Files = Annotated[list[bytes], FailFast(), BeforeValidator(as_files), WithJsonSchema(TEXT_OR_TEXTS)]


class RecognizeRequest(Asked):
    """What to recognize."""

    picture: Files = Field(
        description="One picture or a list of them, answered in their order: PNG, JPEG or WebP files in base64."
    )
    model: Model = None
    look: bool = Field(False, description="Also answer what the decision looked at, of one picture.")

    model_config = ConfigDict(json_schema_extra={"examples": [{"picture": EXAMPLE}]})


class Recognized(Answered):
    label: str = Field(description="The most probable.")
    probabilities: dict[str, float] = Field(description="Of every label, the most probable first.")
    animated: bool = Field(description="Whether the picture moves, and only its first one was taken.")


class RecognizeAnswer(Answered):
    model: str
    recognitions: list[Recognized]
    look: dict[str, Any] | None = Field(description="What a page draws: docs/files.md says how numbers are packed.")
