"""What requests for text and their answers look like; the API's documentation is made from this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, FailFast, Field, WithJsonSchema

from regard.serve.schemas import Answered, Asked, Model, Texts
from regard.tasks.language_model.results import RENAMED


def something(text: str) -> str:
    if not text:
        raise ValueError("should be at least one character")
    return text


Stops = Annotated[
    list[Annotated[str, AfterValidator(something)]],
    FailFast(),
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class GenerateRequest(Asked):
    """What to go on with, and how."""

    prompt: Texts = Field(description="One text or a list of texts to go on with; an empty one begins from nothing.")
    model: Model = None
    max_new_tokens: int | None = Field(
        None, ge=1, description="New tokens to write at most. [200, or what the server allows]"
    )
    temperature: float = Field(0.8, ge=0, description="Below 1 is safer, above 1 wilder; 0: always the most probable.")
    top_k: int = Field(0, ge=0, description="Only the k most probable tokens; 0: all.")
    top_p: float = Field(1.0, gt=0, le=1, description="Only the most probable tokens up to this sum.")
    seed: int = Field(0, ge=0, lt=2**63, description="The same seed gives the same text.")
    stop: Stops = Field(default_factory=list, description="Text that ends what is written, and is left out of it.")
    no_repeat_ngram: int = Field(0, ge=0, description="Never write a run of this many tokens twice; 0: any may recur.")
    stream: bool = Field(
        False, description="Send the text while it is written, as server-sent events; one prompt only."
    )

    renamed: ClassVar[Mapping[str, str]] = RENAMED
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"prompt": "The history of", "max_new_tokens": 50, "seed": 1}]}
    )


class Generated(Answered):
    prompt: str
    text: str = Field(description="What was added, without the prompt and without a stop string.")
    tokens: list[str] = Field(description="The tokens that were written.")
    token_log_probabilities: list[float] = Field(description="Of each token.")
    finish_reason: Literal["end", "length", "stop"]
    cut: bool = Field(description="Whether the prompt was longer than the model's context, and only its end was read.")


class GenerateAnswer(Answered):
    model: str
    generations: list[Generated]
