"""How far information travels in a layer: what the paper's Table 1 calls sequential operations and path length.

Both are counted on real layers: which inputs have a gradient, and how deep the graph is that autograd goes back through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

LENGTHS = (32, 64, 256)  # from 32 positions on self-attention takes one path, the fused kernel
WIDTH = 8  # who depends on whom does not depend on the width


class Route(NamedTuple):
    """From the last output to all inputs."""

    kind: str
    length: int
    chain: int
    """Operations of one layer of which each waits for the one before."""
    layers: int
    """Layers until the last output depends on every input."""

    @property
    def path(self) -> int:
        """Operations between the last output and the farthest input."""
        return self.chain * self.layers


def route(kind: str, build: Callable[[int], nn.Module], length: int) -> Route:
    """`build` makes the layer at a level, counted from the top, of width WIDTH."""
    # In 64 bits, where torch runs a recurrent layer's steps one by one; in 32 they hide in one operation of oneDNN.
    x = torch.randn(1, length, WIDTH, dtype=torch.double, requires_grad=True)
    return Route(kind, length, longest_chain(build(0).double()(x)), layers_to_reach_all(build, length))


def layers_to_reach_all(build: Callable[[int], nn.Module], length: int) -> int:
    """Go back layer by layer from the last output until every position has a gradient."""
    gradient = torch.zeros(1, length, WIDTH, dtype=torch.double)
    gradient[:, -1] = 1.0
    for level in range(length):
        x = torch.randn(1, length, WIDTH, dtype=torch.double, requires_grad=True)
        (gradient,) = torch.autograd.grad(build(level).double()(x), x, gradient)
        size = gradient.norm(dim=-1, keepdim=True)  # [1, N, 1]
        if bool((size > 0).all()):
            return level + 1
        # Only whether there is a gradient counts: over hundreds of layers it would fade below the smallest number.
        gradient = gradient / size.clamp_min(torch.finfo(size.dtype).tiny)
    raise AssertionError(f"{length} layers do not connect {length} positions")


def longest_chain(output: Tensor) -> int:
    """Operations in the longest chain of the graph that made a tensor."""
    assert output.grad_fn is not None, "nothing to go back through"
    depth: dict[torch.autograd.graph.Node, int] = {}
    waiting: list[torch.autograd.graph.Node] = [output.grad_fn]
    while waiting:  # not by recursion: a recurrent layer's graph is deeper than Python's stack
        node = waiting[-1]
        needed = [each for each, _ in node.next_functions if each is not None]
        missing = [each for each in needed if each not in depth]
        waiting += missing
        if not missing:
            depth[waiting.pop()] = 1 + max(depth[each] for each in needed) if needed else 0  # 0: an input or parameter
    return depth[output.grad_fn]
