"""Every setting: its name, type, default and one sentence. A recipe is a TOML file that states only what differs.

Sections are frozen dataclasses; the sentence below a field is its documentation, in `docs/settings.md` as here.
`load` reads a recipe, applies `--set section.key=value` overrides and reports all mistakes together.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from regard.errors import ConfigError, did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib


@dataclass(frozen=True)
class ParallelText:
    """`[data]` of a translation recipe: which files, which columns, which pairs are left out."""

    source_language: str = "source"
    """Language translated from; a label for people, and for Moses tokens in `evaluate --paper`."""
    target_language: str = "target"
    """Language translated into."""
    train: tuple[str, ...] = ()
    """Training text: one TSV file, or two line-aligned files (source, target). Plain, .gz or .xz."""
    valid: tuple[str, ...] = ()
    """Validation text, in the same form; never trained on."""
    test: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Test sets by name, each in the same form."""
    source_column: int = 1
    """Column of a TSV that holds the source, counted from 1."""
    target_column: int = 2
    """Column of a TSV that holds the target."""
    split_column: int = 0
    """Column of a TSV that names the split (train, valid or the test set's name); 0: every row belongs."""
    folder: str = ""
    """Where relative paths start; empty: `--data`, then REGARD_DATA, then the recipe's own folder."""
    download: Mapping[str, str] = field(default_factory=dict)
    """For a file that is not there: `path = "URL sha256"`, fetched once and checked."""
    max_pieces: int = 200
    """Pairs with a side of more pieces than this are skipped."""
    max_ratio: float = 4.0
    """Pairs whose longer side has over 10 pieces and more than this many times the other's are skipped."""
    prepared: str = "prepared"
    """Folder that keeps tokenizers and ids ready for training."""


@dataclass(frozen=True)
class Tokenizer:
    """`[tokenizer]`: sub-word pieces learned from the training text by SentencePiece."""

    kind: str = "bpe"
    """`bpe` (merges the most frequent pair) or `unigram` (keeps the most probable pieces)."""
    pieces: int = 8_000
    """Size of the vocabulary; of each vocabulary when `joint` is false."""
    joint: bool = True
    """One vocabulary for both languages, so that embeddings can be tied three ways."""
    normalization: str = "nmt_nfkc"
    """Unicode normalisation before splitting: `nmt_nfkc`, `nfkc` or `identity`; `_cf` after the first two folds case."""
    coverage: float = 0.9995
    """Share of characters that get a piece of their own; the rest is spelled in bytes."""
    sample: int = 200_000
    """Lines of each language that the tokenizer learns from; keeps memory bounded on large corpora."""


@dataclass(frozen=True)
class Transformer:
    """`[model]` with `architecture = "transformer"`: the encoder-decoder of Vaswani et al. 2017."""

    architecture: str = "transformer"
    """Which model; each architecture has settings of its own."""
    size: str = "base"
    """`tiny`, `small`, `base` or `big`: a name for width, feed_forward, heads, layers and dropout together."""
    width: int = 512
    """Length of the vector that stands for one piece (the paper's d_model)."""
    feed_forward: int = 2_048
    """Width of the hidden layer between two attentions (d_ff)."""
    heads: int = 8
    """Attention heads; must divide the width."""
    encoder_layers: int = 6
    """Layers that read the source."""
    decoder_layers: int = 6
    """Layers that write the target."""
    dropout: float = 0.1
    """Share of each sub-layer's output and of the embeddings that is dropped in training."""
    attention_dropout: float = 0.0
    """Share of attention weights that is dropped in training."""
    activation_dropout: float = 0.0
    """Share of the feed-forward's hidden layer that is dropped in training."""
    norm: str = "post"
    """`post`: normalise after adding, as in the paper; `pre`: before each sub-layer, easier to train deep or fast."""
    positions: str = "sinusoidal"
    """`sinusoidal` (sine and cosine interleaved) or `learned`."""
    max_positions: int = 1_024
    """Longest sequence the position table holds."""
    tied: bool = True
    """Share one matrix between source embedding, target embedding and output (needs a joint tokenizer)."""


SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "transformer": {
        "tiny": dict(width=128, feed_forward=256, heads=4, encoder_layers=4, decoder_layers=4, dropout=0.3),
        "small": dict(width=256, feed_forward=1_024, heads=4, encoder_layers=3, decoder_layers=3, dropout=0.1),
        "base": dict(width=512, feed_forward=2_048, heads=8, encoder_layers=6, decoder_layers=6, dropout=0.1),
        "big": dict(width=1_024, feed_forward=4_096, heads=16, encoder_layers=6, decoder_layers=6, dropout=0.3),
    }
}


@dataclass(frozen=True)
class Training:
    """`[training]`: the one loop that trains every model."""

    batch_tokens: int = 4_096
    """Target tokens per update, summed over accumulation and all processes."""
    accumulate: int = 1
    """Parts that each process computes one after another before an update; divides the memory needed."""
    updates: int = 10_000
    """Updates in all; schedules end here."""
    learning_rate: float = 7e-4
    """Peak of the schedule, reached at the end of the warm-up."""
    schedule: str = "inverse-sqrt"
    """`inverse-sqrt` as in the paper, `cosine` or `linear` (both down to zero), or `constant`."""
    warmup: int = 4_000
    """Updates over which the learning rate rises from zero."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Adam's decay of the mean and of the squared mean of gradients."""
    epsilon: float = 1e-9
    """Adam's guard against division by zero."""
    weight_decay: float = 0.0
    """AdamW's decay of matrices; vectors (biases, norms) are left alone."""
    clip: float = 0.0
    """Longest gradient; a longer one is scaled down. 0: never."""
    label_smoothing: float = 0.1
    """Share of the target probability spread over all pieces."""
    validate_every: int = 500
    """Updates between validations; each one writes a checkpoint."""
    checkpoint_every: int = 0
    """Updates between further checkpoints, so that a killed run loses little; 0: only with validations."""
    metric: str = "bleu"
    """What decides which weights are best: `bleu` (higher) or `loss` (lower) on the validation text."""
    validate_sentences: int = 1_000
    """Validation sentences that are decoded (greedily) for BLEU; the loss uses all of them."""
    patience: int = 0
    """Validations without a better metric after which training stops; 0: never."""
    average: int = 5
    """Checkpoints whose mean becomes the model; 1: the single best or last."""
    average_of: str = "last"
    """`last` or `best`: which checkpoints are averaged, and kept on disk."""
    seed: int = 1
    """Everything random follows from it."""
    threads: int = 0
    """CPU threads; 0: one per core (shared among processes)."""
    device: str = "auto"
    """`auto`, `cpu` or `cuda`."""
    precision: str = "auto"
    """`auto` (bfloat16 autocast on CUDA, float32 on CPU) or `float32`."""
    compile: bool = False
    """Let torch.compile fuse the model (CUDA)."""
    sharding: str = "none"
    """Under torchrun: `none` (DDP, each process holds the model) or `full` (FSDP2, it is split)."""
    tensorboard: bool = False
    """Also write TensorBoard events into the run folder."""


@dataclass(frozen=True)
class Decoding:
    """`[decoding]`: how sentences are written once the model is trained; every verb can override it."""

    beam: int = 5
    """Hypotheses kept side by side; 1 is greedy."""
    length_penalty: str = "paper"
    """`paper` divides a score by ((5 + length) / 6) ** alpha, `mean` by the length, `none` by nothing."""
    alpha: float = 0.6
    """Strength of the paper's length penalty."""
    max_ratio: float = 2.0
    """Longest output as a multiple of the source's pieces …"""
    max_extra: int = 20
    """… plus this many."""
    no_repeat_ngram: int = 0
    """Never write the same run of this many pieces twice; 0: allowed."""
    batch_tokens: int = 4_096
    """Source tokens decoded together, counting each hypothesis."""


@dataclass(frozen=True)
class Recipe:
    """One experiment. What a model file stores of itself."""

    name: str = "model"
    """Names the run folder: `runs/NAME`."""
    task: str = "translate"
    """What the model does."""
    data: ParallelText = field(default_factory=ParallelText)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    model: Transformer = field(default_factory=Transformer)
    training: Training = field(default_factory=Training)
    decoding: Decoding = field(default_factory=Decoding)


# One row per task and per architecture: the classes that read its sections.
TASKS: dict[str, dict[str, type]] = {
    "translate": {"data": ParallelText, "tokenizer": Tokenizer, "training": Training, "decoding": Decoding}
}
ARCHITECTURES: dict[str, dict[str, type]] = {"translate": {"transformer": Transformer}}

CHOICES: dict[str, tuple[str, ...]] = {
    "tokenizer.kind": ("bpe", "unigram"),
    "tokenizer.normalization": ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"),
    "model.norm": ("post", "pre"),
    "model.positions": ("sinusoidal", "learned"),
    "training.schedule": ("inverse-sqrt", "cosine", "linear", "constant"),
    "training.metric": ("bleu", "loss"),
    "training.average_of": ("last", "best"),
    "training.device": ("auto", "cpu", "cuda"),
    "training.precision": ("auto", "float32"),
    "training.sharding": ("none", "full"),
    "decoding.length_penalty": ("paper", "mean", "none"),
}

AT_LEAST: dict[str, float] = {
    "data.source_column": 1, "data.target_column": 1, "data.split_column": 0, "data.max_pieces": 1, "data.max_ratio": 1,
    "tokenizer.pieces": 1, "tokenizer.sample": 1, "tokenizer.coverage": 0.5,
    "model.width": 2, "model.feed_forward": 1, "model.heads": 1, "model.encoder_layers": 1, "model.decoder_layers": 1,
    "model.dropout": 0, "model.attention_dropout": 0, "model.activation_dropout": 0, "model.max_positions": 2,
    "training.batch_tokens": 1, "training.accumulate": 1, "training.updates": 1, "training.learning_rate": 0,
    "training.warmup": 0, "training.epsilon": 0, "training.weight_decay": 0, "training.clip": 0,
    "training.label_smoothing": 0, "training.validate_every": 1, "training.checkpoint_every": 0,
    "training.validate_sentences": 1, "training.patience": 0, "training.average": 1, "training.threads": 0,
    "training.seed": 0,
    "decoding.beam": 1, "decoding.alpha": 0, "decoding.max_ratio": 0, "decoding.max_extra": 0,
    "decoding.no_repeat_ngram": 0, "decoding.batch_tokens": 1,
}  # fmt: skip
BELOW_ONE = ("model.dropout", "model.attention_dropout", "model.activation_dropout", "training.label_smoothing")


def load(path: str | Path, overrides: Iterable[str] = (), folder: str | Path | None = None) -> Recipe:
    """Read a recipe. `folder` (`--data`, REGARD_DATA) says where its data is; else the recipe's own folder."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        near = sorted(str(other) for other in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        raise ConfigError([f"no recipe at {path}.{did_you_mean(str(path), near)}"]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"cannot read the recipe {path}: {error}"]) from None
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{path} is not valid TOML: {error}"]) from None
    given.setdefault("name", path.stem)
    mistakes = [] if folder is None or Path(folder).is_dir() else [f"no folder {folder} to take data from"]
    mistakes += _override(given, overrides)
    recipe, more = _build(given, Lines(path, text))
    if mistakes + more:
        raise ConfigError(mistakes + more)
    chosen = folder or recipe.data.folder or path.parent
    return replace(recipe, data=replace(recipe.data, folder=str(Path(chosen).resolve())))


def parse(settings: Mapping[str, Any], where: str = "settings") -> Recipe:
    """A recipe from nested dictionaries, such as those stored in a model file."""
    recipe, mistakes = _build(dict(settings), Lines(Path(where), ""))
    if mistakes:
        raise ConfigError(mistakes)
    return recipe


def to_dict(recipe: Recipe) -> dict[str, Any]:
    """Plain nested dictionaries; `parse` reads them back."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(recipe)))
    return plain


def to_toml(recipe: Recipe) -> str:
    """The resolved recipe, every setting stated."""

    def value(item: Any) -> str:
        if isinstance(item, list):
            return "[" + ", ".join(value(each) for each in item) + "]"
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON looks like TOML but for this one

    def table(name: str, content: dict[str, Any]) -> list[str]:
        lines = [f"{key} = {value(item)}" for key, item in content.items() if not isinstance(item, dict)]
        for key, item in content.items():
            if isinstance(item, dict):
                inner = f"{name}.{_key(key)}" if name else _key(key)
                lines += ["", f"[{inner}]", *(f"{_key(k)} = {value(v)}" for k, v in item.items())] if _flat(item) else [
                    "", f"[{inner}]", *table(inner, item)]  # fmt: skip
        return lines

    return "\n".join(table("", to_dict(recipe))) + "\n"


def _key(name: str) -> str:
    return (
        name
        if re.fullmatch(r"[A-Za-z0-9_-]+", name)
        else json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    )


def _flat(content: Mapping[str, Any]) -> bool:
    return not any(isinstance(item, dict) for item in content.values())


@dataclass(frozen=True)
class Lines:
    """Finds the line of a setting, because the TOML parser of the standard library does not keep it."""

    path: Path
    text: str

    def of(self, section: str, key: str) -> str:
        current = ""
        for number, line in enumerate(self.text.splitlines(), start=1):
            if header := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
                current = header[1]
                if current == f"{section}.{key}" or (not section and current == key):
                    return f" ({self.path}, line {number})"
            elif re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line) and current == section:
                return f" ({self.path}, line {number})"
        return f" ({self.path})" if self.text else ""


def _override(given: dict[str, Any], overrides: Iterable[str]) -> list[str]:
    """Write `section.key=value` into `given`; values are TOML, and bare words are strings."""
    mistakes = []
    for override in overrides:
        name, equals, raw = override.partition("=")
        parts = name.strip().split(".")
        if not equals or not all(parts):
            mistakes.append(f"cannot read --set {override!r}: write section.key=value, such as model.heads=4")
            continue
        try:
            value = tomllib.loads(f"value = {raw}")["value"]
        except tomllib.TOMLDecodeError:
            value = raw.strip()
        target = given
        for part in parts[:-1]:
            inner = target.setdefault(part, {})
            if not isinstance(inner, dict):
                mistakes.append(f"--set {override}: '{part}' is not a section")
                break
            target = inner
        else:
            target[parts[-1]] = value
    return mistakes


def _build(given: dict[str, Any], lines: Lines) -> tuple[Recipe, list[str]]:
    mistakes: list[str] = []
    task = given.get("task", "translate")
    if not isinstance(task, str) or task not in TASKS:
        hint = did_you_mean(str(task), TASKS)
        return Recipe(), [f"unknown task {task!r}{lines.of('', 'task')}.{hint} Known: {', '.join(TASKS)}"]
    model = given.get("model", {})
    name = (model if isinstance(model, dict) else {}).get("architecture", next(iter(ARCHITECTURES[task])))
    if not isinstance(name, str) or name not in ARCHITECTURES[task]:
        known = ARCHITECTURES[task]
        where = lines.of("model", "architecture")
        mistakes.append(
            f"unknown architecture {name!r}{where}.{did_you_mean(str(name), known)} Known: {', '.join(known)}"
        )
        name = next(iter(known))
    classes = {**TASKS[task], "model": ARCHITECTURES[task][name]}
    sections: dict[str, Any] = {}
    for key, value in given.items():
        if key in classes and isinstance(value, dict):
            continue
        if key in classes:
            mistakes.append(f"'{key}' must be a section [{key}]{lines.of('', key)}")
        elif key not in ("name", "task"):
            hint = did_you_mean(key, [*classes, "name", "task"])
            mistakes.append(f"unknown setting '{key}'{lines.of('', key)}.{hint}")
    for section, kind in classes.items():
        content = given.get(section, {})
        content = dict(content) if isinstance(content, dict) else {}
        if section == "model":
            content = _apply_size(content, name, lines, mistakes)
        sections[section] = _read_section(section, kind, content, lines, mistakes)
    recipe = Recipe(name=str(given.get("name", "model")), task=task, **sections)
    if not mistakes:
        mistakes = _impossible(recipe)
    return recipe, mistakes


def _apply_size(content: dict[str, Any], architecture: str, lines: Lines, mistakes: list[str]) -> dict[str, Any]:
    sizes = SIZES.get(architecture, {})
    size = content.get("size", "base")
    if sizes and (not isinstance(size, str) or size not in sizes):
        where = lines.of("model", "size")
        mistakes.append(f"model.size must be one of {', '.join(sizes)}, not {size!r}{where}")
        return content
    return {**sizes.get(size, {}), **content}


def _read_section(section: str, kind: type, content: dict[str, Any], lines: Lines, mistakes: list[str]) -> Any:
    hints = get_type_hints(kind)
    values = {}
    for key, value in content.items():
        name, where = f"{section}.{key}", lines.of(section, key)
        if key not in hints:
            mistakes.append(f"unknown setting '{name}'{where}.{did_you_mean(name, [f'{section}.{k}' for k in hints])}")
            continue
        try:
            values[key] = _convert(value, hints[key])
        except TypeError as error:
            mistakes.append(f"{name} must be {error}, not {value!r}{where}")
            continue
        if name in CHOICES and values[key] not in CHOICES[name]:
            hint = did_you_mean(str(value), CHOICES[name])
            mistakes.append(f"{name} must be one of {', '.join(CHOICES[name])}, not {value!r}{where}.{hint}")
        if name in AT_LEAST and values[key] < AT_LEAST[name]:
            mistakes.append(f"{name} must be at least {AT_LEAST[name]}, not {value!r}{where}")
        if name in BELOW_ONE and values[key] >= 1:
            mistakes.append(f"{name} must be below 1, not {value!r}{where}")
    return kind(**values)


def _convert(value: Any, wanted: Any) -> Any:
    """The value in the wanted type, or TypeError with the name of what was wanted."""
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        return value if value is None else _convert(value, get_args(wanted)[0])
    if origin is tuple:
        inner = get_args(wanted)
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or (inner[-1] is not ... and len(items) != len(inner)):
            raise TypeError("a list" if inner[-1] is ... else f"a list of {len(inner)} values")
        return tuple(_convert(item, inner[0]) for item in items)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError("a table")
        return {str(key): _convert(item, get_args(wanted)[1]) for key, item in value.items()}
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        names = {int: "a whole number", float: "a number", str: "a text in quotes", bool: "true or false"}
        raise TypeError(names[wanted])
    return value


def _impossible(recipe: Recipe) -> list[str]:
    """Combinations that are each valid alone."""
    mistakes = []
    model, data = recipe.model, recipe.data
    if model.width % model.heads:
        fitting = [heads for heads in range(1, model.width + 1) if model.width % heads == 0]
        near = min(fitting, key=lambda heads: abs(heads - model.heads))
        mistakes.append(f"model.heads = {model.heads} does not divide model.width = {model.width}; {near} would")
    if model.tied and not recipe.tokenizer.joint:
        mistakes.append("model.tied = true needs tokenizer.joint = true: one matrix cannot serve two vocabularies")
    if model.positions == "sinusoidal" and model.width % 2:
        mistakes.append(f"model.width = {model.width} must be even for sinusoidal positions (sine and cosine pairs)")
    if data.max_pieces + 1 > model.max_positions:
        mistakes.append(
            f"data.max_pieces = {data.max_pieces} needs model.max_positions of at least {data.max_pieces + 1}"
        )
    for name, files in {"train": data.train, "valid": data.valid, **data.test}.items():
        if len(files) > 2:
            mistakes.append(f"data.{name} names {len(files)} files; give one TSV, or a source and a target file")
    if recipe.training.batch_tokens < recipe.training.accumulate:
        mistakes.append("training.accumulate cannot exceed training.batch_tokens")
    return mistakes


def documentation(kind: type) -> dict[str, str]:
    """The sentence below each field of a section, read from the source so that it exists only once."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    sentences = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                sentences[statement.target.id] = str(following.value.value)
    return sentences


def settings_table() -> str:
    """All settings as Markdown: the text of docs/settings.md."""
    parts = []
    sections = {**TASKS["translate"], "model": Transformer}
    for section in ("data", "tokenizer", "model", "training", "decoding"):
        kind = sections[section]
        assert is_dataclass(kind)
        sentences, default = documentation(kind), kind()
        rows = []
        for each in fields(kind):
            shown = getattr(default, each.name)
            shown = f"`{json.dumps(list(shown) if isinstance(shown, tuple) else shown)}`"
            rows.append(f"| `{each.name}` | {shown} | {sentences[each.name]} |")
        title = (kind.__doc__ or "").strip().replace("|", "\\|")
        parts.append(f"## [{section}]\n\n{title}\n\n| setting | default | meaning |\n|---|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"
