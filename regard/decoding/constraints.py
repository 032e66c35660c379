"""What the search may not write. Constraints act on log-probabilities, which stay the model's for all that remains.

S sentences · W hypotheses per sentence · V vocabulary · T tokens written so far
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.decoding.options import SpecialTokens

NEVER = float("-inf")
FREE = -1


class Constraints:
    """Forced prefixes, no repeated n-gram, and never a start, padding or unknown token."""

    def __init__(
        self, special: SpecialTokens, no_repeat_ngram: int, prefixes: Sequence[Sequence[int]], device: torch.device
    ) -> None:
        self.special = special
        self.no_repeat_ngram = no_repeat_ngram
        self.suppressed = torch.tensor(sorted(special.suppressed), dtype=torch.long, device=device)
        longest = max(map(len, prefixes), default=0)
        filled = [[*prefix, *[FREE] * (longest - len(prefix))] for prefix in prefixes]
        self.forced = torch.tensor(filled, dtype=torch.long, device=device).view(len(prefixes), longest)

    def apply(self, scores: Tensor, tokens: Tensor, sentences: Tensor) -> Tensor:
        """Log-probabilities [S, W, V], written on, with -inf for what may not follow `tokens` [S, W, T]."""
        written = tokens.size(-1)
        forced = self.forced[sentences, written] if written < self.forced.size(1) else None  # [S]
        if forced is not None:
            index = forced.clamp(min=0).view(-1, 1, 1).expand(-1, scores.size(1), 1)  # [S, W, 1]
            only = torch.full_like(scores, NEVER).scatter_(2, index, scores.gather(2, index))
        scores.index_fill_(2, self.suppressed, NEVER)
        if 0 < self.no_repeat_ngram <= written:
            scores.scatter_(2, self._repeating(tokens), NEVER)
        return scores if forced is None else torch.where((forced == FREE).view(-1, 1, 1), scores, only)

    def _repeating(self, tokens: Tensor) -> Tensor:
        """Tokens that would repeat an n-gram, [S, W, T - n + 1]; padding, which is forbidden anyway, elsewhere."""
        ngrams = tokens.unfold(2, self.no_repeat_ngram, 1)  # [S, W, T - n + 1, n]
        recent = tokens[:, :, tokens.size(2) - self.no_repeat_ngram + 1 :]  # [S, W, n - 1]
        again = (ngrams[..., :-1] == recent.unsqueeze(2)).all(-1)  # [S, W, T - n + 1]
        return ngrams[..., -1].masked_fill(~again, self.special.pad)
