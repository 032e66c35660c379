"""One map as a figure: the weights asked for, named by their tokens."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from regard.errors import UsageError
from tests.view.pages import SOURCE, TARGET, at_random, seen

matplotlib = pytest.importorskip("matplotlib")


def drawn(figure: Any) -> np.ndarray:
    return np.asarray(figure.axes[0].images[0].get_array())


def labels(figure: Any) -> tuple[list[str], list[str]]:
    axes = figure.axes[0]
    return [each.get_text() for each in axes.get_yticklabels()], [each.get_text() for each in axes.get_xticklabels()]


def test_the_most_telling_map_is_drawn_unless_asked() -> None:
    given = seen()
    figure = given.plot()
    np.testing.assert_array_equal(drawn(figure), given.weights["cross"][-1].mean(0))
    assert labels(figure) == (["Ein", "Hund", "renn", "t", "</s>"], ["A", "dog", "run", "s", ".", "</s>"])
    assert figure.axes[0].get_title() == "cross attention, layer 1, mean of heads"


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
@pytest.mark.parametrize(("layer", "head"), [(0, 1), (1, 0), (-2, None)])
def test_any_layer_and_head_of_any_kind(kind: str, layer: int, head: int | None) -> None:
    given = seen()
    weights = given.weights[kind][layer]
    figure = given.plot(kind, layer, head)
    np.testing.assert_array_equal(drawn(figure), weights.mean(0) if head is None else weights[head])
    assert f"layer {layer % 2}" in figure.axes[0].get_title()


def test_it_can_be_saved_and_leaves_nothing_behind(tmp_path: Any) -> None:
    seen().plot().savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_dollars_are_no_formulas(tmp_path: Any) -> None:
    """matplotlib reads what stands between two dollars as mathematics, and a lone backslash there as an error."""
    source = ["▁$\\frac$", "▁100", "$", "▁", "</s>"]
    figure = seen(source).plot("encoder")
    figure.savefig(tmp_path / "map.png")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"kind": "self"}, "no 'self' attention; it has cross, encoder, decoder"),
        ({"layer": 2}, "no layer 2; cross attention has layers 0 to 1"),
        ({"layer": -3}, "no layer -3"),
        ({"head": 2}, "head 2"),
        ({"head": -1}, "head -1"),
    ],
)
def test_what_is_not_there_is_named(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        seen().plot(**asked)


def test_a_kind_that_the_model_lacks_is_named() -> None:
    recurrent = seen(weights={"cross": at_random(1, 1, len(TARGET), len(SOURCE))})
    with pytest.raises(UsageError, match="no 'encoder' attention; it has cross"):
        recurrent.plot("encoder")


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"pip install -e '.\[plot\]'"):
        seen().plot()
