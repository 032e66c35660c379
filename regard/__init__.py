"""regard trains attention models from your own data, lets you see through them, and puts them to work."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.attention.scaled_dot import attend
    from regard.data.corpus import read_lines
    from regard.data.prepare import Prepared
    from regard.documentation import docs
    from regard.dry_runs import DryRun, dry_run
    from regard.evaluation.compare import Comparison
    from regard.experiments.ablation.ablate import Ablated, ablate
    from regard.experiments.bench.bench import Bench, bench
    from regard.experiments.bench.context import bench_context
    from regard.experiments.bench.gradients import bench_gradients
    from regard.experiments.bench.panel import Measured
    from regard.experiments.bench.parameters import bench_parameters
    from regard.experiments.bench.placing import bench_positions
    from regard.experiments.bench.scaling import bench_scaling
    from regard.experiments.bench.smoothing import bench_smoothing
    from regard.experiments.quickstart import Quickstart, quickstart
    from regard.experiments.race.racing import Race, race
    from regard.learn.course import Course, learn
    from regard.runs import Run, train
    from regard.serve.start import serve
    from regard.tasks.classification.classifier import Classification, Classifier
    from regard.tasks.classification.page import Explanation
    from regard.tasks.embedding import Embeddings, Neighbourhood, embed, neighbours
    from regard.tasks.exporting import Exported, export
    from regard.tasks.head_patterns import head_patterns
    from regard.tasks.head_patterns_page import HeadPattern, HeadPatterns
    from regard.tasks.heads import heads
    from regard.tasks.heads_page import HeadImportance
    from regard.tasks.image_classification.page import PictureExplanation
    from regard.tasks.image_classification.recognizer import Recognition, Recognizer
    from regard.tasks.language_model.generator import TextGenerator
    from regard.tasks.language_model.page import TextAttention
    from regard.tasks.language_model.results import Generation, TextScore
    from regard.tasks.neighbours import Neighbours
    from regard.tasks.registry import prepare, register_architecture
    from regard.tasks.task import Result
    from regard.tasks.text_to_image.painter import Painter, Painting, save_paintings
    from regard.tasks.translation.alignment.align import Alignment
    from regard.tasks.translation.alignment.aligning import Alignments, align
    from regard.tasks.translation.attention import Attention
    from regard.tasks.translation.comparison import Comparisons, compare
    from regard.tasks.translation.results import PairScore, Translation
    from regard.tasks.translation.translator import Translator
    from regard.tasks.vectors import Embedded
    from regard.tasks.verbs import Evaluation, evaluate, load, score, view
    from regard.view.curve import Curves, curve
    from regard.view.playground import Playground, playground

__all__ = [
    "Ablated",
    "Alignment",
    "Alignments",
    "Attention",
    "Bench",
    "Classification",
    "Classifier",
    "Comparison",
    "Comparisons",
    "Course",
    "Curves",
    "DryRun",
    "Embedded",
    "Embeddings",
    "Evaluation",
    "Explanation",
    "Exported",
    "Generation",
    "HeadImportance",
    "HeadPattern",
    "HeadPatterns",
    "Measured",
    "Neighbourhood",
    "Neighbours",
    "Painter",
    "Painting",
    "PairScore",
    "PictureExplanation",
    "Playground",
    "Prepared",
    "Quickstart",
    "Race",
    "Recognition",
    "Recognizer",
    "RegardError",
    "Result",
    "Run",
    "TextAttention",
    "TextGenerator",
    "TextScore",
    "Translation",
    "Translator",
    "ablate",
    "align",
    "attend",
    "bench",
    "bench_context",
    "bench_gradients",
    "bench_parameters",
    "bench_positions",
    "bench_scaling",
    "bench_smoothing",
    "compare",
    "curve",
    "docs",
    "dry_run",
    "embed",
    "evaluate",
    "export",
    "head_patterns",
    "heads",
    "learn",
    "load",
    "neighbours",
    "playground",
    "prepare",
    "quickstart",
    "race",
    "read_lines",
    "register_architecture",
    "save_paintings",
    "score",
    "serve",
    "train",
    "view",
]
__version__ = "0.1.0"

# Where each public name is, so that importing regard does not cost importing torch.
_PLACES = {
    "attention.scaled_dot": ("attend",),
    "data.corpus": ("read_lines",),
    "data.prepare": ("Prepared",),
    "evaluation.compare": ("Comparison",),
    "experiments.ablation.ablate": ("Ablated", "ablate"),
    "experiments.bench.bench": ("Bench", "bench"),
    "experiments.bench.context": ("bench_context",),
    "experiments.bench.gradients": ("bench_gradients",),
    "experiments.bench.panel": ("Measured",),
    "experiments.bench.parameters": ("bench_parameters",),
    "experiments.bench.placing": ("bench_positions",),
    "experiments.bench.scaling": ("bench_scaling",),
    "experiments.bench.smoothing": ("bench_smoothing",),
    "experiments.quickstart": ("Quickstart", "quickstart"),
    "experiments.race.racing": ("Race", "race"),
    "documentation": ("docs",),
    "dry_runs": ("DryRun", "dry_run"),
    "learn.course": ("Course", "learn"),
    "serve.start": ("serve",),
    "tasks.classification.classifier": ("Classification", "Classifier"),
    "tasks.classification.page": ("Explanation",),
    "tasks.embedding": ("Embeddings", "Neighbourhood", "embed", "neighbours"),
    "tasks.exporting": ("Exported", "export"),
    "tasks.image_classification.page": ("PictureExplanation",),
    "tasks.image_classification.recognizer": ("Recognition", "Recognizer"),
    "tasks.language_model.generator": ("TextGenerator",),
    "tasks.language_model.page": ("TextAttention",),
    "tasks.language_model.results": ("Generation", "TextScore"),
    "tasks.neighbours": ("Neighbours",),
    "tasks.vectors": ("Embedded",),
    "runs": ("Run", "train"),
    "tasks.registry": ("prepare", "register_architecture"),
    "tasks.task": ("Result",),
    "tasks.text_to_image.painter": ("Painter", "Painting", "save_paintings"),
    "tasks.translation.alignment.align": ("Alignment",),
    "tasks.translation.alignment.aligning": ("Alignments", "align"),
    "tasks.translation.attention": ("Attention",),
    "tasks.translation.comparison": ("Comparisons", "compare"),
    "tasks.head_patterns": ("head_patterns",),
    "tasks.head_patterns_page": ("HeadPattern", "HeadPatterns"),
    "tasks.heads": ("heads",),
    "tasks.heads_page": ("HeadImportance",),
    "tasks.translation.results": ("PairScore", "Translation"),
    "tasks.translation.translator": ("Translator",),
    "tasks.verbs": ("Evaluation", "evaluate", "load", "score", "view"),
    "view.curve": ("Curves", "curve"),
    "view.playground": ("Playground", "playground"),
}
_PLACE = {name: place for place, names in _PLACES.items() for name in names}
_STAGES = ("export", "learn", "serve", "view")
"""Verbs that share their name with a stage: `regard.view` is the package, and is called like the function."""


def _find(name: str) -> Any:
    return getattr(import_module(f"regard.{_PLACE[name]}"), name)


def __getattr__(name: str) -> Any:
    """A public name, imported when first asked for."""
    if name in _STAGES:
        return import_module(f"regard.{name}")
    if name in _PLACE:
        return _find(name)
    raise AttributeError(f"module 'regard' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Stage(ModuleType):
    def __call__(self, *given: Any, **options: Any) -> Any:
        return self.__wrapped__(*given, **options)

    @property
    def __wrapped__(self) -> Any:  # whose signature this has
        return _find(self.__name__.rpartition(".")[2])


class _Package(ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        """Importing a stage binds it here, whoever does it, and would hide the verb of its name."""
        if name in _STAGES and isinstance(value, ModuleType):
            value.__class__ = _Stage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
