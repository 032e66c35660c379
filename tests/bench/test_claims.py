"""What is claimed of attention, as laws with wide margins; and that a sentence says so when a claim does not hold."""

from __future__ import annotations

import json
import math
from io import StringIO
from pathlib import Path

import pytest
import torch
from rich.console import Console
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import regard
from regard import config
from regard.config import recipes
from regard.errors import UsageError
from regard.experiments.bench import gradients, panel, placing, toy
from regard.experiments.bench.claim_page import render_claim
from regard.experiments.bench.parameters import Counting, of_recipe
from regard.experiments.bench.probe import read_linearly
from regard.experiments.bench.scaling import jacobian
from regard.models.encoder_decoder import EncoderDecoder
from regard.models.layers import EncoderLayer
from regard.models.outline import outline
from regard.tasks.registry import find_task
from tests.bench.claims import MADE

ROOT = Path(__file__).parent.parent.parent


def values(found: regard.Measured, of: str, line: str) -> list[float]:
    """Of one line, all there."""
    made = [value for value in found[of][line] if value is not None]
    assert len(made) == len(found[of][line])
    return made


# Scaling


@pytest.fixture(scope="module")
def scaling() -> regard.Measured:
    return regard.bench_scaling([4, 64, 1024], sequences=8)


def test_the_variance_grows_with_the_width_unless_scaled(scaling: regard.Measured) -> None:
    for width, unscaled, scaled in zip(
        (4, 64, 1024), values(scaling, "variance", "unscaled"), values(scaling, "variance", "scaled"), strict=True
    ):
        assert unscaled == pytest.approx(width, rel=0.3)
        assert scaled == pytest.approx(1, rel=0.3)


def test_unscaled_weights_are_sharp_and_their_gradient_is_gone(scaling: regard.Measured) -> None:
    assert values(scaling, "entropy", "unscaled")[-1] < 1 < 4 < values(scaling, "entropy", "scaled")[-1] <= 6
    assert values(scaling, "gradient", "unscaled")[-1] < 0.02 * values(scaling, "gradient", "scaled")[-1]
    assert scaling.holds
    assert "saturate softmax" in scaling.reading[0]


def test_a_sentence_says_when_the_claim_does_not_hold() -> None:
    found = regard.bench_scaling([1, 2], sequences=4)
    assert not found.holds
    assert "do not saturate" in found.reading[0]
    assert "포화시키지 않습니다" in found.reading[1]
    assert "The claim does not hold here." in render_claim(found)


def test_the_size_of_the_gradient_is_that_of_the_jacobian() -> None:
    scores = torch.randn(5, 7, dtype=torch.double) * torch.tensor([0.1, 1, 4, 16, 30])[:, None]
    for row in scores:
        exact = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), row)
        assert float(jacobian(row.softmax(-1))) == pytest.approx(float(exact.norm()), rel=1e-6)


# Positions


def test_a_probe_reads_what_is_there_and_nothing_else() -> None:
    generator = torch.Generator().manual_seed(0)
    classes = torch.randint(5, (600,), generator=generator)
    noise = torch.randn(600, 12, generator=generator)
    assert read_linearly(noise, classes, 5) < 0.4
    assert read_linearly(1e-4 * (noise + 20 * nn.functional.one_hot(classes, 12)), classes, 5) > 0.95


@pytest.fixture(scope="module")
def placed() -> regard.Measured:
    return regard.bench_positions(width=32, length=16, layers=3, heads=2, sequences=80)


def test_the_residual_keeps_positions(placed: regard.Measured) -> None:
    kept, lost, none = (values(placed, "probe", line) for line in ("residual", "no residual", "no positions"))
    assert kept[0] == lost[0] > 0.3
    assert kept[-1] > 3 * lost[-1]
    assert max(none) < 0.15  # a guess finds 1 of 16
    assert placed.holds


def test_products_of_sines_depend_on_the_distance_alone(placed: regard.Measured) -> None:
    sines = values(placed, "products", "sinusoidal")
    assert sines[0] == pytest.approx(1, abs=1e-5)
    assert sines[1] > 0.9 > 0.8 > min(sines)
    spread = placing.products(placing.Placing(width=32, length=16))["spread"]
    assert max(spread["sinusoidal"]) < 1e-5
    assert max(map(abs, values(placed, "products", "learned")[1:])) < 0.3


def test_a_layer_without_residual_gives_only_what_its_sublayers_give() -> None:
    for norm in ("pre", "post"):
        layer = EncoderLayer(config.TextEncoder(width=8, heads=2, feed_forward=16, dropout=0.0, norm=norm)).eval()
        x = torch.randn(2, 5, 8)
        for part in (layer.self_attention.output, layer.feed_forward.narrow):  # sub-layers that give nothing
            nn.init.zeros_(part.weight)
        bare = placing.without_residual(layer)(x, None)
        torch.testing.assert_close(bare, torch.zeros_like(x))
        assert float(layer(x, None).detach().std()) > 0.5


def test_positions_of_a_trained_model() -> None:
    found = regard.bench_positions("demo", length=8, sequences=150)
    assert found.settings["model"] == "demo"
    assert found.settings["layers"] == len(values(found, "probe", "residual")) - 1
    assert values(found, "products", "model")[0] == pytest.approx(1, abs=1e-5)
    assert values(found, "probe", "residual")[-1] > 2 * values(found, "probe", "no residual")[-1]
    with pytest.raises(UsageError, match="reads 1024 positions at most"):
        placing.trained("demo", 2_000)


# Gradients and context


def test_the_gradient_of_an_untrained_rnn_alone_vanishes() -> None:
    found = regard.bench_gradients([4, 40], width=16, updates=0, sequences=4)
    assert values(found, "untrained", "rnn")[-1] < 1e-6
    for other in ("rnn-attention", "conv", "transformer"):
        assert 0.05 < values(found, "untrained", other)[-1] < 20
    assert found.holds
    assert [each.key for each in found.panels] == ["untrained"]


def test_a_short_way_is_no_vanishing() -> None:
    found = regard.bench_gradients([2, 3], width=8, updates=2, sequences=2)
    assert not found.holds
    assert not found.partly
    assert "not the rnn's gradient alone" in found.reading[0]
    assert "after 2 updates" in found.reading[0]
    assert [each.key for each in found.panels] == ["untrained", "trained"]


@torch.no_grad()
def slope(model: EncoderDecoder, ids: torch.Tensor, step: torch.Tensor) -> float:
    """How the loss changes when the embedded words [1, N, D] do."""
    losses = []
    for sign in (1, -1):
        handle = model.source_embedding.register_forward_hook(lambda module, given, x, sign=sign: x + sign * step)
        losses.append(float(toy.copy_loss(model, ids)))
        handle.remove()
    return (losses[0] - losses[1]) / 2e-5


def test_the_reach_is_that_of_finite_differences() -> None:
    """The gradient at a word is how the loss changes with its embedding."""
    asked = gradients.Reaching(lengths=(3,), width=8, sequences=1)
    model = toy.build("transformer", gradients.toy_of(asked)).double().eval()
    generator = torch.Generator().manual_seed(asked.seed)
    ids = toy.sequences(1, 3, gradients.WORDS, generator)
    sizes = []
    for place in (0, 2):
        steps = torch.zeros(8, 1, 3, 8, dtype=torch.double)
        steps[range(8), 0, place, range(8)] = 1e-5
        sizes.append(math.hypot(*(slope(model, ids, step) for step in steps)))
    assert gradients.reach(model.float(), 3, asked) == pytest.approx(sizes[0] / sizes[1], rel=1e-3)


def test_the_context_vector_forgets_and_attention_does_not() -> None:
    found = regard.bench_context([2, 12], width=32, words=6, updates=120, sequences=300)
    fixed, seen = values(found, "copied", "rnn"), values(found, "copied", "rnn-attention")
    assert fixed[-1] < 0.75 < seen[-1]
    assert fixed[-1] < fixed[0] - 0.15
    assert values(found, "probe", "rnn")[-1] < values(found, "probe", "rnn-attention")[-1] - 0.1
    assert found.holds


# Parameters


def test_parameters_of_attention_do_not_depend_on_the_length() -> None:
    found = regard.bench_parameters(lengths=[8, 32, 512], width=16, heads=2)
    for kind in ("self-attention", "recurrent", "convolution"):
        assert len(set(values(found, "parameters", kind))) == 1
    assert values(found, "parameters", "self-attention")[0] == 4 * 16 * 16 + 4 * 16
    assert values(found, "parameters", "mlp") == [(each * 16) ** 2 + each * 16 for each in (8, 32, 512)]
    work = values(found, "flops", "self-attention")
    assert (
        work[-1] / work[0]
        > 500
        > 64
        == values(found, "flops", "recurrent")[-1] / values(found, "flops", "recurrent")[0]
    )
    assert found.holds
    assert not regard.bench_parameters(lengths=[8], width=16).holds


@pytest.mark.parametrize("name", ["quickstart", "moods", "rhymes", "clothes"])
def test_the_parts_of_a_recipe_add_up(name: str) -> None:
    found = regard.bench_parameters(f"bundled:{name}.toml", tokens=16)
    recipe, parts = recipes.load(f"bundled:{name}.toml"), found["recipe"]
    row = find_task(recipe.task)
    with outline():
        whole = row.build(recipe.model, row.dry_run.sizes(recipe))
    assert sum(counted[0] or 0 for counted in parts.values()) == sum(each.numel() for each in whole.parameters())
    layers = [counted for line, counted in parts.items() if line.startswith(("encoder.", "layers."))]
    assert len(layers) >= 2
    assert all(counted[1] == layers[0][1] and counted[1] for counted in layers), "layers that are alike cost alike"
    assert (parts["output"][1] or 0) > 0


def test_the_flops_of_a_recipe_are_those_that_torch_counts() -> None:
    recipe = recipes.load(
        ROOT / "recipes" / "translate" / "multi30k-de-en-rnn-attention.toml",
        ["model.width=16", "tokenizer.vocabulary=300"],
    )
    counted = of_recipe(recipe, Counting(tokens=12))
    row = find_task(recipe.task)
    model, batch = (
        row.build(recipe.model, row.dry_run.sizes(recipe)).double().eval(),
        row.dry_run.batch(recipe, 12).batch,
    )
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        row.dry_run.loss(recipe, model, batch)
    assert sum(line.values[1] or 0 for line in counted.lines) * batch.size(1) == pytest.approx(
        counter.get_total_flops()
    )
    assert all(line.values[1] for line in counted.lines if line.key in ("encoder", "decoder", "attention", "output"))


# Smoothing


def test_smoothing_makes_less_sure_and_with_noise_better_calibrated() -> None:
    found = regard.bench_smoothing([0, 0.1], noises=[0, 30], examples=200, updates=250, seeds=2)
    for plain, smoothed in zip(values(found, "confidence", "0.0"), values(found, "confidence", "0.1"), strict=True):
        assert smoothed < plain - 0.05
    assert values(found, "calibration", "0.1")[1] < values(found, "calibration", "0.0")[1] - 3
    assert values(found, "accuracy", "0.0")[1] < values(found, "accuracy", "0.0")[0] - 5, "noise hurts"
    assert found.partly
    assert found.holds == all(
        smoothed > plain
        for plain, smoothed in zip(values(found, "accuracy", "0.0"), values(found, "accuracy", "0.1"), strict=True)
    ), "a score that falls is no claim that holds"
    same = regard.bench_smoothing([0.1], noises=[0], examples=50, updates=3, seeds=1)
    assert not same.holds, "nothing to compare with"
    assert "not always less sure" in same.reading[0]


# What all share


def test_a_trained_rnn_that_passes_the_gradient_on_bears_out_only_a_part() -> None:
    asked = gradients.Reaching(lengths=(2, 60), updates=5)
    untrained = {name: [1.0, 1e-9 if name == "rnn" else 1.0] for name in toy.NAMES}
    for after, holds in ((1.0, False), (1e-9, True)):
        trained = {**untrained, "rnn": [1.0, after]}
        found = gradients._told(asked, {"untrained": untrained, "trained": trained})
        assert (found.holds, found.partly) == (holds, True)
        assert ("learned to let it through" in found.reading[0]) is not holds
        assert found.verdict[0].endswith("holds here." if holds else "only in part.")


@pytest.mark.parametrize("run", MADE.values(), ids=MADE)
def test_the_same_seed_gives_the_same_file(run: object, tmp_path: Path) -> None:
    assert callable(run)
    for name in ("one", "two"):
        run(numbers=tmp_path / f"{name}.json", output=tmp_path / f"{name}.html", command="regard bench <x>")
    one = (tmp_path / "one.json").read_text(encoding="utf-8")
    assert one == (tmp_path / "two.json").read_text(encoding="utf-8")
    report = json.loads(one)
    assert set(report) == {"bench", "claim", "holds", "partly", "reading", "settings", "panels"}
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "")
    assert "&lt;x&gt;" in page
    figures = [each for each in report["panels"] if not isinstance(each["places"][0], str)]
    assert page.count("<figure>") == len(figures)
    assert page.count("class='reading'") == len(report["panels"])


def test_the_terminal_shows_every_line_and_ends_with_what_is_seen() -> None:
    found = MADE["scaling"]()
    file = StringIO()
    found.draw(Console(file=file, width=400))
    said = file.getvalue()
    for each in found.panels:
        assert each.title[0] in said
        assert each.reading[0] in said
        assert all(line.name[0] in said for line in each.lines)
    assert f"What you see: {found.reading[0]} {found.verdict[0]}" in said.splitlines()[-2]


def test_a_panel_is_asked_by_its_name() -> None:
    with pytest.raises(UsageError, match="bench scaling has no panel 'x'; it has variance, entropy"):
        MADE["scaling"]()["x"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0"), (1.7e-13, "1.7e-13"), (0.01234, "0.0123"), (0.5, "0.500"), (1028.4, "1,028"), (16640, "16,640"), (8.6e9, "8.60 G"), (-2.5, "-2.50")],
)  # fmt: skip
def test_numbers_have_three_figures(value: float | None, shown: str) -> None:
    assert panel.number(value) == shown


def test_a_wide_table_shows_some_columns_and_the_figure_all_points() -> None:
    found = regard.bench_positions(width=8, length=40, layers=1, heads=2, sequences=40)
    products = found.panels[0]
    assert len(products.places) == 41
    assert products.columns() == [0, 5, 10, 15, 20, 25, 30, 35, 40]


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda: regard.bench_scaling([]), "`widths` must be whole numbers"),
        (lambda: regard.bench_scaling([4.5]), "`widths` must be whole numbers"),  # type: ignore[list-item]
        (lambda: regard.bench_scaling([8, 4]), "`widths` must rise, each named once; not 8, 4"),
        (lambda: regard.bench_scaling([0]), "`widths` must be at least 1, not 0"),
        (lambda: regard.bench_scaling(length=1), "`length` must be at least 2"),
        (lambda: regard.bench_scaling(length=4_096, sequences=4_096), "choose fewer `sequences` or a smaller `length`"),
        (lambda: regard.bench_scaling(seed=-1), "`seed` must be at least 0"),
        (lambda: regard.bench_scaling(seed=True), "`seed` must be a whole number, not True"),
        (lambda: regard.bench_scaling(output="x.pdf"), "should end in .html; the numbers alone can be had as JSON"),
        (lambda: regard.bench_positions(width=30), "heads = 4 does not divide width = 30; 3 would"),
        (lambda: regard.bench_positions(width=9, heads=3), "must be even for sinusoidal positions"),
        (lambda: regard.bench_gradients(width=30), "`width` must be a multiple of 4"),
        (lambda: regard.bench_gradients([1, 2]), "`lengths` must be at least 2, not 1"),
        (lambda: regard.bench_gradients([1_024], width=1_024, sequences=1_024), "shorter `lengths`"),
        (lambda: regard.bench_context(words=1), "`words` must be at least 2"),
        (lambda: regard.bench_parameters(width=30), "4 heads do not divide a width of 30"),
        (lambda: regard.bench_parameters(overrides=["model.heads=1"]), "`overrides` are of a recipe; name one"),
        (lambda: regard.bench_parameters(tokens=9), "`tokens` are of a recipe; name one"),
        (lambda: regard.bench_positions("demo", width=8), "`width` is of untrained layers; demo has its own"),
        (lambda: regard.bench_smoothing([0, 1]), "`smoothings` must be below 1, not 1.0"),
        (lambda: regard.bench_smoothing(noises=[float("nan")]), "`noises` must be a number, not nan"),
        (lambda: regard.bench_smoothing(noises=[0, 100]), "`noises` must be at most 90"),
    ],
)
def test_mistakes_are_told_before_anything_is_measured(run: object, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("scaling", "placing", "gradients", "context", "parameters", "smoothing"):
        monkeypatch.setattr(
            f"regard.experiments.bench.{name}.measure", lambda *given: pytest.fail("it began to measure")
        )
    assert callable(run)
    with pytest.raises(UsageError) as refused:
        run()
    assert said in str(refused.value)
