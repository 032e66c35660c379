"""How fast does regard train a Vision Transformer beside `timm` and plain torch? Pictures per second on the CPU, the same sizes.

    python -m venv --system-site-packages PEER && PEER/bin/pip install --no-deps timm torchvision huggingface_hub
    PEER/bin/python benchmarks/picture_training_speed.py --threads 1 --rounds 5 --json measured.json

All three train the same pictures (noise of Fashion-MNIST's shape) with the same labels by AdamW in one process, since they share torch: a
few updates of one, of the next, of the third, and so on round after round, so that whatever else the machine does falls on all alike. What is told is
the median over the rounds, and the median of the ratios within a round. regard's update is its own (loss, clipping, schedule); the peers' is the
usual loop: forward, cross-entropy, backward, clipping, step. No augmentation, no dropout, on either side. Without timm, it is left out.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.config import recipes
from regard.tasks.registry import build
from regard.training.distributed import Processes
from regard.training.loss import smoothed_loss
from regard.training.trainable import MicroBatch
from regard.training.update import Objective, build_optimizer, take_update

SIDE, LABELS = 28, 10
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
Step = Callable[[Tensor, Tensor], float]
"""Normalised pictures [S, 1, 28, 28] and labels [S] → the loss; one update."""


@dataclass(frozen=True)
class Size:
    """A shape of the ViT."""

    width: int
    feed_forward: int
    heads: int
    layers: int
    patch: int


SIZES = {"small": Size(96, 176, 4, 6, 4), "base": Size(192, 768, 3, 12, 4)}


def regard_step(size: Size) -> tuple[Step, int]:
    recipe = recipes.parse({
        "task": "image-classification", "data": {"size": SIDE, "colour": False},
        "model": {
            "architecture": "vit", "width": size.width, "feed_forward": size.feed_forward, "heads": size.heads,
            "layers": size.layers, "patch": size.patch, "dropout": 0.0, "stochastic_depth": 0.0,
        },
        "training": {"learning_rate": 1e-3, "warmup": 1, "clip": 1.0, "label_smoothing": 0.0},
    })  # fmt: skip
    model = build(recipe.model, 1, SIDE, LABELS)
    objective = Objective(model, lambda model, given: smoothed_loss(model(given[0]), given[1], 0.0))
    optimizer, processes, number = build_optimizer(model, recipe.training), Processes(0, 1, torch.device("cpu")), 0

    def step(pictures: Tensor, labels: Tensor) -> float:
        nonlocal number
        number += 1
        parts = [MicroBatch((pictures, labels), len(labels))]
        return take_update(objective, optimizer, parts, recipe.training, number, processes).loss / len(labels)

    return step, parameters(model)


def usual_step(model: nn.Module) -> tuple[Step, int]:
    """What everybody writes."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    model.train()

    def step(pictures: Tensor, labels: Tensor) -> float:
        loss = cross_entropy(model(pictures), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step, parameters(model)


class PlainViT(nn.Module):
    """`torch.nn.TransformerEncoder` with patches before it and a class token."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        tokens = (SIDE // size.patch) ** 2 + 1
        self.patches = nn.Conv2d(1, size.width, size.patch, stride=size.patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, size.width))
        self.positions = nn.Parameter(torch.randn(1, tokens, size.width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            size.width, size.heads, size.feed_forward, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, size.layers, norm=nn.LayerNorm(size.width), enable_nested_tensor=False
        )
        self.output = nn.Linear(size.width, LABELS)

    def forward(self, pictures: Tensor) -> Tensor:
        patches = self.patches(pictures).flatten(2).transpose(1, 2)  # [S, G × G, D]
        x = torch.cat([self.class_token.expand(len(patches), -1, -1), patches], 1) + self.positions
        logits: Tensor = self.output(self.encoder(x)[:, 0])
        return logits


def timm_model(size: Size) -> nn.Module | None:
    try:  # torchvision's own kernels may be compiled for another build of torch; timm's ViT needs none of them
        for kernel in ("nms", "qnms"):
            torch.library.define(f"torchvision::{kernel}", "(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        from timm.models.vision_transformer import VisionTransformer  # type: ignore[import-not-found]
    except ImportError as error:
        print(f"timm is left out: {error}")
        return None
    made: nn.Module = VisionTransformer(
        img_size=SIDE, patch_size=size.patch, in_chans=1, num_classes=LABELS, embed_dim=size.width, depth=size.layers,
        num_heads=size.heads, mlp_ratio=size.feed_forward / size.width,
    )  # fmt: skip
    return made


def parameters(model: nn.Module) -> int:
    return sum(each.numel() for each in model.parameters())


def measure(name: str, size: Size, batch: int, rounds: int, updates: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Round after round, some updates of each → pictures per second."""
    torch.manual_seed(1)
    made = {"regard": regard_step(size), "torch.nn.TransformerEncoder": usual_step(PlainViT(size))}
    if (peer := timm_model(size)) is not None:
        made["timm"] = usual_step(peer)
    pictures, labels = torch.randn(batch, 1, SIDE, SIDE), torch.randint(LABELS, (batch,))
    losses = {each: step(pictures, labels) for each, (step, _) in made.items()}  # and warm
    speeds: dict[str, list[float]] = {each: [] for each in made}
    for _ in range(rounds):
        for each, (step, _) in made.items():
            began = clock()
            for _ in range(updates):
                last = step(pictures, labels)
            speeds[each].append(updates * batch / (clock() - began))
            if last >= losses[each]:
                print(f"doubt {each}: it did not learn, {losses[each]:.3f} → {last:.3f}")
    ratios = {
        each: statistics.median(own / other for own, other in zip(speeds["regard"], speeds[each], strict=True))
        for each in made
    }
    print(f"\n{name}: {size}, batches of {batch}, {rounds} rounds of {updates} updates")
    for each, (_, count) in made.items():
        middle = statistics.median(speeds[each])
        print(f"  {each:28} {middle:8.1f} pictures/s  regard is {ratios[each]:.2f} × as fast  ({count:,} parameters)")
    return {"size": name, "batch": batch, "pictures_per_second": speeds, "ratios": ratios}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--size", action="append", choices=SIZES, help="[small]")
    arguments.add_argument("--batch", type=int, default=128)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--updates", type=int, default=5, help="of each in a round")
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="`processor`, of a busy machine, with one thread"
    )
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    found = [
        measure(name, SIZES[name], given.batch, given.rounds, given.updates, CLOCKS[given.clock])
        for name in given.size or ["small"]
    ]
    if given.json:
        machine = {
            "machine": platform.platform(),
            "torch": torch.__version__,
            "threads": given.threads,
            "clock": given.clock,
        }
        given.json.write_text(json.dumps({**machine, "measured": found}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
