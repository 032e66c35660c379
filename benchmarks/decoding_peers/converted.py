"""The model as peers without regard read it: its settings, and its weights under their names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float32]]
EMBEDDING = "source_embedding.table.weight"


@dataclass(frozen=True)
class Converted:
    """A Transformer of regard with sinusoidal positions and one embedding for source, target and output."""

    settings: dict[str, Any]
    special: dict[str, int]
    positions: Array  # [T, D]
    weights: dict[str, Array]

    @property
    def embedding(self) -> Array:
        return self.weights[EMBEDDING]  # [V, D]

    def save(self, folder: Path) -> None:
        (folder / "settings.json").write_text(json.dumps({"settings": self.settings, "special": self.special}))
        arrays: dict[str, Any] = {"positions": self.positions, **self.weights}
        np.savez(folder / "weights.npz", **arrays)

    @classmethod
    def load(cls, folder: Path) -> Converted:
        with np.load(folder / "weights.npz") as stored:
            weights = dict(stored)
        return cls(
            **json.loads((folder / "settings.json").read_text()), positions=weights.pop("positions"), weights=weights
        )

    def layers(self, modules: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Iterator[tuple[str, Array]]:
        """The weights of all layers as `encoder.layers.0.…`, each module under the name that a peer has for it.

        Of a matrix that makes queries, keys and values at once, a peer names the parts.
        """
        for name, array in self.weights.items():
            if name == EMBEDDING:
                continue
            stack, layer, rest = name.split(".", 2)
            module, kind = rest.rsplit(".", 1)
            theirs = modules[stack][module]
            for each, part in zip(theirs, np.split(array, len(theirs)), strict=True):
                yield f"{stack}.layers.{layer}.{each}.{kind}", part
