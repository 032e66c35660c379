"""A trained image classifier at work: a picture in, a label and its probability out, one answer for every picture.

`regard.load("runs/fashion")` returns a Recognizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import config
from regard.data.images import Pixels, Seen, see
from regard.data.pictures import Example, pictures_in
from regard.data.pixels import decode
from regard.errors import DataError
from regard.models.packed import pack_weights
from regard.models.vit import PictureClassifier
from regard.notes import note
from regard.tasks.image_classification.assets import PictureAssets
from regard.tasks.image_classification.attribution import attribute, position_similarity
from regard.tasks.image_classification.page import PictureExplanation
from regard.tasks.image_classification.training import recognize_pixels
from regard.tasks.provenance import told_count, told_scores
from regard.tasks.texts import described

LOOK_AHEAD = 256  # pictures that are decoded before the first is answered


@dataclass(frozen=True)
class Recognition:
    """What became of one picture."""

    label: str
    probabilities: Mapping[str, float]
    """Of every label, the most probable first; calibrated on the validation pictures."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"label": self.label, "probabilities": dict(self.probabilities)}


class Recognizer:
    """A model, its labels and its recipe, ready to recognize."""

    def __repr__(self) -> str:
        return described(self)

    def __init__(
        self,
        model: PictureClassifier,
        recipe: config.PictureRecipe,
        assets: PictureAssets,
        provenance: Mapping[str, Any] | None = None,
        *,
        origin: str | Path = "",
    ) -> None:
        self.model, self.recipe, self.assets, self.origin = pack_weights(model.eval()), recipe, assets, origin
        self.provenance = provenance or {}
        self.labels, self.temperature = assets.labels, assets.temperature

    def recognize(self, picture: Any) -> Any:
        """One picture or a list of them: paths, PIL images or arrays; a list in, a list out, in the same order."""
        if isinstance(picture, list | tuple):
            return list(self.stream(picture))
        return next(self.stream([picture]))

    def stream(self, pictures: Iterable[Any], *, look_ahead: int = LOOK_AHEAD) -> Iterator[Recognition]:
        """Recognize any number of pictures in bounded memory: one answer for each, in order."""
        waiting = iter(pictures)
        while block := list(islice(waiting, look_ahead)):
            yield from self.answers([self.see(each) for each in block])

    def recognize_files(
        self, paths: Iterable[Path], *, look_ahead: int | None = None
    ) -> Iterator[tuple[str, Recognition | DataError]]:
        """Of each picture, and of each in a folder, its path and what became of it: a mistake stops none of the others."""
        examples = (Example(file, "", str(file)) for path in paths for file in _within(path))
        if look_ahead is not None:  # somebody types, and waits for each answer
            for example in examples:
                yield example.name, self._attempt(example)
            return
        decoded = decode(examples, self.recipe.data)
        while block := list(islice(decoded, LOOK_AHEAD)):
            for each, seen in block:
                _note_animated(seen, each.name)
            answers = iter(self.answers([seen.pixels for _, seen in block if isinstance(seen, Seen)]))
            yield from ((each.name, seen if isinstance(seen, DataError) else next(answers)) for each, seen in block)

    def _attempt(self, example: Example) -> Recognition | DataError:
        try:
            return self.answers([self.see(example.picture)])[0]
        except DataError as error:
            return error

    def see(self, picture: Any, name: str = "") -> Pixels:
        """A picture as the model sees it: [H, W, C]."""
        seen = see(picture, self.recipe.data, name)
        _note_animated(seen, name or (str(picture) if isinstance(picture, str | Path) else "the picture"))
        return seen.pixels

    def answers(self, pixels: Sequence[Pixels]) -> list[Recognition]:
        """Of pictures that were seen."""
        probabilities = (self.logits(pixels) / self.temperature).softmax(-1).tolist()
        return [self._answer(each) for each in probabilities]

    def logits(self, pixels: Sequence[Pixels]) -> Tensor:
        """[S, L], before the temperature calibrates them."""
        return recognize_pixels(self.model, self.assets, pixels)

    def _answer(self, probabilities: Sequence[float]) -> Recognition:
        ranked = sorted(zip(self.labels, probabilities, strict=True), key=lambda each: -each[1])
        return Recognition(ranked[0][0], dict(ranked))

    def cost(self) -> int:
        """Tokens that one picture is for the model."""
        return self.model.extra + self.model.grid**2

    def look_size(self) -> int:
        """Numbers that a look into a decision holds: attention weights, queries, keys and values."""
        layers, tokens = len(self.model.attention_names()["encoder"]), self.cost()
        return layers * tokens * (self.model.heads * tokens + 3 * self.recipe.model.width)

    def look(self, picture: Any) -> PictureExplanation:
        """What the decision about a picture looked at."""
        pixels = self.see(picture)
        answer = self.answers([pixels])[0]
        tensor = self.assets.normalise(torch.from_numpy(pixels[None].copy()).to(self.model.device))
        return PictureExplanation(
            title=self.recipe.name,
            name=str(picture) if isinstance(picture, str | Path) else "",
            label=answer.label,
            probabilities=answer.probabilities,
            pixels=pixels,
            grid=self.model.grid,
            extra=self.model.extra,
            found=attribute(self.model, tensor, self.labels.index(answer.label), self.temperature),
            positions=position_similarity(self.model),
            facts=self.facts(),
        )

    def facts(self) -> dict[str, str]:
        """What a person would like to know of the model, for pages and reports."""
        facts = {
            "labels": f"{len(self.labels):,}",
            "parameters": f"{sum(each.numel() for each in self.model.parameters()):,}",
            "training pictures": f"{told_count(self.provenance, 'training_examples'):,}",
            "updates": f"{told_count(self.provenance, 'updates'):,}",
        }
        return facts | {name: f"{value:.1f}" for name, value in told_scores(self.provenance)}


def _within(path: Path) -> Iterator[Path]:
    """The pictures of a folder, or the path itself: also that of a folder without any, which is then told of."""
    if not path.is_dir():
        yield path
        return
    found = False
    for file in pictures_in(path):
        found = True
        yield file
    if not found:
        yield path


def _note_animated(seen: Seen | DataError, name: str) -> None:
    if isinstance(seen, Seen) and seen.animated:
        note(f"{name} is animated; only its first picture was looked at")
