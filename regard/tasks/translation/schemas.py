"""What requests for translations and their answers look like; the API's documentation is made from this."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, FailFast, Field

from regard.serve.schemas import Answered, Asked, Model, Texts

Heads = dict[str, Annotated[list[int], FailFast()]]
Beam = Annotated[int | None, Field(ge=1, description="Hypotheses kept side by side; 1 is greedy. [the model's]")]


class TranslateRequest(Asked):
    """What to translate, and how where it should differ from the model's own settings."""

    text: Texts = Field(description="One text or a list of texts, answered in their order.")
    model: Model = None
    beam: Beam = None
    nbest: int = Field(1, ge=1, description="Outputs per text, best first, as the answer's alternatives.")
    length_penalty: Literal["paper", "mean", "none"] | None = Field(None, description="Of a score. [the model's]")
    alpha: float | None = Field(None, ge=0, le=10, description="Strength of the paper's length penalty. [the model's]")
    no_repeat_ngram: int | None = Field(None, ge=0, description="Never write a run of this many tokens twice.")
    sample: bool = Field(False, description="Draw at random instead of searching.")
    temperature: float = Field(1.0, gt=0, description="Sampling: below 1 is safer, above 1 wilder.")
    top_k: int = Field(0, ge=0, description="Sampling: only the k most probable tokens; 0: all.")
    top_p: float = Field(1.0, gt=0, le=1, description="Sampling: only the most probable tokens up to this sum.")
    seed: int = Field(0, ge=0, lt=2**63, description="Sampling: the same seed gives the same output.")
    prefix: str = Field("", description="Text that every output begins with.")
    split: bool = Field(True, description="Translate sentence by sentence; false: whole, unless it is too long.")
    warnings: bool = Field(False, description="Also answer what speaks against a translation.")
    attention: bool = Field(False, description="Also answer every attention weight.")

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Ich habe Hunger.", "nbest": 2}]})


class AttentionRequest(Asked):
    """A text to look at, and what to change in the model meanwhile."""

    text: str = Field(description="One text.")
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


class Doubt(Answered):
    kind: Literal["unseen", "spelled", "repeated", "short", "long", "copied"]
    side: Literal["source", "target"]
    words: list[int] = Field(description="Which words of that side's part, counted from 0.")
    text: str = Field(description="Those words.")


class Translated(Answered):
    text: str
    score: float = Field(description="Log-probability after the length penalty; compare it within one source.")
    tokens: list[str] = Field(description="The tokens that were written.")
    token_log_probabilities: list[float] = Field(description="Of each token, then of the end if it was written.")
    finish_reason: Literal["end", "length", "empty"]
    parts: int = Field(description="How many parts the text was translated in.")
    warnings: list[Doubt] | None = Field(None, description="Reasons to look again, if asked for.")
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
    token_log_probabilities: list[float] = Field(description="Of each token, then of the end.")


class ScoreAnswer(Answered):
    model: str
    scores: list[Scored]
