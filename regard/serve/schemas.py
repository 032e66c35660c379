"""What requests and answers look like; the API's documentation is made from this."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

HALF = "half_a_character"


def as_list(value: object) -> object:
    """One text means a list of one."""
    if isinstance(value, str):
        return [whole(value)]  # here already, where no mistake is blamed on the first of a list that nobody sent
    if not isinstance(value, list):
        raise ValueError("should be a text or a list of texts")
    if not value:
        raise ValueError("should be at least one text")
    return value


def whole(text: str) -> str:
    """JSON can spell half of a surrogate pair, which no UTF-8 could carry back."""
    for place, character in enumerate(text, start=1):
        if "\ud800" <= character <= "\udfff":
            raise PydanticCustomError(
                HALF,
                "holds {half} as character {place}, half of a surrogate pair: send both halves, or the character itself",
                {"half": ascii(character)[1:-1], "place": place},
            )
    return text


def something(text: str) -> str:
    if not text:
        raise ValueError("should be at least one character")
    return text


TEXT_OR_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
Text = Annotated[str, AfterValidator(whole)]
Texts = Annotated[list[Text], BeforeValidator(as_list), WithJsonSchema(TEXT_OR_TEXTS)]
Stops = Annotated[
    list[Annotated[Text, AfterValidator(something)]],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
Heads = dict[str, list[int]]
Model = Annotated[str | None, Field(description="Which model, by its name in /health. [the first]")]
Beam = Annotated[int | None, Field(ge=1, description="Hypotheses kept side by side; 1 is greedy. [the model's]")]


class Asked(BaseModel):
    """Unknown fields are refused: they would be mistakes that nobody notices."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class TranslateRequest(Asked):
    """What to translate, and how where it should differ from the model's own settings."""

    text: Texts = Field(description="One text or a list of texts, answered in their order.")
    model: Model = None
    beam: Beam = None
    nbest: int = Field(1, ge=1, description="Outputs per text, best first, as the answer's alternatives.")
    length_penalty: Literal["paper", "mean", "none"] | None = Field(None, description="Of a score. [the model's]")
    alpha: float | None = Field(None, ge=0, le=10, description="Strength of the paper's length penalty. [the model's]")
    no_repeat_ngram: int | None = Field(None, ge=0, description="Never write a run of this many pieces twice.")
    sample: bool = Field(False, description="Draw at random instead of searching.")
    temperature: float = Field(1.0, gt=0, description="Sampling: below 1 is safer, above 1 wilder.")
    top_k: int = Field(0, ge=0, description="Sampling: only the k most probable pieces; 0: all.")
    top_p: float = Field(1.0, gt=0, le=1, description="Sampling: only the most probable pieces up to this sum.")
    seed: int = Field(0, ge=0, lt=2**63, description="Sampling: the same seed gives the same output.")
    prefix: Text = Field("", description="Text that every output begins with.")
    attention: bool = Field(False, description="Also answer every attention weight.")

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Ich habe Hunger.", "nbest": 2}]})


class AttentionRequest(Asked):
    """A text to look at, and what to change in the model meanwhile."""

    text: Text = Field(description="One text.")
    model: Model = None
    beam: Beam = None
    off: Heads = Field(
        default_factory=dict, description="Heads to switch off, by the attention's name and counted from 0."
    )
    temperature: float = Field(
        1.0, ge=0.01, le=100, description="Of every attention: below 1 is sharper, above 1 flatter."
    )
    hard: bool = Field(False, description="Every attention looks at one place only.")
    walk: bool = Field(False, description="Also answer the computation's other numbers: queries, keys, values …")

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "Ich habe Hunger.", "off": {"decoder.0.cross_attention": [1]}}]}
    )


class ScoreRequest(Asked):
    """Translations whose probability is asked for, with their sources."""

    source: Texts = Field(description="One source or a list of them.")
    target: Texts = Field(description="As many translations.")
    model: Model = None

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"source": "Guten Morgen!", "target": ["Good morning!"]}]}
    )


class ClassifyRequest(Asked):
    """What to label."""

    text: Texts = Field(description="One text or a list of texts, answered in their order.")
    model: Model = None

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": ["A lovely film.", "I want my money back."]}]})


class GenerateRequest(Asked):
    """What to go on with, and how."""

    prompt: Texts = Field(description="One text or a list of texts to go on with; an empty one begins from nothing.")
    model: Model = None
    most: int | None = Field(None, ge=1, description="Pieces to write at most. [200, or what the server allows]")
    temperature: float = Field(0.8, ge=0, description="Below 1 is safer, above 1 wilder; 0: always the most probable.")
    top_k: int = Field(0, ge=0, description="Only the k most probable pieces; 0: all.")
    top_p: float = Field(1.0, gt=0, le=1, description="Only the most probable pieces up to this sum.")
    seed: int = Field(0, ge=0, lt=2**63, description="The same seed gives the same text.")
    stop: Stops = Field(default_factory=list, description="Text that ends what is written, and is left out of it.")
    no_repeat_ngram: int = Field(0, ge=0, description="Never write a run of this many pieces twice; 0: any may recur.")
    stream: bool = Field(
        False, description="Send the text while it is written, as server-sent events; one prompt only."
    )

    model_config = ConfigDict(json_schema_extra={"examples": [{"prompt": "The history of", "most": 50, "seed": 1}]})


class Answered(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Translated(Answered):
    text: str
    score: float = Field(description="Log-probability after the length penalty; compare it within one source.")
    tokens: list[str] = Field(description="The pieces that were written.")
    token_log_probabilities: list[float] = Field(description="Of each piece, then of the end if it was written.")
    finish_reason: Literal["end", "length", "empty"]
    parts: int = Field(description="How many parts a text too long for one pass was split into.")
    alternatives: list[Translated] | None = Field(None, description="The n best, if more than one was asked for.")
    attention: list[dict[str, Any]] | None = Field(
        None, description="One scene per part, if asked for; docs/files.md describes it."
    )


class TranslateAnswer(Answered):
    model: str
    translations: list[Translated]


class AttentionAnswer(Answered):
    model: str
    scenes: list[dict[str, Any]] = Field(description="One per part of the text; docs/files.md describes it.")


class Scored(Answered):
    log_probability: float
    perplexity: float
    tokens: list[str]
    token_log_probabilities: list[float] = Field(description="Of each piece, then of the end.")


class ScoreAnswer(Answered):
    model: str
    scores: list[Scored]


class Classified(Answered):
    label: str = Field(description="The most probable; nothing for an empty text.")
    probabilities: dict[str, float] = Field(description="Of every label, the most probable first.")
    pieces: int = Field(description="How many the text consists of.")
    windows: int = Field(description="How many windows voted, of a text longer than the model reads at once.")
    cut: bool = Field(description="Whether the text was longer than the model reads, and only a part was read.")


class ClassifyAnswer(Answered):
    model: str
    classifications: list[Classified]


class Generated(Answered):
    prompt: str
    text: str = Field(description="What was added, without the prompt and without a stop string.")
    tokens: list[str] = Field(description="The pieces that were written.")
    token_log_probabilities: list[float] = Field(description="Of each piece.")
    finish_reason: Literal["end", "length", "stop"]
    cut: bool = Field(description="Whether the prompt was longer than the model's context, and only its end was read.")


class GenerateAnswer(Answered):
    model: str
    generations: list[Generated]


class Health(Answered):
    status: Literal["ok"]
    models: list[str]
    tasks: dict[str, str] = Field(description="Of each model: translate, classify or language-model.")
    version: str


class Problem(Answered):
    detail: str = Field(description="What is wrong, and what to do.")
