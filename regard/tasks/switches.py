"""Meddle with a trained model and look inside: what every model that attends can be told and asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from regard.view.inside import SHOWN_POSITIONS, Inside, Stack, shape_of, states_after
from regard.view.matrices import matrices_of

if TYPE_CHECKING:
    from torch import Tensor

    from regard.attention.record import Record

    Lens = Callable[[Tensor], list[dict[str, Any]]]


class Switchable:
    """What `regard.load` returns, whose attention can be changed."""

    model: Any
    recipe: Any

    def changed(
        self, off: Mapping[str, Sequence[int]] = {}, temperature: float = 1.0, hard: bool = False
    ) -> AbstractContextManager[None]:
        """`with model.changed(off={"layers.0.self_attention": [1]}):` switches heads off, and on again after.

        The names are those of `model.model.attention_names()`, heads count from 0; `temperature` and `hard` are of every
        attention in the model. Only what this thread computes is changed.
        """
        from regard.attention.changes import changed  # late: a model may be at work without torch

        return changed(self.model, off, temperature, hard)

    def heads_off(self) -> dict[str, list[list[int]]]:
        """By kind of attention, the heads of each layer that are switched off in this thread."""
        from regard.attention.changes import change_of

        return {
            kind: [list(change_of(self.model.get_submodule(module)).off) for module in modules]
            for kind, modules in self.model.attention_names().items()
        }

    def inside_size(self, lengths: Sequence[int]) -> int:
        """How many weights and positions are shown of passes over so many tokens each, by a model with one stack of layers."""
        layers = sum(map(len, self.model.attention_names().values()))
        table = self.model.embedding.position_table(1)
        width = 0 if table is None else table.size(-1)
        heads = self.model.heads if layers else 0
        return sum(layers * heads * length**2 + width * max(SHOWN_POSITIONS, length) for length in lengths)

    def inside(self, seen: Record, length: int, end: str, lens: Lens, **shape: str | int) -> Inside:
        """What a pass over so many tokens showed, of a model with one stack of layers at most, after which comes `end`.

        `lens` tells of states [T, D] what would be predicted from them, were they those of the last layer.
        """
        settings, embedding = self.recipe.model, self.model.embedding
        [(kind, names)] = self.model.attention_names().items() or [("", [])]
        positions = embedding.position_table(min(max(SHOWN_POSITIONS, length), self.model.max_positions))
        side = "target" if kind == "decoder" else "source"
        walks = names and settings.architecture == "transformer"  # a plug-in's layers may compute anything
        stacks = [Stack(kind, side, "embedding", "layers", settings.layers, end)] if walks else []
        return Inside(
            shape={**shape_of(settings), "vocabulary": embedding.table.num_embeddings, **shape},
            names=names,
            off=self.heads_off().get(kind, []),
            positions=None if positions is None else positions.detach().cpu().numpy(),
            stacks=stacks,
            record=seen,
            lens=self._lenses(seen, stacks, lens),
            matrices=partial(matrices_of, self.model, stacks),
        )

    def _lenses(self, seen: Record, stacks: Sequence[Stack], lens: Lens) -> list[list[dict[str, Any]]]:
        """What would be predicted after each layer."""
        import torch

        with torch.inference_mode():
            return [lens(self.model.norm(states)) for stack in stacks for states in states_after(seen, stack)]
