"""Several translation models as one Translator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor

from regard.data.tokenizer import Side
from regard.errors import UsageError
from regard.models.encoder_decoder import EncoderDecoder
from regard.models.ensemble import EncoderDecoderEnsemble
from regard.models.layers import Table
from regard.notes import detail, note
from regard.tasks.ensembles import ModelName, agreed, none_in_common, require_alike, told
from regard.tasks.provenance import told_count, told_range
from regard.tasks.task import Trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.engine import cores, meant, native_engine
from regard.tasks.translation.translator import Translator
from regard.tasks.translation.warnings import USUAL_RATIO
from regard.tasks.vectors import Window

SAME_TEXT = (
    "Train them on the same prepared text (the same [data] and [tokenizer]; another training.seed or [model] is fine), or let one start "
    "from the other (training.start)"
)


class TranslatorEnsemble(Translator):
    """Translates and scores as one model does; what each member attends to is its own."""

    def _members(self) -> list[EncoderDecoder]:
        return cast("EncoderDecoderEnsemble", self.model).each()

    def _tells_coverage(self) -> bool:
        return all("cross" in member.attention_names() for member in self._members())

    def attention_names(self) -> dict[str, list[str]]:
        raise none_in_common("attention")

    def _states(self, windows: Sequence[Window]) -> Tensor:
        raise none_in_common("vectors")

    def _table(self, side: Side) -> Table:
        raise none_in_common("embedding")

    def facts(self) -> dict[str, str]:
        """Of all together."""
        return {"models": f"{len(self._members())}", **super().facts()}


def ensemble(
    members: Sequence[Trained],
    names: Sequence[ModelName],
    *,
    engine: str = "auto",
    int8: bool = False,
    shortlist: bool = False,
    workers: int = 1,
    to: str | None = None,
) -> TranslatorEnsemble:
    """A Translator that writes what all of them together find most probable; our own search decodes."""
    require_alike(names, [each.assets.tokenizer.to_dict() for each in members], "the tokenizer", SAME_TEXT)
    directions = [[each.languages for each in member.recipe.data.directions] for member in members]
    require_alike(names, directions, "the language pair", "Name models of the same languages")
    if meant(engine) == "ctranslate2":
        raise UsageError(f"{told(names)} are decoded together by the native engine only; leave out `engine`")
    if shortlist:
        raise UsageError("`shortlist` is of one model; leave it out where several decode together")
    first = members[0]
    for each, name in zip(members[1:], names[1:], strict=True):
        if each.recipe.decoding != first.recipe.decoding:
            note(f"the decoding settings of {name} are not those of {names[0]}, which count")
    trained = Trained(
        EncoderDecoderEnsemble([each.model for each in members]),
        first.recipe,
        TranslationAssets(first.assets.tokenizer),
        provenance_of(members),
    )
    workers = (workers or cores()) if trained.model.device.type == "cpu" else 1
    chosen = native_engine(trained, names[0], int8, False, workers)
    chosen.about = f"native (the mean of {len(members)} models)"
    detail(f"{told(names)} are decoded together by {chosen.about}")
    translator = TranslatorEnsemble(
        trained.model.eval(), trained.assets.tokenizer, trained.recipe, trained.provenance, chosen
    )
    translator.origin = names[0]
    return translator if to is None else translator.to(to)


def provenance_of(members: Sequence[Trained]) -> dict[str, Any]:
    """What they agree on, and of what each was trained for, what is right for all of them. Confidence was calibrated for each by
    itself: unless that is the same, there is none of them together."""
    told_by = [each.provenance for each in members]
    ranges = [told_range(each, "length_ratio", USUAL_RATIO) for each in told_by]
    longest = [told_count(each.provenance, "source_tokens", each.recipe.data.max_tokens) for each in members]
    return {
        **agreed(told_by),
        "source_tokens": min(longest),
        "source_sentences": min(told_count(each, "source_sentences", 1) for each in told_by),
        "length_ratio": [min(least for least, _ in ranges), max(most for _, most in ranges)],
    }
