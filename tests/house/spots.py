"""A task that the package knows nothing of, without text: pictures of 4 × 4 numbers → the corner in which a spot is.

All that a task must say is here; tests/house/test_spots.py trains it, and asks for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fastapi import FastAPI, Request
from starlette.responses import Response
from torch import Tensor, nn

from regard import config
from regard.checkpoint import StoredAssets
from regard.data.corpus import locate, read_lines
from regard.data.prepare import Builder, Prepared
from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer, json_list
from regard.serve.schemas import Answered, Asked, Model
from regard.serve.service import Service
from regard.tasks.task import DryRunner, Task, Trained
from regard.training.loss import Loss
from regard.training.trainable import Finished, MicroBatch, WithoutMovie

CORNERS = ("north-west", "north-east", "south-west", "south-east")


@dataclass(frozen=True)
class Pictures(config.Data):
    """Lines of 16 numbers and a corner."""


@dataclass(frozen=True)
class Patches(config.Model):
    architecture: str = "patches"
    width: int = 8


@dataclass(frozen=True)
class SpotsRecipe(config.Recipe):
    task: str = "spots"
    data: Pictures = field(default_factory=Pictures)
    model: Patches = field(default_factory=Patches)


@dataclass(frozen=True)
class SpotsAssets:
    corners: tuple[str, ...] = CORNERS

    @classmethod
    def read(cls, stored: StoredAssets) -> SpotsAssets:
        return cls(tuple(stored.content["corners"]))

    def write(self) -> StoredAssets:
        return StoredAssets({"corners": list(self.corners)})

    @property
    def sizes(self) -> tuple[int]:
        return (len(self.corners),)


class PatchModel(nn.Module):
    def __init__(self, settings: Patches, corners: int) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(16, settings.width), nn.Linear(settings.width, corners)

    def forward(self, pictures: Tensor) -> Tensor:
        return self.output(self.hidden(pictures).relu())  # type: ignore[no-any-return]  # [S, 16] → [S, C]


def read(data: Pictures, split: str) -> Iterator[tuple[list[float], int]]:
    for file in data.files_of(split):
        for line in read_lines(locate(file, data)):
            *pixels, corner = line.split()
            yield [float(each) for each in pixels], CORNERS.index(corner)


class Examples:
    def __init__(self, path: Path) -> None:
        self.rows = np.load(path, mmap_mode="r")

    def __len__(self) -> int:
        return len(self.rows)

    def verify(self) -> None:
        assert np.isfinite(self.rows).all()

    def tensors(self, rows: Any = slice(None)) -> tuple[Tensor, Tensor]:
        chosen = torch.from_numpy(np.array(self.rows[rows], dtype=np.float32))
        return chosen[:, :16], chosen[:, 16].long()


@dataclass(frozen=True)
class Report:
    pictures: int

    def lines(self) -> list[str]:
        return [f"train: {self.pictures:,} pictures"]

    def check(self) -> None:
        assert self.pictures


def build(folder: Path, recipe: SpotsRecipe, workers: int | None, show: bool) -> tuple[dict[str, Any], Report]:
    counts = {}
    for split in ("train", "valid"):
        rows = np.array([[*pixels, corner] for pixels, corner in read(recipe.data, split)], dtype=np.float32)
        np.save(folder / f"{split}.npy", rows)
        counts[split] = len(rows)
    return counts, Report(counts["train"])


class SpotsTraining(WithoutMovie):
    unit = "pictures"

    def __init__(self, recipe: SpotsRecipe, prepared: Prepared, micro_batches: int, device: torch.device) -> None:
        self.recipe, self.prepared, self.size = recipe, prepared, max(1, recipe.training.batch_tokens // micro_batches)

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        epoch, index = position
        taken = []
        for _ in range(count):
            order = np.random.default_rng([self.recipe.training.seed, epoch]).permutation(len(self.prepared.train))
            rows = order[index * self.size : (index + 1) * self.size]
            taken.append(MicroBatch(rows, len(rows)))
            epoch, index = (epoch, index + 1) if (index + 1) * self.size < len(order) else (epoch + 1, 0)
        return taken, (epoch, index)

    def loss(self, model: PatchModel, batch: Any) -> Loss:
        pictures, corners = self.prepared.train.tensors(np.sort(batch))
        return both(nn.functional.cross_entropy(model(pictures), corners, reduction="sum"))

    def validate(self, model: PatchModel) -> dict[str, float]:
        pictures, corners = self.prepared.valid.tensors()
        logits = model(pictures)
        right = (logits.argmax(-1) == corners).float().mean().item()
        return {"loss": nn.functional.cross_entropy(logits, corners).item(), "accuracy": 100 * right}

    def finish(self, averaged: Callable[[], PatchModel]) -> Finished:
        return Finished(self.prepared.assets)


def both(loss: Tensor) -> Loss:
    return Loss(loss, loss.detach())


class Finder:
    """What `regard.load` returns."""

    def __init__(self, trained: Trained) -> None:
        self.model, self.recipe, self.corners = trained.model, trained.recipe, trained.assets.corners

    def find(self, pictures: list[list[float]]) -> list[str]:
        with torch.inference_mode():
            return [self.corners[place] for place in self.model(torch.tensor(pictures)).argmax(-1).tolist()]


@dataclass(frozen=True)
class Found:
    name: str
    accuracy: float

    def lines(self) -> list[str]:
        return [f"{self.name}: {self.accuracy:.1f} % found"]

    def to_dict(self) -> dict[str, Any]:
        return {"scores": self.stored()}

    def stored(self) -> list[dict[str, Any]]:
        return [{"name": "accuracy", "value": self.accuracy}]


def evaluate(model: str | Path, data: str | Path | None = None, *, strict: bool = False) -> Iterator[Found]:
    from regard import load
    from regard.tasks.data_folder import with_data_folder

    finder = load(model)
    recipe = with_data_folder(finder.recipe, model, data)
    for name in recipe.data.test:
        pictures, corners = zip(*read(recipe.data, name), strict=True)
        right = [CORNERS[corner] == found for corner, found in zip(corners, finder.find(list(pictures)), strict=True)]
        yield Found(name, 100 * sum(right) / len(right))


@dataclass(frozen=True)
class Sight:
    text: str

    def draw(self, console: Any) -> None:
        console.print(self.text)

    def write(self, path: str | Path, command: str = "") -> None:
        Path(path).write_text(f"<p>{self.text}</p>", encoding="utf-8")

    def to_dict(self) -> Mapping[str, Any]:
        return {"text": self.text}


def view(model: str | Path, text: str | None = None) -> Sight:
    return Sight(f"{model} sees {text}")


class FindRequest(Asked):
    picture: list[float]
    model: Model = None


class FindAnswer(Answered):
    model: str
    corners: list[str]


def serve(app: FastAPI, service: Service) -> None:
    @app.post("/find", **endpoint(service, "spots", FindAnswer))
    async def find(asked: FindRequest, request: Request) -> Response:
        name, finder = service.find(asked.model, "spots")
        run = lambda pictures: [encode(each) for each in finder.find(pictures)]  # noqa: E731
        found = await service.answers(request, [Job(("find", name), asked.picture, 16, run)])
        return json_answer(model=encode(name), corners=json_list(found))


def dry_run(recipe: SpotsRecipe, tokens: int) -> MicroBatch:
    return MicroBatch((torch.randn(tokens, 16), torch.zeros(tokens, dtype=torch.long)), tokens)


SETTINGS = config.TaskSettings(
    name="spots", aliases=("find-spots",), room="spots", verb="find", recipe=SpotsRecipe, metrics=("accuracy", "loss"),
    architectures={"patches": config.Architecture(Patches)},
)  # fmt: skip
TASK = Task(
    settings=SETTINGS,
    models={Patches: PatchModel},
    assets=SpotsAssets,
    data=Builder((), (), build, lambda stored: Report(**stored), lambda folder, report: (
        SpotsAssets(), Examples(folder / "train.npy"), Examples(folder / "valid.npy"))),
    read=read,
    training=SpotsTraining,
    dry_run=DryRunner(
        lambda recipe: (len(CORNERS),), lambda sizes: f"{sizes[0]} corners", dry_run,
        lambda recipe, model, batch: both(nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="sum")),
    ),
    load=lambda trained, name: Finder(trained),
    evaluate=evaluate,
    view=view,
    serve=serve,
)  # fmt: skip


def write_pictures(path: Path, count: int, seed: int) -> None:
    """Noise with a spot in one of the corners."""
    chance = np.random.default_rng(seed)
    lines = []
    for number in range(count):
        picture, corner = chance.normal(size=(4, 4)) * 0.3, number % 4
        picture[2 * (corner // 2) : 2 * (corner // 2) + 2, 2 * (corner % 2) : 2 * (corner % 2) + 2] += 1
        lines.append(" ".join([*(f"{each:.3f}" for each in picture.flatten()), CORNERS[corner]]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def recipe_text() -> str:
    return "\n".join([
        'task = "spots"', "[data]", 'train = ["train.txt"]', 'valid = ["valid.txt"]', "[data.test]", 'own = ["test.txt"]',
        "[training]", 'metric = "accuracy"', "updates = 60", "batch_tokens = 32", "learning_rate = 0.02", "warmup = 5",
        "validate_every = 20", "threads = 1", "",
    ])  # fmt: skip
