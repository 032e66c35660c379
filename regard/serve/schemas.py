"""What the requests and answers of all tasks share; the API's documentation is made from this. A task's own are in its room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, WithJsonSchema


def as_list(value: object) -> object:
    """One text means a list of one."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise ValueError("should be a text or a list of texts")
    if not value:
        raise ValueError("should be at least one text")
    return value


TEXT_OR_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
Texts = Annotated[list[str], FailFast(), BeforeValidator(as_list), WithJsonSchema(TEXT_OR_TEXTS)]
Model = Annotated[str | None, Field(description="Which model, by its name in /health. [the first]")]


Beam = Annotated[int | None, Field(ge=1, description="Hypotheses kept side by side; 1 is greedy. [the model's]")]


To = Annotated[
    str | None,
    Field(description="Of a model with several languages, the one to write: see /health. [the model's first]"),
]


class Asked(BaseModel):
    """Unknown fields are refused: they would be mistakes that nobody notices."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    renamed: ClassVar[Mapping[str, str]] = {}
    """What fields were called before, and are called now: for who still says the old name."""


class Answered(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Health(Answered):
    status: Literal["ok"]
    models: list[str]
    tasks: dict[str, str] = Field(description="Of each model, what it was trained for.")
    engines: dict[str, str] = Field(description="Of each model, what computes, and why that.")
    languages: dict[str, list[str]] = Field(
        description="Of each model that translates, the languages that it can write."
    )
    version: str


class Problem(Answered):
    detail: str = Field(description="What is wrong, and what to do.")
