"""The example of a plug-in: a Transformer with ALiBi, which everything else treats like one of regard's own."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.attention.changes import changed
from regard.attention.record import record
from regard.config import recipes
from regard.errors import CheckpointError, ConfigError, UsageError
from regard.experiments.race.entrants import Budget, build_entrants
from regard.plugins import load_plugin
from regard.tasks.registry import build, forget_architecture
from tests.training.toy import ROOT, arguments, contents, finish, start, write_corpus

PLUGIN = ROOT / "examples" / "alibi.py"
ALIBI = ["model.architecture=alibi"]


@pytest.fixture(autouse=True)
def plugin() -> Iterator[Any]:
    before = list(sys.path)
    load_plugin(PLUGIN)
    yield sys.modules["alibi"]
    forget()
    sys.path[:] = before


def forget() -> None:
    """As in a process that does not know the plug-in."""
    if sys.modules.pop("alibi", None):
        forget_architecture("alibi")


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def model(plugin: Any) -> Any:
    torch.manual_seed(3)
    settings = plugin.AlibiSettings(
        width=16,
        feed_forward=24,
        heads=2,
        encoder_layers=2,
        decoder_layers=2,
        dropout=0.0,
        max_positions=20,
        steepness=2.0,
    )
    return build(settings, 30, 30).eval()


SOURCE = torch.tensor([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0]])
TARGET = torch.tensor([[2, 11, 12, 13, 14, 15], [2, 16, 17, 18, 19, 20]])


def same(one: torch.Tensor, other: torch.Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_it_is_small() -> None:
    assert len(PLUGIN.read_text(encoding="utf-8").splitlines()) < 60


def test_the_future_cannot_change_the_past(model: Any) -> None:
    before = model(SOURCE, TARGET)
    for cut in range(1, TARGET.size(1)):
        other = TARGET.clone()
        other[:, cut:] = 25
        after = model(SOURCE, other)
        same(after[:, :cut], before[:, :cut])
        assert (after[:, cut] - before[:, cut]).abs().amax() > 1e-3


def test_order_matters_though_nothing_is_added_to_embeddings(model: Any) -> None:
    """To a Transformer without positions, a source is a set."""
    swapped = SOURCE.clone()
    swapped[0, :2] = SOURCE[0, :2].flip(0)
    memory, other = model.encode(SOURCE)[0][0], model.encode(swapped)[0][0]
    assert (memory[4] - other[4]).abs().amax() > 1e-3
    assert model.position_table(5) is None


def test_fast_and_glass_path_agree_and_rows_sum_to_one(model: Any, plugin: Any) -> None:
    fast = model(SOURCE, TARGET)
    with record(model) as seen:
        same(model(SOURCE, TARGET), fast)
    for name, attention in model.named_modules():
        if isinstance(attention, plugin.AlibiAttention):
            weights, scores = seen[name]["weights"], seen[name]["scores"]
            same(weights.sum(-1), torch.ones(weights.shape[:-1]))
            unbiased = seen[name]["query"] @ seen[name]["key"].transpose(-2, -1) / 8**0.5
            assert (scores - unbiased)[0, 0, 4, 0] == pytest.approx(-4 * 0.5, abs=1e-5), (
                "head 1 of 2: 2 ** (-2 / 2) each"
            )
    with changed(model, temperature=2.0), record(model) as seen:
        model(SOURCE, TARGET)
    flat = seen["encoder.0.self_attention"]
    same(flat["weights"][0], (flat["scores"][0] / 2.0).softmax(-1))


def test_cached_is_uncached_also_for_hypotheses_side_by_side(model: Any) -> None:
    """Their keys lie in one cache, so that a key's place there does not tell how far it is."""
    written = torch.tensor([[2, 11, 12, 13], [2, 11, 21, 22], [2, 16, 17, 18], [2, 16, 23, 24]])
    full = model.project(model(SOURCE.repeat_interleave(2, 0), written))
    state = model.start(SOURCE)
    for place in range(2):
        logits, state = model.step(written[::2, place], state)
        same(logits, full[::2, place])
    state = state.select(torch.tensor([[0, 0], [1, 1]]))
    for place in range(2, 4):
        logits, state = model.step(written[:, place], state)
        same(logits, full[:, place])


def test_a_learned_bias_learns(model: Any, plugin: Any) -> None:
    """The batched kernel gives masks no gradient, so the definition must compute it."""
    attention = model.encoder[0].self_attention
    slopes = attention.slopes.clone().requires_grad_()
    attention.slopes = slopes
    model(SOURCE, TARGET).square().sum().backward()
    assert slopes.grad is not None
    assert slopes.grad.abs().sum() > 0


def test_it_trains_resumes_translates_and_shows_itself(recipe: Path, tmp_path: Path, plugin: Any) -> None:
    straight = regard.train(recipe, run=tmp_path / "straight", overrides=ALIBI, show=False)

    def stop(facts: dict[str, Any]) -> None:
        if facts["update"] == 6:
            raise KeyboardInterrupt

    assert regard.train(recipe, run=tmp_path / "run", overrides=ALIBI, show=False, on_update=stop).progress.update == 7
    run = regard.train(recipe, run=tmp_path / "run", overrides=ALIBI, show=False)
    assert contents(run.folder) == contents(straight.folder)
    assert isinstance(run.model.model, plugin.AlibiTransformer)
    assert run.model.translate(["ba de", "ko"], beam=3)[1].text is not None
    seen = run.view("ba de ko").parts[0]
    assert set(seen.weights) == {"encoder", "decoder", "cross"}
    for weights in seen.weights.values():
        assert weights.sum(-1) == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(UsageError, match="this is a model of the architecture 'alibi'"):
        regard.load(run.folder, engine="ctranslate2")
    forget()
    with pytest.raises(
        CheckpointError,
        match=r"the architecture 'alibi' is of a plug-in: load it with --plugin FILE, or import it in Python",
    ):
        regard.load(run.folder)
    with pytest.raises(ConfigError, match=r"unknown architecture 'alibi'.*--plugin FILE"):
        regard.train(recipe, run=run.folder, overrides=ALIBI, show=False)


@pytest.mark.slow
def test_the_command_line_takes_it(recipe: Path, tmp_path: Path) -> None:
    forget()
    words = [*arguments(recipe, tmp_path / "run", *ALIBI), "--plugin", str(PLUGIN)]
    assert finish(start(words, tmp_path / "output")) == 0, (tmp_path / "output").read_text(encoding="utf-8")
    translate = ["translate", str(tmp_path / "run"), "ba", "--workers", "1"]
    assert finish(start([*translate, "--plugin", str(PLUGIN)], tmp_path / "output")) == 0
    assert finish(start(translate, tmp_path / "output", REGARD_PLUGINS=str(PLUGIN))) == 0
    assert finish(start(translate, tmp_path / "output")) == 2
    assert "is of a plug-in" in (tmp_path / "output").read_text(encoding="utf-8")


def test_a_process_started_afresh_knows_it(recipe: Path) -> None:
    """As trials of an ablation, entrants of a race and decoding processes are: they are sent settings or models."""
    settings = recipes.load(recipe, ALIBI)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(architecture_of, settings.model).result() == "AlibiTransformer"


def architecture_of(settings: Any) -> str:
    return type(build(settings, 30, 30)).__name__


def test_it_races(recipe: Path) -> None:
    entrants, _ = build_entrants(
        recipe, ["transformer", "alibi"], ['data.test={t=["valid.tsv"]}'], Budget(parameters=90_000)
    )
    assert all(entrant.parameters <= 90_000 for entrant in entrants)
    assert [entrant.recipe.model.architecture for entrant in entrants] == ["transformer", "alibi"]


def test_its_recipe_is_sound(tmp_path: Path) -> None:
    recipe = recipes.load(ROOT / "examples" / "alibi.toml")
    assert (recipe.name, recipe.model.architecture) == ("alibi", "alibi")


def test_the_docs_quote_it() -> None:
    blocks = re.findall(
        r"^```py\n(.*?)^```", (ROOT / "docs" / "plug-ins.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert blocks
    for block in blocks:
        assert block in PLUGIN.read_text(encoding="utf-8")
