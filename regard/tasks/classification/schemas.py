"""What requests for labels and their answers look like; the API's documentation is made from this."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from regard.serve.schemas import Answered, Asked, Model, Texts


class ClassifyRequest(Asked):
    """What to label."""

    text: Texts = Field(description="One text or a list of texts, answered in their order.")
    model: Model = None

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": ["A lovely film.", "I want my money back."]}]})


class Classified(Answered):
    label: str = Field(description="The most probable; nothing for an empty text.")
    probabilities: dict[str, float] = Field(description="Of every label, the most probable first.")
    token_count: int = Field(description="How many tokens the text consists of.")
    windows: int = Field(description="How many windows voted, of a text longer than the model reads at once.")
    cut: bool = Field(description="Whether the text was longer than the model reads, and only a part was read.")


class ClassifyAnswer(Answered):
    model: str
    classifications: list[Classified]
