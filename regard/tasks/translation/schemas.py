"""What requests for translations and their answers look like; the API's documentation is made from this."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from regard.serve.schemas import Answered, Asked, Beam, Model, Texts, To


class TranslateRequest(Asked):
    """What to translate, and how where it should differ from the model's own settings."""

    text: Texts = Field(description="One text or a list of texts, answered in their order.")
    model: Model = None
    to: To = None
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
    protect: bool | None = Field(
        None, description="Keep numbers, times, addresses and tags as they are. [where the model was trained for it]"
    )
    truecase: bool = Field(
        True, description="Read what is all in capitals, or all in small letters, in the case that the model knows."
    )
    scores: bool = Field(
        False,
        description="Answer the log-probability of each token; else they are left out where that saves time.",
    )
    warnings: bool = Field(False, description="Also answer what speaks against a translation.")
    attention: bool = Field(False, description="Also answer every attention weight.")
    stream: bool = Field(False, description="Of one text: answer as server-sent events, part by part.")

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Ich habe Hunger.", "nbest": 2}]})


class ScoreRequest(Asked):
    """Translations whose probability is asked for, with their sources."""

    source: Texts = Field(description="One source or a list of them.")
    target: Texts = Field(description="As many translations.")
    model: Model = None
    to: To = None

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"source": "Guten Morgen!", "target": ["Good morning!"]}]}
    )


class Doubt(Answered):
    kind: Literal["unseen", "spelled", "repeated", "short", "long", "copied", "lost"]
    side: Literal["source", "target"]
    words: list[int] = Field(description="Which words of that side's part, counted from 0.")
    text: str = Field(description="Those words.")


class Translated(Answered):
    text: str
    score: float = Field(description="Log-probability after the length penalty; compare it within one source.")
    tokens: list[str] = Field(description="The tokens that were written.")
    token_log_probabilities: list[float] = Field(
        description="Of each token, then of the end if it was written; none where `scores` were not asked for and cost time."
    )
    finish_reason: Literal["end", "length", "empty"]
    parts: int = Field(description="How many parts the text was translated in.")
    confidence: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Comparable between texts: the sentence chrF / 100 to be expected, if the model tells.",
    )
    warnings: list[Doubt] | None = Field(
        None, description="Reasons to look again, if asked for or if a number, address or tag is lost."
    )
    alternatives: list[Translated] | None = Field(None, description="The n best, if more than one was asked for.")
    attention: list[dict[str, Any]] | None = Field(
        None, description="One scene per part, if asked for; docs/files.md describes it."
    )


class TranslateAnswer(Answered):
    model: str
    translations: list[Translated]


class Scored(Answered):
    log_probability: float
    perplexity: float
    tokens: list[str]
    token_log_probabilities: list[float] = Field(description="Of each token, then of the end.")


class ScoreAnswer(Answered):
    model: str
    scores: list[Scored]
