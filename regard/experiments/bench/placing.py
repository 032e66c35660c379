"""What is left of the order (the paper's section 3.5): what `regard bench positions` measures.

S sequences · T positions · D width
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from regard import config
from regard.attention.masks import causal_mask
from regard.attention.positions import LearnedPositions, sinusoidal_positions
from regard.config.field import setting
from regard.data.progress import progress
from regard.errors import UsageError
from regard.experiments.bench.panel import (
    Found,
    Measured,
    Panel,
    check,
    check_memory,
    lines_of,
    measured,
    number,
    series,
    settings_of,
)
from regard.experiments.bench.probe import read_linearly
from regard.models.layers import EncoderLayer, Residual
from regard.tasks.trained import load_trained
from regard.view.report import Both

SPECIAL = 4  # ids that are no words: padding, unknown, begin, end
LOST = 0.5
"""The claim holds if less than this share of what the residual keeps is left without it."""
ENCODINGS: dict[str, Both] = {
    "sinusoidal": ("sinusoidal", "사인파"),
    "learned": ("learned, untrained", "학습형(학습 전)"),
    "model": ("the model's own", "이 모델의 인코딩"),
}
STACKS: dict[str, Both] = {
    "residual": ("with residual", "잔차 연결 있음"),
    "no residual": ("without residual", "잔차 연결 없음"),
    "no positions": ("with residual, without positions", "잔차 연결 있음, 위치 없음"),
}


@dataclass(frozen=True)
class Placing:
    """What is measured."""

    width: int = setting(64, least=2, most=4_096)
    length: int = setting(32, least=4, most=1_024)
    layers: int = setting(6, least=1, most=100)
    heads: int = setting(4, least=1, most=1_024)
    sequences: int = setting(400, least=40, most=100_000)
    seed: int = setting(1, most=2**31)


USUAL = Placing()


@dataclass(frozen=True)
class Stack:
    """Ids → vectors before the first layer and after each: of a model that was trained, or of layers as they are made."""

    embed: Callable[[Tensor, bool], Tensor]
    """Ids [S, T], and whether positions are added → [S, T, D]."""
    layers: list[EncoderLayer]
    size: int
    """Of the vocabulary."""
    places: Tensor | None = None
    """What the model adds at each position [T, D], if it is its own."""
    causal: bool = False

    def states(self, ids: Tensor, residual: bool, positions: bool) -> Iterator[Tensor]:
        """Ids [S, T] → [S, T, D], as often as there are layers, and once before."""
        mask = causal_mask(ids.size(1)) if self.causal else None
        x = self.embed(ids, positions)
        yield x
        for layer in self.layers if residual else map(without_residual, self.layers):
            x = layer(x, mask)
            yield x


class Alone(nn.Module):
    """A residual connection taken out: only what the sub-layer gives goes on."""

    def __init__(self, around: Residual) -> None:
        super().__init__()
        self.norm, self.pre_norm = around.norm, around.pre_norm

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], first: int | None = None) -> Tensor:
        """`first` is how many positions the sub-layer answers for; nothing is added, so nothing is to be cut."""
        output: Tensor = sublayer(self.norm(x)) if self.pre_norm else self.norm(sublayer(x))
        return output


def without_residual(layer: EncoderLayer) -> EncoderLayer:
    """The same layer, of which only what its sub-layers give goes on."""
    bare = deepcopy(layer)
    for name, part in layer.named_children():
        if isinstance(part, Residual):
            setattr(bare, name, Alone(part))
    return bare


def bench_positions(
    model: str | Path | None = None,
    *,
    width: int | None = None,
    length: int = USUAL.length,
    layers: int | None = None,
    heads: int | None = None,
    sequences: int = USUAL.sequences,
    seed: int = USUAL.seed,
    output: str | Path | None = None,
    numbers: str | Path | None = None,
    command: str = "",
) -> Measured:
    """Dot products of position encodings over distance, and how well a linear probe reads the position after each layer.

    The layers are untrained, of a width of 64, 6 layers and 4 heads unless told, or those of a trained `model`, whose width, layers
    and heads are its own, with the residual and without. `output` is a page to write (and `command` what it says made it), `numbers` a file for all that was measured, as JSON.
    """
    own = {
        name: number for name, number in (("width", width), ("layers", layers), ("heads", heads)) if number is not None
    }
    if model is not None and own:
        raise UsageError(f"`{next(iter(own))}` is of untrained layers; {model} has its own")
    asked = Placing(length=length, sequences=sequences, seed=seed, **own)
    check(asked)
    check_memory(
        sequences * length * (8 * asked.width + asked.heads * length),
        "fewer `sequences`, or a smaller `width` or `length`",
    )
    if model is None and (wrong := list(_settings(asked).impossible())):
        raise UsageError("; ".join(wrong).replace("model.", ""))
    return measured(lambda: measure(asked, model), output, numbers, command)


def _settings(asked: Placing) -> config.AttentionModel:
    return config.TextEncoder(width=asked.width, heads=asked.heads, feed_forward=4 * asked.width, dropout=0.0)


def untrained(asked: Placing) -> Stack:
    """Layers as the paper has them, made by the seed."""
    torch.manual_seed(asked.seed)
    made = [EncoderLayer(_settings(asked)).eval() for _ in range(asked.layers)]
    words, places = torch.randn(1_000, asked.width), sinusoidal_positions(asked.length, asked.width)
    return Stack(lambda ids, positions: words[ids] + places * positions, made, len(words))


def trained(name: str | Path, length: int) -> Stack:
    """The embedding and the first stack of attention layers of a model of any task."""
    model = load_trained(name).model
    kind, names = next(iter(model.attention_names().items()), ("", []))
    made = [model.get_submodule(name.rpartition(".")[0]) for name in names]
    if not made or not all(isinstance(each, EncoderLayer) for each in made):
        raise UsageError(f"{name} has no layers of self-attention to read positions from; take a Transformer")
    if length > model.max_positions:
        raise UsageError(
            f"{name} reads {model.max_positions} positions at most; choose a shorter `length` than {length}"
        )
    embedding = model.source_embedding if hasattr(model, "source_embedding") else model.embedding

    def embed(ids: Tensor, positions: bool) -> Tensor:
        embedded: Tensor = embedding(ids)
        return embedded if positions else embedding.table(ids) * embedding.scale

    table = embedding.position_table(2 * length) if 2 * length <= model.max_positions else None
    return Stack(embed, made, embedding.table.num_embeddings, table, causal=kind == "decoder")


@torch.no_grad()
def measure(asked: Placing, name: str | Path | None = None) -> Measured:
    stack = untrained(asked) if name is None else trained(name, asked.length)
    generator = torch.Generator().manual_seed(asked.seed)
    ids = torch.randint(SPECIAL, stack.size, (asked.sequences, asked.length), generator=generator)  # [S, T]
    classes = torch.arange(asked.length).repeat(asked.sequences)  # [S × T]
    read = series(("probe",), STACKS)["probe"]
    with progress() as bar:
        task = bar.add_task("Reading positions", total=len(STACKS) * (len(stack.layers) + 1))
        for kind, values in read.items():
            for states in stack.states(ids, kind != "no residual", kind != "no positions"):
                values.append(read_linearly(states.flatten(0, 1), classes, asked.length))
                bar.advance(task)
    settings = settings_of(asked)
    if name is not None:
        settings = {"model": str(name), **{each: settings[each] for each in ("length", "sequences", "seed")}}
        settings["layers"] = len(stack.layers)
    return _told(asked, products(asked, stack.places), read, settings)


def products(asked: Placing, places: Tensor | None = None) -> Found:
    """Of each encoding, the mean product of two positions over their distance, and how far it depends on where they are.

    As shares of a position's product with itself.
    """
    torch.manual_seed(asked.seed)
    width = asked.width + asked.width % 2
    tables = {
        "sinusoidal": sinusoidal_positions(2 * asked.length, width),
        "learned": LearnedPositions(2 * asked.length, width).table.detach(),
    }
    if places is not None:
        tables["model"] = places
    found = series(("mean", "spread"), tables)
    for encoding, table in tables.items():
        gram = (table @ table.T / table[: asked.length].square().sum(1).mean()).double()  # [2 T, 2 T]
        for distance in range(asked.length + 1):
            along = gram.diagonal(distance)[: asked.length]
            found["mean"][encoding].append(float(along.mean()))
            found["spread"][encoding].append(float(along.std()))
    return found


HEADING: Both = (
    "What encodings say of distance, and how long a position can still be read",
    "위치 인코딩이 거리에 대해 말하는 것, 그리고 위치를 언제까지 읽을 수 있는가",
)
CLAIM: Both = (
    "The product of two sinusoidal encodings depends on their distance alone, and the residual connection carries positions "
    "through the layers.",
    "두 사인파 인코딩의 내적은 둘 사이의 거리에만 달려 있고, 잔차 연결이 위치 정보를 층을 지나 전달합니다.",
)


def _told(asked: Placing, found: Found, read: dict[str, list[float]], settings: dict[str, object]) -> Measured:
    mean, spread = found["mean"], max(found["spread"]["sinusoidal"])
    distance_alone = spread < 0.01
    kept, lost, chance = read["residual"][-1], read["no residual"][-1], 1 / asked.length
    layers = len(read["residual"]) - 1
    carried = kept - chance > 0.05 and lost - chance < LOST * (kept - chance)
    dots = Panel(
        "products", ("Product of two encodings, as a share of one with itself", "두 인코딩의 내적(자기 자신과의 내적에 대한 비율)"),
        ("distance of two positions", "두 위치의 거리"), tuple(map(float, range(asked.length + 1))), lines_of({each: ENCODINGS[each] for each in mean}, mean, ("learned",)),
        (
            f"Sinusoidal: {mean['sinusoidal'][1]:.2f} one position apart, {mean['sinusoidal'][-1]:.2f} at {asked.length}, and the same wherever the two "
            f"stand up to ±{number(spread)}; learned but untrained: {mean['learned'][1]:.2f} and {mean['learned'][-1]:.2f}, ±{max(found['spread']['learned'][1:]):.1g}.",
            f"사인파는 한 칸 거리에서 {mean['sinusoidal'][1]:.2f}, {asked.length}칸에서 {mean['sinusoidal'][-1]:.2f}이며, 어디에 있든 ±{number(spread)} 안에서 같습니다. "
            f"학습 전의 학습형은 {mean['learned'][1]:.2f}, {mean['learned'][-1]:.2f}(±{max(found['spread']['learned'][1:]):.1g})입니다.",
        ),
        form=".2f",
    )  # fmt: skip
    probe = Panel(
        "probe", ("Positions that a linear probe reads, share", "선형 프로브가 알아내는 위치의 비율"), ("layers passed", "지나온 층"),
        tuple(map(float, range(layers + 1))), lines_of(STACKS, read, ("no positions",)),
        (
            f"Of {asked.length} positions a guess would find {chance:.0%}. Before the first layer the probe finds {read['residual'][0]:.0%}; after layer {layers}, "
            f"{kept:.0%} with the residual and {lost:.0%} without it.",
            f"위치 {asked.length}개 중 찍어서 맞힐 확률은 {chance:.0%}입니다. 첫 층 앞에서 {read['residual'][0]:.0%}, {layers}번째 층 뒤에서 잔차 연결이 있으면 {kept:.0%}, "
            f"없으면 {lost:.0%}입니다.",
        ),
        form=".2f",
    )  # fmt: skip
    seen: Both = (
        f"{'The product depends on the distance alone' if distance_alone else 'The product does not depend on the distance alone'} (±{number(spread)}), and the "
        f"residual {'carries' if carried else 'does not carry'} the positions: after {layers} layer{'s' if layers > 1 else ''} {kept:.0%} can be read with it, {lost:.0%} without it, "
        f"{read['no positions'][-1]:.0%} if none were added.",
        f"내적은 거리에만 {'달려 있고' if distance_alone else '달려 있지는 않고'}(±{number(spread)}), 잔차 연결은 위치를 {'전달합니다' if carried else '전달하지 못합니다'}: {layers}개 층 뒤에 "
        f"잔차 연결이 있으면 {kept:.0%}, 없으면 {lost:.0%}, 위치를 더하지 않았으면 {read['no positions'][-1]:.0%}를 읽을 수 있습니다.",
    )  # fmt: skip
    return Measured(
        "positions",
        HEADING,
        CLAIM,
        (dots, probe),
        seen,
        distance_alone and carried,
        settings,
        distance_alone or carried,
    )
