"""The folder that an export is: written whole or not at all, and saying itself what it holds."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from regard import __version__, config
from regard.config import recipes
from regard.config.model_file import CHECKSUM
from regard.config.paths import without_paths
from regard.config.stored import BUNDLED_FOLDER, MODEL
from regard.errors import CheckpointError, UsageError, install

if TYPE_CHECKING:  # what was exported before is used without torch
    from regard.models.transformer import Transformer
    from regard.tasks.task import Trained

FORMAT = 1
DESCRIPTION = "regard.json"
CTRANSLATE2 = "ctranslate2"
BLOCK = 1 << 20  # bytes read at a time


def need(*packages: str) -> None:
    """Optional packages, or an error that says how to get them."""
    for name in packages:
        if find_spec(name) is None:
            raise UsageError(f"this needs {name}: {install('export')}")


def refusal(settings: config.Model, engine: str) -> str:
    """Why an engine cannot take a model, or nothing. In a graph of ONNX all can be said; CTranslate2 has layers of its own."""
    if type(settings) is not config.Transformer:  # a plug-in's may derive from it, yet compute otherwise
        return f"takes Transformers; this is a model of the architecture {settings.architecture!r}"
    if engine == CTRANSLATE2:
        lacking = {
            "key_width": (settings.key_width, "layers with heads of width / heads numbers"),
            "value_width": (settings.value_width, "layers with heads of width / heads numbers"),
            "norm": (settings.norm == "none", "layers that normalise"),
            "residual": (not settings.residual, "layers that add what they were given"),
            "feed_forward": (not settings.feed_forward, "layers with a feed-forward"),
        }
        for name, (lacks, wanted) in lacking.items():
            if lacks:
                value = json.dumps(getattr(settings, name))
                return f"takes {wanted}; this model has model.{name} = {value}. The native engine and ONNX can"
    return ""


def transformer_of(trained: Trained, engine: str) -> tuple[Transformer, config.Transformer]:
    """The model and its shape, if an engine can take them."""
    if why := refusal(trained.recipe.model, engine):
        raise UsageError(f"{engine} {why}")
    return cast("Transformer", trained.model), cast("config.Transformer", trained.recipe.model)


def default_folder(file: Path, engine: str) -> Path:
    """Where the export of a model file goes, and is looked for: beside the file; of a bundled one, here."""
    if file.name == MODEL:
        return file.parent / engine
    place = Path() if file.resolve().parent == BUNDLED_FOLDER.resolve() else file.parent
    return place / f"{file.stem}-{engine}"


def fingerprint(file: Path) -> str:
    """Of all in a model file that decides what it writes; scores that are added to its provenance change nothing."""
    total = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > file.stat().st_size:  # which would be asked for in memory
                raise ValueError("its header is cut short")
            header = dict(json.loads(stream.read(length)))
            for name in ("provenance", CHECKSUM):
                header.get("__metadata__", {}).pop(name, None)
            total.update(json.dumps(header, sort_keys=True).encode())
            while block := stream.read(BLOCK):
                total.update(block)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"cannot read {file}: {error}") from None
    return total.hexdigest()


def read_description(folder: Path) -> dict[str, Any] | None:
    """What an export says of itself; None if the folder is none."""
    try:
        found = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "engine" in found else None


def describe(folder: Path, trained: Trained, engine: str, made_from: str, **facts: Any) -> None:
    """Put beside an exported model what is needed to use it: tokenizer if it reads text, recipe and provenance."""
    names = {"joint": "tokenizer.model", "source": "source.model", "target": "target.model"}
    tokenizer = getattr(trained.assets, "tokenizer", None)
    stored = {} if tokenizer is None else tokenizer.to_dict()
    tokens = {names[side]: base64.b64decode(text) for side, text in stored.items()}
    for name, content in tokens.items():
        (folder / name).write_bytes(content)
    settings = recipes.to_dict(without_paths(trained.recipe))
    description = {
        "format": FORMAT,
        "engine": engine,
        "regard": __version__,
        "fingerprint": made_from,
        "sentencepiece": sorted(tokens),
        **facts,
        "recipe": settings,
        "provenance": trained.provenance,
    }
    text = json.dumps(description, ensure_ascii=False, indent=1)
    (folder / DESCRIPTION).write_text(text + "\n", encoding="utf-8")


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Write into the folder that is given; when all went well it takes the place of `folder`.

    Whatever fails or interrupts, an earlier export stays, at the worst under another name, which is said.
    """
    from regard import files  # late: it brings locks, which cost every start some time

    folder = folder.resolve()
    require_ours(folder)
    temporary, old = (folder.with_name(f"{folder.name}.{os.getpid()}.{end}") for end in ("tmp", "old"))
    try:
        temporary.mkdir(parents=True)
        yield temporary
        for file in temporary.iterdir():
            with file.open("r+b") as stream:  # Windows syncs only what may be written
                os.fsync(stream.fileno())
        exchange(temporary, folder, old)
        files.sync_folder(folder.parent)
    except OSError as error:
        raise CheckpointError(f"cannot write {folder}: {error}. What was there before is untouched.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def exchange(new: Path, folder: Path, old: Path) -> None:
    """Put a folder in the place of another, which is at `old` for a moment: none can take the place of a full one."""
    earlier = folder.exists()
    try:
        if earlier:
            folder.rename(old)
        new.rename(folder)
    except BaseException as error:  # also an interruption between the two
        if earlier and not folder.exists():
            try:
                old.rename(folder)
            except OSError:
                raise CheckpointError(
                    f"cannot write {folder}: {error!r}. What was there before is whole, but is now {old}; move it back."
                ) from None
        raise
    if earlier:
        shutil.rmtree(old, ignore_errors=True)


def require_ours(folder: Path) -> None:
    """Only an earlier export is ever replaced."""
    if not folder.exists() or read_description(folder) is not None:
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; an export is a folder: name another by `output`")
    if any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty and not an earlier export; name another folder by `output`")
