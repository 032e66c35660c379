"""What a translation model reads: text in parts that it can take, as ids, in one of its directions, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard import config
from regard.config.translation import tag_of
from regard.data.languages import by_letters
from regard.data.tokenizer import UNKNOWN, Tokenizer
from regard.decoding.options import Engine, Search, check_values, length_limit, refuse_idle
from regard.errors import UsageError, did_you_mean
from regard.evaluation.scores import language_code
from regard.tasks.provenance import told_count, told_scores
from regard.tasks.registry import count_parameters
from regard.tasks.texts import shown
from regard.tasks.translation.confidence import told_calibration
from regard.tasks.translation.engine import FastEngine, native_of
from regard.tasks.translation.reading import Reader, ReadPart, require_placeholders
from regard.tasks.translation.results import Options
from regard.tasks.translation.splitting import Part, split_text

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack  # part of typing only from Python 3.11 on

    from regard.models.encoder_decoder import EncoderDecoder as Model

OF_TEXT = ("prefix", "split", "protect", "truecase", "warnings", "to")  # options that the search knows nothing of


class TranslationInput:
    """A model, its tokenizer and its recipe: what is read of a text, and how the search was asked to go about it."""

    recipe: config.TranslationRecipe

    def __init__(
        self,
        model: Model | None,
        tokenizer: Tokenizer,
        recipe: config.TranslationRecipe,
        provenance: dict[str, Any] | None = None,
        engine: Engine | None = None,
    ) -> None:
        """An engine of our own has the model in the form that it computes with; that one is then looked at and scored with
        too, so that `model` itself is held no longer than its owner does. Without `model`, the engine must have it."""
        if engine is None:
            from regard.tasks.translation.native import Native  # late, as in all of a translator: text needs no torch

            if model is None:
                raise UsageError("a translator needs a model, or an engine that has one")
            engine = Native(model)
        self.engine, self._given = engine, model
        self.tokenizer, self.recipe = tokenizer, recipe
        if model is not None:
            model.eval()
            if not isinstance(engine, FastEngine):
                self.model  # noqa: B018 (now, so that what was given is held no longer)
        self.provenance = provenance or {}
        self.longest = told_count(self.provenance, "source_tokens", recipe.data.max_tokens)
        self.sentences = told_count(self.provenance, "source_sentences", 1)
        self._calibration = told_calibration(self.provenance)
        self.data = recipe.data
        """As the recipe has it; in `recipe.data`, the languages are those of the direction."""
        self.tags: list[int] = []
        """Before every source: into which language."""
        self.fixed = len(self.targets) == 1
        """Whether it is known into which language; else each text's letters tell."""
        if len(self.targets) > 1:
            self._turn(self.targets[0])

    @cached_property
    def model(self) -> Model:
        """As our own search computes with it. Where another program decodes, it is read when it is first asked for."""
        from regard.models.encoder_decoder import EncoderDecoder

        native = native_of(self.engine.native if isinstance(self.engine, FastEngine) else self.engine)
        own = native.model if native is not None and isinstance(native.model, EncoderDecoder) else self._given
        self._given = None
        if own is None:
            raise UsageError("the engine of this translator has no model to look into")
        return own.eval()

    @property
    def max_positions(self) -> int:
        """As many tokens a source or an output may have, with its end."""
        engine = self.engine.fast if isinstance(self.engine, FastEngine) else None
        return int(getattr(engine, "max_positions", 0)) or self.model.max_positions

    @property
    def targets(self) -> list[str]:
        """The languages that the model translates into."""
        return self.data.target_languages

    def to(self, language: str) -> Self:
        """The same model, translating into one of its languages."""
        known = self.targets
        if len(known) == 1 and language != known[0]:
            raise UsageError(f"this model translates into {known[0]} only, not into {language!r}")
        if language not in known:
            raise UsageError(f"this model translates into {', '.join(known)}, not into {language!r}")
        turned = copy(self)
        if len(known) > 1:
            turned._turn(language)
        turned.fixed = True
        return turned

    def _into(self, options: Options) -> Self:
        """The one that translates into the language that was asked for, which is then no option any more."""
        language = options.pop("to", None)
        return self if language is None else self.to(language)

    def directed(self, text: str) -> Self:
        """Into the language of the first direction whose source is written in the letters of this text, unless one was asked for:
        of a model of Korean and English, Hangul becomes English, and Latin letters Korean."""
        if self.fixed or not isinstance(text, str):
            return self
        pairs = [each.languages for each in self.data.directions]
        return self.to(pairs[by_letters(text, [source for source, _ in pairs])][1])

    def _turn(self, language: str) -> None:
        """Languages and tag of the first direction into a language."""
        source, target = next(each.languages for each in self.data.directions if each.languages[1] == language)
        self.recipe = replace(self.recipe, data=replace(self.data, source_language=source, target_language=target))
        self.tags = [self.tokenizer.tag(tag_of(language))]

    @property
    def source_language(self) -> str:
        """As a code, such as `de`, however the recipe names it."""
        return language_code(self.recipe.data.source_language).partition(" ")[0]

    def facts(self) -> dict[str, str]:
        """What a person would like to know of the model, for pages and reports."""
        data = self.recipe.data
        sizes = self.tokenizer.size("source"), self.tokenizer.size("target")
        facts = {
            "languages": f"{data.source_language} → {data.target_language}",
            "parameters": f"{count_parameters(self.recipe.model, *sizes):,}",
            "training pairs": f"{told_count(self.provenance, 'training_examples'):,}",
            "updates": f"{told_count(self.provenance, 'updates'):,}",
        }
        return facts | {name: f"{value:.1f}" for name, value in told_scores(self.provenance)}

    def search_options(self, **given: Any) -> tuple[Search, config.Decoding]:
        """The recipe's decoding settings with the given ones over them; more outputs than its beam widen the beam."""
        if unknown := sorted(set(given) - set(Options.__annotations__)):
            hint = did_you_mean(unknown[0], Options.__annotations__)
            raise UsageError(f"unknown option {unknown[0]!r}.{hint} There are {', '.join(Options.__annotations__)}")
        given = {name: value for name, value in given.items() if value is not None and name not in OF_TEXT}
        values = {**vars(self.recipe.decoding), **given}
        check_values(values)
        refuse_idle(given, values)
        if "beam" not in given:
            values["beam"] = max(values["beam"], values.get("nbest", 1))
        search, settings = (
            {name: value for name, value in values.items() if name in kind.__dataclass_fields__}
            for kind in (Search, config.Decoding)
        )
        return Search(**search), config.Decoding(**settings)

    def split(self, text: str, sentences: bool = True) -> list[Part]:
        """The parts in which a text is translated: as many sentences each as a line of the training text had; without
        `sentences`, only what is longer than the model was trained for is cut."""
        check_flags(split=sentences)
        most = self.sentences if sentences else 0
        return split_text(text, self.longest, self._tokens, most, self.recipe.data.source_language)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Source ids as the model reads them, after the tag of its direction if it has several."""
        return [[*self.tags, *ids] for ids in self.tokenizer.encode_all(texts, "source")]

    def _directed_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The same, each in the direction that its letters tell, where nobody asked for one."""
        return [self.directed(text).encode([text])[0] for text in texts]

    def _encoded(self, read: Sequence[ReadPart]) -> list[list[int]]:
        return self.encode([part.text for part in read])

    def _prefix(self, options: Options) -> list[int]:
        prefix = options.get("prefix") or ""
        if not isinstance(prefix, str):
            raise UsageError(f"the prefix must be text, not {shown(prefix)}")
        ids = self.tokenizer.encode(prefix, "target")
        self._check_length(ids, "prefix", "Shorten it.")
        if UNKNOWN in ids:
            raise UsageError(f"the prefix {prefix!r} holds a character that this model cannot write")
        return ids

    def _reader(self, options: Options) -> Reader:
        """What these options make of a text. A prefix decides itself in which case the output is."""
        protect, truecase = options.get("protect"), options.get("truecase", True)
        check_flags(protect=bool(protect) if protect is None else protect, truecase=truecase)
        return Reader(
            self.tokenizer,
            self.recipe.data.source_language,
            require_placeholders(self.tokenizer, protect),
            truecase and not options.get("prefix"),
        )

    def is_truecased(self, texts: Sequence[str], **options: Unpack[Options]) -> bool:
        """Whether any of these texts is read in another case than that in which it is written, unless `truecase` is off."""
        reader = self._reader({})
        every = (part.text for text in texts for part in self.split(text, options.get("split", True)))
        as_given = replace(reader, truecases=False)
        return any(reader.read([text])[0].text != as_given.read([text])[0].text for text in every)

    def _tokens(self, text: str) -> int:
        """As many as the model may have to read, whatever the options: a placeholder can take one more than what it stands for."""
        reader = Reader(
            self.tokenizer, self.recipe.data.source_language, self.tokenizer.has_placeholders, truecases=True
        )
        (part,) = reader.read([text])
        (as_given,) = replace(reader, truecases=False).read([text])
        ways = {text, part.text, as_given.text, reader.plain(part).text}
        return max(map(len, self.encode(list(ways)))) - len(self.tags)

    def _check_length(self, ids: list[int], what: str, remedy: str = "Give it in parts.") -> None:
        if len(ids) + 1 > self.max_positions:
            raise UsageError(
                f"the {what} has {len(ids)} tokens; the model's position table ends at {self.max_positions - 1}."
                f" {remedy}"
            )

    def cost(self, texts: Sequence[str], **options: Unpack[Options]) -> list[int]:
        """Of each text, how many tokens `translate` computes with these options at most: those that are read, and of every
        hypothesis those that it may write; for warnings, one more pass over what was read and written."""
        self = self._into(options)
        search, _ = self.search_options(**options)
        again = 1 if options.get("warnings") else 0
        return [
            sum(
                read + search.width * limit + again * (read + 1 + limit)  # which begins with a start
                for read, limit in self.directed(text)._sizes(text, options)
            )
            for text in texts
        ]

    def _sizes(self, text: str, options: Options) -> Iterator[tuple[int, int]]:
        """Of each part of a text, how many tokens are read, its end included, and how many an output may have."""
        _, settings = self.search_options(**options)
        prefix = len(self._prefix(options))
        texts = [part.text for part in self.split(text, options.get("split", True))]
        reader = self._reader(options)
        for number, part in enumerate(reader.read(texts)):
            for each in (part, part, reader.plain(part)) if part.values else (part,):  # again if a value is lost
                (ids,) = self._encoded([each])
                limit = length_limit(len(ids), settings, self.max_positions, 0 if number else prefix)
                yield len(ids) + 1, limit


def check_flags(**flags: object) -> None:
    """Refuse what is neither True nor False."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise UsageError(f"{name} must be True or False, not {shown(value)}")
