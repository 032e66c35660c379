"""Every setting: its name, type, default and one sentence. A recipe is a TOML file that states only what differs.

Sections are frozen dataclasses; the sentence below a field is its documentation, in `docs/settings.md` as here.
`load` reads a recipe, applies `--set section.key=value` overrides and reports all mistakes together.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

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
    """Where relative paths start, itself relative to the recipe's folder; `--data` or REGARD_DATA wins over it."""
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
    """Names the run folder, `runs/NAME`; the recipe's file name unless stated."""
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

# Numbers are at least 0, or what is said here.
AT_LEAST: dict[str, float] = {
    "data.source_column": 1, "data.target_column": 1, "data.max_pieces": 1, "data.max_ratio": 1,
    "tokenizer.pieces": 260, "tokenizer.sample": 1, "tokenizer.coverage": 0.5,  # 4 special pieces and 256 bytes
    "model.width": 2, "model.feed_forward": 1, "model.heads": 1, "model.encoder_layers": 1, "model.decoder_layers": 1,
    "model.max_positions": 2, "training.batch_tokens": 1, "training.accumulate": 1, "training.updates": 1,
    "training.validate_every": 1, "training.validate_sentences": 1, "training.average": 1,
    "decoding.beam": 1, "decoding.batch_tokens": 1,
}  # fmt: skip
AT_MOST: dict[str, float] = {"tokenizer.coverage": 1, "training.seed": 2**63 - 1}
BELOW_ONE = (
    "model.dropout", "model.attention_dropout", "model.activation_dropout", "training.label_smoothing", "training.betas",
)  # fmt: skip


def load(path: str | Path, overrides: Iterable[str] = (), folder: str | Path | None = None) -> Recipe:
    """Read a recipe. `folder` (`--data`, REGARD_DATA) says where its data is; else `data.folder`, else its own folder."""
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
    overrides = tuple(overrides)
    mistakes += _override(given, overrides)
    recipe, more = _build(given, Origin(path, text, overrides))
    if mistakes + more:
        raise ConfigError(mistakes + more)
    chosen = folder or path.parent / recipe.data.folder
    return replace(recipe, data=replace(recipe.data, folder=str(Path(chosen).resolve())))


def parse(settings: Mapping[str, Any], where: str = "settings") -> Recipe:
    """A recipe from nested dictionaries, such as those stored in a model file."""
    recipe, mistakes = _build(dict(settings), Origin(Path(where)))
    if mistakes:
        raise ConfigError(mistakes)
    return recipe


def require_data(recipe: Recipe) -> None:
    """Refuse to train without text; a recipe that is only stored or decoded with needs none."""
    missing = [name for name in ("train", "valid") if not getattr(recipe.data, name)]
    if missing:
        form = "name one TSV, or a source and a target file"
        raise ConfigError(f'data.{name} is not set; {form}: {name} = ["FILE"]' for name in missing)


def to_dict(recipe: Recipe) -> dict[str, Any]:
    """Plain nested dictionaries; `parse` reads them back."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(recipe)))
    return plain


def to_toml(recipe: Recipe) -> str:
    """The resolved recipe, every setting stated."""

    def table(name: str, content: dict[str, Any]) -> list[str]:
        lines = [f"{_key(key)} = {_value(item)}" for key, item in content.items() if not isinstance(item, dict)]
        for key, item in content.items():
            if isinstance(item, dict):
                inner = f"{name}.{_key(key)}" if name else _key(key)
                lines += ["", f"[{inner}]", *table(inner, item)]
        return lines

    return "\n".join(table("", to_dict(recipe))) + "\n"


def _value(item: Any) -> str:
    """TOML of a plain value or a list of them: JSON, but for one character that TOML wants escaped."""
    return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


@dataclass(frozen=True)
class Origin:
    """Says where a setting was given: by which `--set`, or in which line, which the TOML parser does not keep."""

    path: Path
    text: str = ""
    overrides: tuple[str, ...] = ()

    def of(self, wanted: str) -> str:
        """` (recipe.toml, line 7)` for `model.heads`, and for `data.test` also where only `data.test.news` stands."""
        for override in reversed(self.overrides):
            if f"{override.partition('=')[0].strip()}.".startswith(f"{wanted}."):
                return f" (--set {override})"
        section = ""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if found := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
                section = name = found[1]
            elif found := re.match(r"\s*([\w.\"'-]+)\s*=", line):
                name = f"{section}.{found[1]}" if section else found[1]
            else:
                continue
            if (re.sub("[\"']", "", name) + ".").startswith(f"{wanted}."):
                return f" ({self.path}, line {number})"
        return f" ({self.path})"


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


def _build(given: dict[str, Any], origin: Origin) -> tuple[Recipe, list[str]]:
    task = given.get("task", "translate")
    if not isinstance(task, str) or task not in TASKS:
        hint = did_you_mean(str(task), TASKS)
        return Recipe(), [f"unknown task {task!r}{origin.of('task')}.{hint} Known: {', '.join(TASKS)}"]
    mistakes: list[str] = []
    name = given.get("name", "model")
    if not _plain(name):
        mistakes.append(f"name must be a text in quotes that can name a folder, not {name!r}{origin.of('name')}")
    model = given.get("model", {})
    model, architecture = _shape(dict(model) if isinstance(model, dict) else {}, task, origin, mistakes)
    classes = {**TASKS[task], "model": ARCHITECTURES[task][architecture]}
    for key, value in given.items():
        if key in classes and not isinstance(value, dict):
            mistakes.append(f"'{key}' must be a section [{key}]{origin.of(key)}")
        elif key not in (*classes, "name", "task"):
            hint = did_you_mean(key, [*classes, "name", "task"])
            mistakes.append(f"unknown setting '{key}'{origin.of(key)}.{hint}")
    sections: dict[str, Any] = {}
    for section, kind in classes.items():
        content = model if section == "model" else given.get(section, {})
        sections[section] = _read_section(section, kind, content if isinstance(content, dict) else {}, origin, mistakes)
    recipe = Recipe(name=str(name), task=task, **sections)
    return recipe, mistakes or _impossible(recipe)


def _shape(model: dict[str, Any], task: str, origin: Origin, mistakes: list[str]) -> tuple[dict[str, Any], str]:
    """`[model]` with the numbers that its size stands for, and its architecture; what is wrong is left out of it."""
    known = ARCHITECTURES[task]
    name = model.get("architecture", next(iter(known)))
    if not isinstance(name, str) or name not in known:
        where, hint = origin.of("model.architecture"), did_you_mean(str(name), known)
        mistakes.append(f"unknown architecture {name!r}{where}.{hint} Known: {', '.join(known)}")
        name = next(iter(known))
        del model["architecture"]
    sizes = SIZES.get(name, {})
    size = model.get("size", "base")
    if sizes and (not isinstance(size, str) or size not in sizes):
        mistakes.append(f"model.size must be one of {', '.join(sizes)}, not {size!r}{origin.of('model.size')}")
        return {key: value for key, value in model.items() if key != "size"}, name
    return {**sizes.get(size, {}), **model}, name


def _plain(name: object) -> bool:
    """Whether a name can be that of a file or folder, and of nothing elsewhere."""
    return isinstance(name, str) and name not in ("", ".", "..") and not re.search(r"[/\\\0]", name)


def _read_section(section: str, kind: type, content: dict[str, Any], origin: Origin, mistakes: list[str]) -> Any:
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in content.items():
        name = f"{section}.{key}"
        where = origin.of(name)
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
        for number in values[key] if isinstance(values[key], tuple) else (values[key],):
            if limit := isinstance(number, (int, float)) and _limit(name, number):
                mistakes.append(f"{name} must be {limit}, not {value!r}{where}")
                break
    return kind(**values)


def _limit(name: str, number: float) -> str:
    """The limit that a number breaks, or nothing."""
    if number < AT_LEAST.get(name, 0):
        return f"at least {AT_LEAST.get(name, 0)}"
    if number > AT_MOST.get(name, number):
        return f"at most {AT_MOST[name]}"
    return "below 1" if name in BELOW_ONE and number >= 1 else ""


def _convert(value: Any, wanted: Any) -> Any:
    """The value in the wanted type, or TypeError with the name of what was wanted."""
    origin = get_origin(wanted)
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
    if wanted is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if not abs(value) <= sys.float_info.max:  # inf, nan, or a whole number beyond every float
            raise TypeError("a finite number")
        return float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        names = {int: "a whole number", float: "a number", str: "a text in quotes", bool: "true or false"}
        raise TypeError(names[wanted])
    return value


def _impossible(recipe: Recipe) -> list[str]:
    """Combinations that are each valid alone."""
    model, data = recipe.model, recipe.data
    mistakes = _impossible_files(data)
    if model.width % model.heads:
        fitting = [heads for heads in range(1, model.width + 1) if model.width % heads == 0]
        near = min(fitting, key=lambda heads: abs(heads - model.heads))
        mistakes.append(f"model.heads = {model.heads} does not divide model.width = {model.width}; {near} would")
    if model.tied and not recipe.tokenizer.joint:
        mistakes.append("model.tied = true needs tokenizer.joint = true: one matrix cannot serve two vocabularies")
    if model.positions == "sinusoidal" and model.width % 2:
        mistakes.append(f"model.width = {model.width} must be even for sinusoidal positions (sine and cosine pairs)")
    if data.max_pieces + 1 > model.max_positions:
        needed = data.max_pieces + 1
        mistakes.append(f"data.max_pieces = {data.max_pieces} needs model.max_positions of at least {needed}")
    if recipe.training.batch_tokens < recipe.training.accumulate:
        mistakes.append("training.accumulate cannot exceed training.batch_tokens")
    return mistakes


def _impossible_files(data: ParallelText) -> list[str]:
    tests = {f"data.test.{name}": files for name, files in data.test.items()}
    splits = {"data.train": data.train, "data.valid": data.valid, **tests}
    mistakes = [f"data.test.{name}: {name!r} cannot name a file" for name in data.test if not _plain(name)]
    for name, files in splits.items():
        if len(files) > 2 or (name in tests and not files):
            mistakes.append(f"{name} names {len(files)} files; give one TSV, or a source and a target file")
    names = ("source_column", "target_column", "split_column")[: 3 if data.split_column else 2]
    if len({getattr(data, name) for name in names}) < len(names) and any(len(files) == 1 for files in splits.values()):
        stated = ", ".join(f"data.{name} = {getattr(data, name)}" for name in names)
        mistakes.append(f"{stated}: these must be different columns of a TSV")
    return mistakes
