"""How the tokens of a batch lie in memory: in rows filled up with padding, or packed side by side without any.

Everything but attention treats tokens one by one, so in training it touches real ones only. Attention needs rows: it
asks the layout to split projected tokens into heads, one row per sentence, and to merge them back.

S sentences · L positions of the longest · N real tokens of all · H heads · E width of one head
P projections side by side (of query, key and value)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.attention.masks import PAD


class Padded:
    """Tokens in rows [S, L, D], filled up with padding."""

    def pack(self, ids: Tensor) -> Tensor:
        return ids  # [S, L]

    def positions(self, ids: Tensor) -> Tensor:
        return torch.arange(ids.size(1), device=ids.device)  # [L]

    def only_real(self, x: Tensor, ids: Tensor) -> Tensor:
        return x[ids != PAD]  # [S, L, D] → [N, D]

    def split(self, x: Tensor, projections: int, heads: int) -> tuple[Tensor, ...]:
        """x [S, L, P × H × E] → P × [S, H, L, E]."""
        sentences, length, _ = x.shape
        x = x.view(sentences, length, projections, heads, x.size(2) // (projections * heads))  # [S, L, P, H, E]
        return x.permute(2, 0, 3, 1, 4).unbind(0)  #        P × [S, H, L, E]

    def merge(self, mixed: Tensor) -> Tensor:
        """mixed [S, H, L, E] → [S, L, H × E]."""
        return mixed.transpose(1, 2).flatten(2)


PADDED = Padded()


class Packed:
    """Real tokens side by side [N, D]; `real` [S, L] tells where they stood."""

    def __init__(self, real: Tensor) -> None:
        self.real = real
        self._sentence, self._position = real.nonzero(as_tuple=True)  # [N] each: whose token, and where in it
        self._token = torch.zeros(real.shape, dtype=torch.long, device=real.device)
        self._token[real] = torch.arange(self._position.numel(), device=real.device)  # padding shows the first token
        self._plans: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def pack(self, ids: Tensor) -> Tensor:
        return ids[self.real]  # [S, L] → [N]

    def positions(self, ids: Tensor) -> Tensor:
        return self._position  # [N]

    def only_real(self, x: Tensor, ids: Tensor) -> Tensor:
        return x  # [N, D]

    def split(self, x: Tensor, projections: int, heads: int) -> tuple[Tensor, ...]:
        """x [N, P × H × E] → P × [S, H, L, E]."""
        length, width = self.real.size(1), x.size(1) // (projections * heads)
        spread: tuple[Tensor, ...] = _Split.apply(x.view(-1, width), *self._plan(projections, heads), projections)  # type: ignore[no-untyped-call]
        return tuple(projection.view(-1, heads, length, width) for projection in spread)

    def merge(self, mixed: Tensor) -> Tensor:
        """mixed [S, H, L, E] → [N, H × E]."""
        heads, width = mixed.size(1), mixed.size(3)
        real = self.real[:, None, :].expand(-1, heads, -1).reshape(-1, 1).to(mixed.dtype)  # [S × H × L, 1]
        merged: Tensor = _Merge.apply(mixed.reshape(-1, width), *self._plan(1, heads), real)  # type: ignore[no-untyped-call]
        return merged.view(-1, heads * width)

    def _plan(self, projections: int, heads: int) -> tuple[Tensor, Tensor]:
        """In units of E numbers: what goes to each of [P, S, H, L], and where each of [N, P, H] goes."""
        if (projections, heads) not in self._plans:
            count, length = self.real.shape
            projection, head = (torch.arange(number, device=self.real.device) for number in (projections, heads))
            taken = (self._token[None, :, None, :] * projections + projection[:, None, None, None]) * heads + head[
                :, None
            ]
            row = (projection[:, None] * count + self._sentence[:, None, None]) * heads + head  # [N, P, H]
            self._plans[projections, heads] = taken.flatten(), (row * length + self._position[:, None, None]).flatten()
        return self._plans[projections, heads]


def lay_out(ids: Tensor, packed: bool) -> Padded | Packed:
    """The one place that decides. On a GPU padding costs less than moving tokens about."""
    return Packed(ids != PAD) if packed and ids.device.type == "cpu" else PADDED


class _Split(torch.autograd.Function):
    """Both ways a selection of rows. Autograd's own way back would add them up one by one."""

    @staticmethod
    def forward(context: Any, units: Tensor, taken: Tensor, given: Tensor, projections: int) -> tuple[Tensor, ...]:
        context.save_for_backward(given)
        return tuple(units.index_select(0, projection) for projection in taken.chunk(projections))

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (given,) = context.saved_tensors
        rows = torch.cat([gradient.reshape(-1, gradient.size(-1)) for gradient in gradients])
        return rows.index_select(0, given), None, None, None


class _Merge(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, units: Tensor, taken: Tensor, given: Tensor, real: Tensor) -> Tensor:
        context.save_for_backward(taken, real)
        return units.index_select(0, given)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        taken, real = context.saved_tensors
        # What padding looked for was thrown away: no gradient comes back to it.
        return gradients[0].index_select(0, taken).mul_(real), None, None, None
