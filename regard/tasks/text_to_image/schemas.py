"""What requests for pictures and their answers look like; the API's documentation is made from this."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from regard.serve.schemas import Answered, Asked, Model, Texts
from regard.tasks.text_to_image.painter import STRONGEST


class PaintRequest(Asked):
    """What to paint, and how."""

    caption: Texts = Field(description="One caption or a list of captions, answered in their order.")
    model: Model = None
    count: int = Field(1, ge=1, description="Pictures of each caption, with seeds that follow each other.")
    guidance: float = Field(
        2.0,
        ge=0,
        le=STRONGEST,
        description="Exaggerates what the caption changes; 1: the model as it is, 0: no caption.",
    )
    temperature: float = Field(1.0, ge=0, description="Below 1 is safer, above 1 wilder; 0: always the most probable.")
    top_k: int = Field(0, ge=0, description="Only the k most probable codes; 0: all.")
    top_p: float = Field(0.95, gt=0, le=1, description="Only the most probable codes up to this sum.")
    seed: int = Field(0, ge=0, lt=2**62, description="The same seed gives the same picture.")
    stream: bool = Field(
        False, description="Send the pictures while they form, as server-sent events; one caption only."
    )

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"caption": "a red boot left of a blue bag", "count": 2, "seed": 1}]}
    )


class Painted(Answered):
    picture: str = Field(description="A PNG file in base64.")
    seed: int = Field(description="That gives this picture again.")
    codes: list[list[int]] = Field(description="What the picture was decoded from, row by row.")


class PaintedCaption(Answered):
    caption: str
    cut: bool = Field(description="Whether the caption was longer than the model reads, and its end was not read.")
    pictures: list[Painted]


class PaintAnswer(Answered):
    model: str
    paintings: list[PaintedCaption]
