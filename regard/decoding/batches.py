"""Which sentences are decoded together."""

from __future__ import annotations

from collections.abc import Sequence


def in_batches(lengths: Sequence[int], tokens: int, width: int) -> list[list[int]]:
    """Indexes of sentences, longest first, cut so that rows × longest × width ≤ tokens, but at least one per batch.

    `width` is the number of hypotheses per sentence. Longest first: what does not fit into memory fails at once.
    """
    batches: list[list[int]] = []
    room = 0
    for index in sorted(range(len(lengths)), key=lambda each: -lengths[each]):
        if room == 0:
            batches.append([])
            room = max(1, tokens // (max(1, lengths[index]) * width))
        batches[-1].append(index)
        room -= 1
    return batches
