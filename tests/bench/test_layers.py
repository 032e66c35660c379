"""The layers that are measured are what they claim to be, and what is read from measurements follows from them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode
from typer.testing import CliRunner

from regard.attention.multi_head import SelfAttention
from regard.attention.windowed import window_mask
from regard.commands import bench as bench_verb  # noqa: F401  (gives the app its verb)
from regard.commands.app import app
from regard.errors import UsageError
from regard.experiments.bench import layers as bench
from regard.experiments.bench.growth import crossing, crossings, draw, exponent, growths, report, until, upper
from regard.experiments.bench.layers import (
    KINDS,
    Cell,
    Convolution,
    Findings,
    LayerCase,
    Recurrent,
    RestrictedSelfAttention,
    Settings,
)
from regard.experiments.bench.page import render_layers, write_layers
from regard.experiments.bench.routes import WIDTH, layers_to_reach_all, longest_chain

SMALL = Settings(lengths=(4, 8, 12, 20), widths=(8, 16, 32), heads=2, window=4, repeats=2, threads=1)


# The layers


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("length", [3, 8, 13])
def test_multiplications_are_those_that_torch_counts(name: str, length: int) -> None:
    subject = LayerCase(KINDS[name], SMALL, length, 16)
    layer = subject.layer.double()  # in 32 bits oneDNN would hide the recurrent layer's products
    with FlopCounterMode(display=False) as counter:
        output = layer(*(each.double() for each in subject.inputs))
    assert output.shape == subject.gradient.shape
    assert counter.get_total_flops() == 2 * SMALL.batch * KINDS[name].products(SMALL, length, 16)


def test_what_is_kept_for_the_way_back() -> None:
    def kept(name: str, length: int) -> int:
        return LayerCase(KINDS[name], SMALL, length, 16).kept() // 4 // SMALL.batch  # numbers for one sequence

    assert kept("self-attention alone", 12) == SMALL.heads * 12 * 12 + 3 * 12 * 16
    assert kept("convolution", 12) == SMALL.kernel * 12 * 16  # its input, but not its parameters
    assert kept("restricted", 24) == 2 * kept("restricted", 12)
    assert kept("self-attention", 24) > 2 * kept("self-attention", 12)


@pytest.mark.parametrize("kernel", [2, 3, 4, 5])
@pytest.mark.parametrize("dilation", [1, 3])
def test_convolution_is_what_torch_calls_one(kernel: int, dilation: int) -> None:
    layer, x = Convolution(6, kernel, dilation), torch.randn(2, 9, 6)
    weight = layer.mix.weight.view(6, kernel, 6).transpose(1, 2)  # [to, kernel × from] → [to, from, kernel]
    padded = functional.pad(x.transpose(1, 2), ((kernel - 1) * dilation, 0))
    wanted = functional.conv1d(padded, weight, layer.mix.bias, dilation=dilation).transpose(1, 2)
    torch.testing.assert_close(layer(x), wanted)


def test_restricted_is_self_attention_under_a_band() -> None:
    restricted, whole, x = RestrictedSelfAttention(8, 2, 4), SelfAttention(8, 2), torch.randn(2, 11, 8)
    whole.load_state_dict(restricted.state_dict())
    places = torch.arange(11)
    torch.testing.assert_close(restricted(x), whole(x, window_mask(places, places, 4)))


# Routes


def test_self_attention_reaches_all_at_once_and_its_chain_does_not_grow() -> None:
    found = [each for each in bench.routes(SMALL) if each.kind == "self-attention"]
    assert {each.layers for each in found} == {1}
    assert len({each.chain for each in found}) == 1


def test_the_chain_of_a_recurrent_layer_grows_by_the_same_for_every_position() -> None:
    short, middle, long = (each for each in bench.routes(SMALL) if each.kind == "recurrent")
    assert short.layers == middle.layers == long.layers == 1
    a_step = (middle.chain - short.chain) / (middle.length - short.length)
    assert a_step >= 1
    assert (long.chain - middle.chain) / (long.length - middle.length) == a_step


def test_the_only_way_through_a_recurrent_layer_leads_through_every_step() -> None:
    layer = Recurrent(WIDTH)
    for cut in range(1, 6):
        x = torch.randn(1, 6, WIDTH, requires_grad=True)
        first, state = layer.cells(x[:, :cut])
        second, _ = layer.cells(x[:, cut:], tuple(each.detach() for each in state))
        torch.testing.assert_close(torch.cat([first, second], 1), layer(x))
        (gradient,) = torch.autograd.grad(second[:, -1].sum(), x)
        assert gradient[0].any(-1).tolist() == [place >= cut for place in range(6)]


@pytest.mark.parametrize("kernel", [2, 3, 4])
@pytest.mark.parametrize("length", [2, 5, 16, 40])
def test_layers_that_convolutions_need(kernel: int, length: int) -> None:
    plain = layers_to_reach_all(lambda level: Convolution(WIDTH, kernel), length)
    assert plain == math.ceil((length - 1) / (kernel - 1))
    dilated = layers_to_reach_all(lambda level: Convolution(WIDTH, kernel, kernel**level), length)
    assert kernel ** (dilated - 1) < length <= kernel**dilated


@pytest.mark.parametrize(("length", "window"), [(2, 2), (16, 3), (16, 4), (40, 9), (40, 100)])
def test_layers_that_restricted_attention_needs(length: int, window: int) -> None:
    found = layers_to_reach_all(lambda level: RestrictedSelfAttention(WIDTH, 2, window), length)
    assert found == math.ceil((length - 1) / (window // 2))


def test_a_layer_that_connects_nothing_is_found_out() -> None:
    with pytest.raises(AssertionError, match="do not connect"):
        layers_to_reach_all(lambda level: nn.Linear(WIDTH, WIDTH), 4)


def test_the_longest_chain_of_known_graphs() -> None:
    x = torch.ones(2, requires_grad=True)
    assert longest_chain(x.exp()) == 1
    assert longest_chain(x.exp().sin() + x) == 3
    long = x
    for _ in range(3_000):
        long = long.sin()
    assert longest_chain(long + x) == 3_001


# What follows from measurements


def made(time: Callable[[str, int, int], float], asked: Settings = SMALL) -> Findings:
    """Findings as if every layer took the time that a formula gives."""
    cells = [
        Cell(kind, length, width, time(kind, length, width), 3 * time(kind, length, width), length)
        for length in asked.lengths
        for width in asked.widths
        for kind in KINDS
    ]
    return Findings(asked, {"processor": "x", "cores": 1, "threads": 1, "torch": "y"}, [], cells, True)


def test_an_exponent_is_that_of_the_power() -> None:
    assert exponent([3, 10, 70], [5 * each**1.7 for each in (3, 10, 70)]) == pytest.approx(1.7)
    assert exponent([3], [1.0]) is None
    assert upper(range(8)) == (4, 5, 6, 7)
    assert upper(range(5)) == (2, 3, 4)
    assert upper([1, 2]) == (1, 2)


def test_growth_is_found_along_both_axes() -> None:
    for each in growths(made(lambda kind, n, d: n**1.5 * d**0.5)):
        wanted = 1.5 if each.axis == "length" else 0.5
        assert each.forward == pytest.approx(wanted)
        assert each.both == pytest.approx(wanted)
        assert each.memory == pytest.approx(1.0 if each.axis == "length" else 0.0, abs=1e-9)
        if each.kind in ("self-attention alone", "recurrent", "convolution"):
            assert each.counted == pytest.approx(each.theory)
        if each.kind == "self-attention" and each.axis == "length":
            assert each.counted is not None
            assert 1 < each.counted < each.theory  # projections hide the square


def test_a_crossing_is_where_the_curves_meet() -> None:
    found = made(lambda kind, n, d: n * n * d if kind.startswith("self") else 10 * n * d if d == 8 else n * d * d)
    at = {(each.width, each.measure): each for each in crossings(found) if each.kind == "self-attention"}
    assert at[8, "forward"].length == pytest.approx(10)
    assert at[16, "both"].length == pytest.approx(16)
    assert (at[32, "both"].length, at[32, "both"].wins, until(at[32, "both"])) == (None, True, "> 20")


def timed(*seconds: float) -> dict[int, dict[str, float]]:
    return {4 * 2**place: {"both": each} for place, each in enumerate(seconds)}


def test_crossings_that_are_none_or_many() -> None:
    def found(*seconds: float) -> str:
        return until(crossing(8, "self-attention", "both", timed(*seconds), timed(1, 1, 1, 1)))

    assert found(2, 2, 2, 2) == "< 4"
    assert found(0.5, 0.5, 0.5, 0.5) == "> 32"
    assert found(2, 0.5, 2, 4) == "11"  # slow to start, then a lead until √(8 × 16)
    assert found(0.5, 2, 0.5, 2) == "23"  # the last lead counts
    assert found(0.5, 2, 0.5, 0.5) == "> 32"


# Measuring


@pytest.fixture(scope="module")
def measured() -> Findings:
    return bench.measure(SMALL)


def test_everything_is_measured_once(measured: Findings) -> None:
    assert measured.complete
    places = [(each.kind, each.length, each.width) for each in measured.cells]
    assert len(places) == len(set(places)) == len(KINDS) * len(SMALL.lengths) * len(SMALL.widths)
    assert all(each.forward > 0 and each.both > 0 and each.memory > 0 for each in measured.cells)


def test_threads_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    with pytest.raises(ZeroDivisionError), bench.threads(3):
        raise ZeroDivisionError
    assert given == [3, 7]


def test_ctrl_c_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    measure_at, calls = bench.measure_at, []

    def interrupted(*arguments: Any) -> list[Cell]:
        calls.append(arguments)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return measure_at(*arguments)

    monkeypatch.setattr(bench, "measure_at", interrupted)
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    answer = CliRunner().invoke(app, [*SHORT, "-o", str(page), "--json", str(numbers)])
    assert answer.exit_code == 130
    assert "Interrupted" in answer.stdout
    assert len(json.loads(numbers.read_text())["cells"]) == 4 * len(KINDS)
    assert "Interrupted" in page.read_text()


def test_ctrl_c_at_once_is_no_trouble(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(asked: Settings) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "routes", interrupted)
    answer = CliRunner().invoke(app, [*SHORT, "-o", str(tmp_path / "page.html")])
    assert answer.exit_code == 130
    assert not list(tmp_path.iterdir())


# What comes out


def test_the_tables_name_every_kind(measured: Findings) -> None:
    file = StringIO()
    draw(measured, Console(file=file, width=140))
    said = file.getvalue()
    for kind in (*KINDS, "convolution, dilated"):
        assert kind in said
    assert "fitted through n = 8, 12, 20" in said
    assert "fitted through d = 8, 16, 32" in said


def test_the_page_needs_nothing_else(measured: Findings, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "layers.html"
    write_layers(path, json.loads(json.dumps(report(measured), allow_nan=False)), "regard bench layers <&>")
    page = path.read_text(encoding="utf-8")
    assert page.count("<figure>") == 6
    assert page.count("class='leads'") == 4
    assert "http" not in page.replace("http-equiv", "")
    assert "nan" not in page.lower().split()
    assert "regard bench layers &lt;&amp;&gt;" in page
    assert page.count("<circle") == len(KINDS) * 3 * (len(SMALL.lengths) + len(SMALL.widths))


def test_a_page_of_too_little_to_plot() -> None:
    asked = Settings(lengths=(4,), widths=(8,), heads=2, threads=1)
    page = render_layers(report(made(lambda kind, n, d: 1.0, asked)))
    assert "<figure>" not in page
    assert "–" in page


# The command

SHORT = [
    "bench",
    "layers",
    "--lengths",
    "4,8,12",
    "--widths",
    "8,16",
    "--heads",
    "2",
    "--repeats",
    "1",
    "--threads",
    "1",
]


def test_the_command_writes_table_numbers_and_page(tmp_path: Path) -> None:
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    answer = CliRunner().invoke(app, [*SHORT, "-o", str(page), "--json", str(numbers)])
    assert answer.exit_code == 0, answer.output
    assert "Self-attention is faster than the recurrent layer up to n =" in answer.stdout
    found = json.loads(numbers.read_text())
    assert found["complete"] is True
    assert found["settings"]["lengths"] == [4, 8, 12]
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--lengths", "1,8"], "`lengths` must be whole numbers from 2 up"),
        (["--lengths", "8,4"], "`lengths` must rise"),
        (["--lengths", "4,4"], "each named once"),
        (["--lengths", "4;8"], "--lengths takes whole numbers"),
        (["--widths", ""], "--widths takes whole numbers"),
        (["--widths", "8,15"], "2 heads do not divide a width of 15"),
        (["--widths", "0,8"], "`widths` must be whole numbers from 1 up"),
        (["--heads", "0"], "`heads` must be at least 1"),
        (["--batch", "0"], "`batch` must be at least 1"),
        (["--kernel", "1"], "`kernel` must be at least 2"),
        (["--window", "1"], "`window` must be at least 2"),
        (["--repeats", "0"], "`repeats` must be at least 1"),
        (["--threads", "0"], "`threads` must be at least 1"),
        (["--lengths", "4,9999999"], "choose shorter lengths"),
        (["-o", "page.pdf"], "should end in .html"),
    ],
)
def test_mistakes_are_told_before_anything_is_measured(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "measure", lambda asked: pytest.fail("it began to measure"))
    answer = CliRunner().invoke(app, [*SHORT, *options])
    assert isinstance(answer.exception, UsageError), answer.output
    assert said in str(answer.exception)
