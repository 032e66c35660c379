"""What a model file says besides its tensors, read without torch, and whether it is as it was written."""

from __future__ import annotations

import difflib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.config import recipes
from regard.config.aliases import drop_unheeded
from regard.config.paths import without_paths
from regard.config.stored import MODEL, read_content
from regard.config.tasks import names
from regard.errors import CheckpointError, ConfigError, UsageError

FORMAT = 2
CHECKSUM = "checksum"
FORMAT_1_PROVENANCE = {"source_pieces": "source_tokens", "training_pairs": "training_examples"}
"""What provenance called things in format 1, and calls them now."""

NUMBERS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
           "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool"}  # fmt: skip
"""What safetensors and torch call the same kind."""


@dataclass(frozen=True)
class Stored:
    """What a model file says besides its tensors."""

    path: Path
    format: int
    recipe: Any
    """Of the class that its task's settings name."""
    assets: dict[str, Any]
    provenance: dict[str, Any]


def read_stored(path: Path, metadata: Mapping[str, str]) -> Stored:
    """What the metadata of a model file says, whose architecture must be known here."""
    version, parts = _parts(path, metadata)
    _require_architecture(path, parts["recipe"])
    try:
        recipe = without_paths(recipes.parse(parts["recipe"]))
    except (ConfigError, UsageError) as error:
        raise unusable(path, parts["provenance"], error) from None
    return Stored(path, version, recipe, parts["assets"], parts["provenance"])


def read_whole(path: Path) -> Stored | None:
    """The same of a file, whose tensors are compared with its checksum byte by byte; None if anything is wrong with it:
    checkpoint.py says what."""
    from safetensors import SafetensorError, safe_open  # late, as below

    try:
        with safe_open(path, framework="np") as file:  # which sees whether it is whole
            metadata = dict(file.metadata() or {})
        stored = stored_checksum(metadata)
        if stored is not None and stored != _checksum(path, metadata):
            return None
        return read_stored(path, metadata)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, RecursionError):  # also the package's own errors
        return None


def _checksum(path: Path, metadata: Mapping[str, str]) -> str:
    """What checkpoint.py computes of tensors, of the bytes that hold them."""
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
        header.pop("__metadata__", None)
        found = checksum_of_words(metadata)
        for name, about in sorted(header.items()):
            begin, end = about["data_offsets"]
            stream.seek(8 + length + begin)
            found = zlib.crc32(words_of_tensor(name, NUMBERS[about["dtype"]], about["shape"]), found)
            found = zlib.crc32(stream.read(end - begin), found)
    return f"crc32:{found:08x}"


def checksum_of_words(metadata: Mapping[str, str]) -> int:
    """CRC-32 of what the metadata says, but for the checksum itself."""
    return zlib.crc32(json.dumps(sorted((name, text) for name, text in metadata.items() if name != CHECKSUM)).encode())


def words_of_tensor(name: str, kind: str, shape: list[int]) -> bytes:
    """What of a tensor is counted besides its numbers."""
    return f"{name} torch.{kind} {shape}".encode("utf-8", "surrogatepass")


def stored_checksum(metadata: dict[str, str]) -> str | None:
    """Taken out of the metadata; None of a file from before there were any. A bit that flipped in the checksum's own name
    must not make the file look like one of those."""
    return metadata.pop(CHECKSUM, None) or ("" if difflib.get_close_matches(CHECKSUM, metadata) else None)


def _parts(path: Path, metadata: Mapping[str, str]) -> tuple[int, dict[str, dict[str, Any]]]:
    """The format's number, and by name the tables that the metadata holds; of format 1 in today's shape."""
    try:
        if not re.fullmatch("[0-9]{1,9}", metadata["format"]):
            raise ValueError("not a number")
        version = int(metadata["format"])
        if not 1 <= version <= FORMAT:
            raise CheckpointError(f"{path} has format {version}; this regard reads 1 to {FORMAT}. Upgrade regard.")
        if version == 1:
            tables = ("recipe", "tokenizer", "provenance", "facts")
            parts = {name: read_content(path, {"facts": "{}", **metadata}, name) for name in tables}
            parts["assets"] = {"tokenizer": parts.pop("tokenizer"), **parts.pop("facts")}
            drop_unheeded(parts["recipe"])
            told = parts["provenance"].items()
            parts["provenance"] = {FORMAT_1_PROVENANCE.get(name, name): value for name, value in told}
        else:
            parts = {name: read_content(path, metadata, name) for name in ("recipe", "assets", "provenance")}
        if not all(isinstance(part, dict) for part in parts.values()):
            raise ValueError("not a table")
    except CheckpointError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise CheckpointError(
            f"{path} is a safetensors file, but not a model of regard; name a run folder or its {MODEL}"
        ) from None
    return version, parts


def _require_architecture(path: Path, recipe: Mapping[str, Any]) -> None:
    """A model file names no code: of an architecture that is not known here, a person must say where it is."""
    task, model = names().get(str(recipe.get("task"))), recipe.get("model")
    wanted = model.get("architecture") if isinstance(model, dict) else None
    if task is not None and isinstance(wanted, str) and wanted not in task.architectures:
        raise CheckpointError(
            f"{path}: the architecture {wanted!r} is of a plug-in: load it with --plugin FILE, or import it in Python"
        )


def unusable(path: Path, provenance: Mapping[str, Any], error: Exception) -> CheckpointError:
    """What to say of a file whose content is readable, but wrong."""
    from regard import __version__

    versions = provenance.get("versions")
    writer = versions.get("regard") if isinstance(versions, dict) else None
    return CheckpointError(
        f"{path} cannot be used: {error}\nIt was written by regard {writer or 'an unknown version'}; this is {__version__}."
    )
