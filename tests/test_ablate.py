"""Ablations: each row changes one thing, a trial is an ordinary run, and what the table marks is beyond chance."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from rich.console import Console

from regard.config import Recurrent, TranslationRecipe, recipes
from regard.errors import CheckpointError, ConfigError, UsageError
from regard.experiments.ablation import running, trials
from regard.experiments.ablation.ablate import ablate
from regard.experiments.ablation.page import write_ablation
from regard.experiments.ablation.reading import PARTS, reading
from regard.experiments.ablation.rows import BASE, Row, paper_variations, part_variations, read_rows
from regard.experiments.ablation.running import Ablation, chosen_test_set
from regard.experiments.ablation.table import (
    Line,
    Table,
    cells,
    draw,
    mark_beyond_chance,
    seeds_p_value,
    student,
    tabulate,
)
from regard.experiments.ablation.trials import Measured, Trial, run_trial
from regard.files import alone_in
from regard.tasks.translation.evaluation import TestSet
from tests.training.toy import PATIENCE, ROOT, write_corpus

SMALL = ("training.updates=6", "training.validate_every=3")
TESTED = 'data.test.held=["valid.tsv"]'


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def threads() -> Any:
    """Training sets the number of threads for the whole process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def settings_of(recipe: TranslationRecipe) -> dict[str, Any]:
    return {f"{section}.{key}": value for section, content in recipes.to_dict(recipe).items() if isinstance(content, dict)
            for key, value in content.items()}  # fmt: skip


def test_the_paper_s_rows() -> None:
    """Table 3, as far as it varies one thing at a time and by factors of two; the paper has N = 2, 4, 8."""
    assert paper_variations(TranslationRecipe()) == [
        "model.heads=1", "model.heads=16", "model.key_width=32",
        "model.encoder_layers,model.decoder_layers=3", "model.encoder_layers,model.decoder_layers=8",
        "model.width=256", "model.feed_forward=1024", "model.feed_forward=4096", "model.dropout=0.0", "model.dropout=0.2",
        "training.label_smoothing=0.0", "training.label_smoothing=0.2", "model.positions=learned",
    ]  # fmt: skip


def test_each_row_changes_one_thing(toy: Path) -> None:
    (base, *rows), left_out = read_rows(toy, [], None)
    assert base.name == BASE
    assert left_out == []
    before = settings_of(base.recipe)
    for row in rows:
        changed = {name for name, value in settings_of(row.recipe).items() if value != before[name]}
        assert len(changed) == 1 or changed == {"model.encoder_layers", "model.decoder_layers"}
    assert len({row.name for row in rows}) == len(rows)


def test_what_the_recipe_cannot_have_is_left_out_and_told(toy: Path) -> None:
    rows, left_out = read_rows(toy, ["model.heads=16"], None)
    assert not {"heads-32", "width-8"} & {row.name for row in rows}
    assert len(left_out) == 2
    assert "model.heads = 32 does not divide model.width = 16" in left_out[0]


def test_other_architectures_are_asked_for_what_they_have() -> None:
    rnn = replace(TranslationRecipe(), model=Recurrent(encoder_layers=2, decoder_layers=1))
    named = {variation.partition("=")[0] for variation in paper_variations(rnn)}
    assert named == {
        "model.encoder_layers",
        "model.decoder_layers",
        "model.width",
        "model.dropout",
        "training.label_smoothing",
    }


@pytest.mark.parametrize(
    ("vary", "told"),
    [
        (["model.heads=2"], ["heads 2 → 2 changes nothing"]),
        (["model.key_width=8"], ["key_width 8 → 8 changes nothing"]),
        (
            ["model.heads=3", "model.norm=last"],
            ["3 does not divide model.width = 16; 2 would", "(--vary model.norm=last)"],
        ),
        (["model.head=4"], ["Did you mean 'model.heads'?"]),
        (["model.heads"], ["cannot read --vary 'model.heads'"]),
        (["model.heads=1,"], ["cannot read --vary 'model.heads=1,'"]),
        (["training.seed=2,3"], ["there is `seeds`"]),
        (["data.max_tokens=5"], ["compared on the same text"]),
        (["model.heads=1", "model.heads=4,1"], ["heads 2 → 1 is there already"]),
    ],
)
def test_variations_that_cannot_be_are_told_together(toy: Path, vary: list[str], told: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        read_rows(toy, [], None, vary)
    for mistake, words in zip(caught.value.mistakes, told, strict=True):
        assert words in mistake


def test_several_settings_can_vary_together(toy: Path) -> None:
    rows, _ = read_rows(toy, [], None, ["model.encoder_layers,model.decoder_layers=2,3"])
    assert [(row.name, row.change) for row in rows[1:]] == [("layers-2", "layers 1 → 2"), ("layers-3", "layers 1 → 3")]
    assert rows[2].recipe.model.encoder_layers == rows[2].recipe.model.decoder_layers == 3


def ablation_of(toy: Path, folder: Path, *vary: str, seeds: int = 1, overrides: tuple[str, ...] = SMALL) -> Ablation:
    rows, _ = read_rows(toy, [*overrides, TESTED], None, vary)
    return Ablation(rows, seeds, folder, chosen_test_set(rows[0].recipe, None))


def carry_out_all(ablation: Ablation) -> None:
    """As `run` does, but in this process."""
    for trial in ablation.left():
        run_trial(trial, ablation.test_set, ablation.bases[trial])


def test_trials_are_ordinary_runs_and_are_not_repeated(toy: Path, tmp_path: Path) -> None:
    ablation = ablation_of(toy, tmp_path, "model.heads=1", seeds=2)
    assert [trial.folder.name for trial in ablation.left()] == [
        "base-seed1", "heads-1-seed1", "base-seed2", "heads-1-seed2",
    ]  # fmt: skip
    first = ablation.left()[0]
    run_trial(first, ablation.test_set, ablation.bases[first])
    assert (first.folder / "model.safetensors").is_file()
    before = (first.folder / "model.safetensors").stat().st_mtime_ns
    again = ablation_of(toy, tmp_path, "model.heads=1", "model.key_width=3", seeds=2)
    assert "base-seed1" not in {trial.folder.name for trial in again.left()}
    carry_out_all(again)
    assert again.left() == []
    assert (first.folder / "model.safetensors").stat().st_mtime_ns == before
    results = again.results()
    texts = {trial.folder.name: result.answers for trial, result in results.items() if isinstance(result, Measured)}
    assert len(texts) == 6
    assert {len(each) for each in texts.values()} == {20}
    sizes = {trial.row.name: result.parameters for trial, result in results.items() if isinstance(result, Measured)}
    assert sizes["heads-1"] == sizes[BASE]
    assert sizes["key_width-3"] == sizes[BASE] - 3 * 2 * 5 * 2 * (
        16 + 1
    )  # 3 attentions, query and key, 2 heads of 8 → 3


def test_a_setting_that_regard_has_since_got_makes_no_trial_anew(toy: Path, tmp_path: Path) -> None:
    """Its default is what the trial was trained with; any other value is another trial."""
    ablation = ablation_of(toy, tmp_path, "model.heads=1")
    trial = ablation.left()[0]
    run_trial(trial, ablation.test_set, ablation.bases[trial])
    path = trial.folder / trials.RESULT
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["basis"]["settings"]["training"].pop("bidirectional") == 0
    path.write_text(json.dumps(content), encoding="utf-8")
    assert trial not in ablation.left()
    content["basis"]["settings"]["training"]["bidirectional"] = 0.5
    path.write_text(json.dumps(content), encoding="utf-8")
    assert trial in ablation.left()


def test_a_folder_has_one_ablation_at_a_time(toy: Path, tmp_path: Path) -> None:
    with alone_in(tmp_path), pytest.raises(UsageError, match="another training is at work"):
        ablate(toy, ["model.heads=1"], overrides=[*SMALL, TESTED], run=tmp_path)


def test_the_loss_is_that_of_the_model_in_the_folder(toy: Path, tmp_path: Path) -> None:
    """And without label smoothing, however it was trained."""
    ablation = ablation_of(toy, tmp_path, "training.label_smoothing=0.2", overrides=(*SMALL, "training.keep=last"))
    carry_out_all(ablation)
    for trial, result in ablation.results().items():
        lines = [json.loads(line) for line in (trial.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        assert isinstance(result, Measured)
        assert result.loss == pytest.approx(lines[-1]["loss"], rel=1e-6)
        assert lines[-1]["kind"] == "valid"


def test_a_trial_that_fails_is_told_and_tried_again(toy: Path, tmp_path: Path) -> None:
    ablation = ablation_of(toy, tmp_path, "training.learning_rate=1000", overrides=(*SMALL, "training.clip=0.0"))
    carry_out_all(ablation)
    failed = {trial.row.name: result for trial, result in ablation.results().items() if isinstance(result, str)}
    assert list(failed) == ["learning_rate-1000"]
    assert "numbers are not numbers" in failed["learning_rate-1000"]
    assert [trial.row.name for trial in ablation.left()] == ["learning_rate-1000"]
    rows = [trial.row for trial in ablation.bases]
    table = tabulate(rows, ablation.results(), ablation.test_set)
    assert table.lines[1].failures
    assert table.lines[1].difference is None
    said = io.StringIO()
    draw(table, Console(file=said, width=120))
    assert "failed" in said.getvalue()
    assert "no possible output" in " ".join(said.getvalue().split())


def test_an_interrupted_trial_has_no_result(toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ablation = ablation_of(toy, tmp_path, "model.heads=1")
    monkeypatch.setattr(trials, "train", lambda *_, **__: SimpleNamespace(reason="interrupted"))
    carry_out_all(ablation)
    assert ablation.results() == {}
    assert len(ablation.left()) == 2


def test_another_beam_is_another_result_of_the_same_run(toy: Path, tmp_path: Path) -> None:
    ablation = ablation_of(toy, tmp_path, "model.heads=1")
    carry_out_all(ablation)
    again = ablation_of(toy, tmp_path, "model.heads=1", overrides=(*SMALL, "decoding.beam=1"))
    assert len(again.left()) == 2
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    carry_out_all(again)
    assert again.left() == []
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}


@pytest.mark.parametrize("change", ["training.updates=9", "model.width=8"])
def test_folders_of_other_settings_are_refused_before_anything_is_trained(
    toy: Path, tmp_path: Path, change: str
) -> None:
    carry_out_all(ablation_of(toy, tmp_path, "model.heads=1"))
    with pytest.raises(CheckpointError, match=f"{change.partition('.')[2].partition('=')[0]}.*--run"):
        ablation_of(toy, tmp_path, "model.heads=1", overrides=(*SMALL, change))


def test_the_test_set(toy: Path) -> None:
    with pytest.raises(UsageError, match="names none"):
        chosen_test_set(recipes.load(toy), None)
    with pytest.raises(UsageError, match="Did you mean 'held'"):
        chosen_test_set(recipes.load(toy, [TESTED]), "hold")


@pytest.mark.parametrize(("t", "degrees"), [(12.7062, 1), (4.30265, 2), (2.14479, 14), (2.00030, 60)])
def test_student_s_table(t: float, degrees: int) -> None:
    """The two-sided 5 % points that every table of t has."""
    assert student(t, degrees) == pytest.approx(0.05, abs=1e-4)
    assert student(0.0, degrees) == pytest.approx(1.0)


def test_seeds_that_differ_more_make_a_difference_less_certain() -> None:
    calm, wild = [[30.0, 30.1], [28.0, 28.1]], [[29.0, 31.1], [27.0, 29.1]]
    certain, uncertain = seeds_p_value(*calm, calm), seeds_p_value(*wild, wild)
    assert certain is not None
    assert uncertain is not None
    assert certain < 0.01 < 0.2 < uncertain
    assert seeds_p_value(*calm, [[value + 7 for value in values] for values in calm]) == pytest.approx(certain)
    assert seeds_p_value(calm[0], calm[0], calm) == pytest.approx(1.0)
    # Two degrees of freedom are all that a t-test of two and two has; more rows tell more of what seeds do.
    more = seeds_p_value(*calm, [*calm, *calm, *calm])
    assert more is not None
    assert more < certain


def test_one_seed_says_nothing_of_seeds() -> None:
    assert seeds_p_value([30.0], [29.0], [[30.0], [29.0]]) is None


def test_equal_seeds() -> None:
    assert seeds_p_value([30.0, 30.0], [29.0, 29.0], [[30.0, 30.0], [29.0, 29.0]]) == 0.0
    assert seeds_p_value([30.0, 30.0], [30.0, 30.0], [[30.0, 30.0]]) == 1.0


def line(name: str, *p_values: float, scores: tuple[float, ...] = (20.0, 21.0)) -> Line:
    chances = dict(zip(("sentences", "seeds"), p_values, strict=False)) or None
    return Line(name, name, 10, [1, 2][: len(scores)], [1.0] * len(scores), list(scores), [3.0] * len(scores), [], p_values=chances,
                difference=-1.0 if chances else None)  # fmt: skip


def test_marks_allow_for_many_rows() -> None:
    """Benjamini and Hochberg by hand: 0.01 ≤ 0.05 · 1/4, 0.02 ≤ 0.05 · 2/4, but 0.04 > 0.05 · 3/4."""
    lines = [line(BASE), line("a", 0.01, 0.001), line("b", 0.002, 0.02), line("c", 0.04, 0.03), line("d", 0.9, 0.0)]
    assert [each.row for each in mark_beyond_chance(lines) if each.beyond_chance] == ["a", "b"]
    assert not any(each.beyond_chance for each in mark_beyond_chance([line(BASE)]))


def made_up(texts: dict[tuple[str, int], list[str]], references: list[str]) -> Table:
    names = list(dict.fromkeys(name for name, _ in texts))
    rows = {name: Row(name, name, TranslationRecipe()) for name in names}
    results = {
        Trial(rows[name], seed, Path(name)): Measured(10, 1.0, 2.0, given) for (name, seed), given in texts.items()
    }
    return tabulate(list(rows.values()), results, TestSet("made up", references, references))


def test_a_clear_difference_is_marked_and_none_is_not() -> None:
    references = [f"a dog {number} runs over the green meadow near house {number * 7}" for number in range(60)]
    worse = [" ".join(["the", "cat", *each.split()[4:]]) for each in references]
    half = [bad if number % 2 else good for number, (good, bad) in enumerate(zip(references, worse, strict=True))]
    other = [good if number % 2 else bad for number, (good, bad) in enumerate(zip(references, worse, strict=True))]
    table = made_up({
        (BASE, 1): half, (BASE, 2): other, ("worse", 1): worse, ("worse", 2): worse, ("same", 1): other, ("same", 2): half,
    }, references)  # fmt: skip
    base, lower, same = table.lines
    assert base.difference is None
    assert lower.difference is not None
    assert lower.difference < 0
    assert lower.beyond_chance
    assert same.difference == pytest.approx(0.0)
    assert not same.beyond_chance
    assert json.loads(json.dumps(table.to_dict()))["lines"][1]["p_value"] == lower.p_value


def test_more_seeds_with_the_same_outputs_are_no_more_sentences() -> None:
    """Twice the same translations must not look like twice the evidence."""
    references = [f"a dog {number} runs over the green meadow near house {number * 7}" for number in range(40)]
    half = [each.replace("dog", "cat") if number % 2 else each for number, each in enumerate(references)]
    some = [each.replace("dog", "hen") if number % 3 == 0 else each for number, each in enumerate(references)]
    once = made_up({(BASE, 1): half, ("row", 1): some}, references).lines[1].p_values
    twice = (
        made_up({(BASE, 1): half, (BASE, 2): half, ("row", 1): some, ("row", 2): some}, references).lines[1].p_values
    )
    assert once is not None
    assert twice is not None
    assert 0.001 < once["sentences"] < 1
    assert once["sentences"] == twice["sentences"]


def test_the_page_shows_every_seed_and_escapes_what_people_write(tmp_path: Path) -> None:
    lines = [
        line(BASE),
        line("<b>", 0.01, 0.01, scores=(18.0, 19.5)),
        replace(line("gone", scores=()), failures=["seed 1: <nan>"]),
    ]
    table = Table("x", "test", 100, 10, "sig", mark_beyond_chance(lines))
    page = write_ablation(tmp_path, table, "regard ablate '<x>'").read_text(encoding="utf-8")
    assert page.count("<circle") == 4
    assert "&lt;b&gt;" in page
    assert "&lt;nan&gt;" in page
    assert "<b>" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert all(cell in page for cell in cells(lines[1])[:4])


def start(toy: Path, folder: Path, *more: str) -> subprocess.Popen[str]:
    """The verb in a process of its own."""
    words = [
        "ablate",
        str(toy),
        "--run",
        str(folder),
        "--seeds",
        "1",
        "--vary",
        "model.heads=1",
        "--set",
        TESTED,
        *more,
    ]
    return subprocess.Popen(
        [sys.executable, "-m", "regard", *words], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def wait_for(condition: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


ENDLESS = [word for each in ("updates=1_000_000", "validate_every=1_000_000", "checkpoint_every=0")
           for word in ("--set", f"training.{each}")]  # fmt: skip


@pytest.mark.slow
def test_trials_save_when_interrupted_go_on_and_leave_with_an_ablation_that_is_killed(
    toy: Path, tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("base-seed1", "heads-1-seed1")]
    lasts = [folder / "checkpoints" / "last.safetensors" for folder in folders]
    process = start(toy, tmp_path, "--workers", "2", *ENDLESS)
    wait_for(lambda: all(running.updates_done(folder) for folder in folders))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert "Go on with: regard ablate" in said
    assert all(last.is_file() for last in lasts)  # which nothing but a polite end writes so early
    before = [
        (running.updates_done(folder), last.stat().st_mtime_ns) for folder, last in zip(folders, lasts, strict=True)
    ]
    process = start(toy, tmp_path, "--workers", "2", *ENDLESS)
    wait_for(
        lambda: all(running.updates_done(folder) > done for folder, (done, _) in zip(folders, before, strict=True))
    )
    assert all("going on after update" in (folder / "log.txt").read_text(encoding="utf-8") for folder in folders)
    process.kill()
    process.communicate()
    wait_for(lambda: all(last.stat().st_mtime_ns > when for last, (_, when) in zip(lasts, before, strict=True)))


@pytest.mark.slow
def test_from_recipe_to_table(toy: Path, tmp_path: Path) -> None:
    small = [word for each in SMALL for word in ("--set", each)]
    process = start(toy, tmp_path, "--workers", "2", "--json", *small)
    out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    found = json.loads(out)
    assert [each["row"] for each in found["lines"]] == [BASE, "heads-1"]
    assert all(each["perplexity"] == pytest.approx(math.exp(each["loss"])) for each in found["lines"])
    assert (tmp_path / "ablation.html").is_file()


@pytest.mark.slow
def test_a_process_that_dies_does_not_stop_the_others(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ablation = ablation_of(toy, tmp_path, "model.heads=1")
    monkeypatch.setattr(running, "work", os.abort)  # which takes no arguments
    results, stopped = ablation.run(2)
    assert not stopped
    assert ["ended with code 1" in str(result) for result in results.values()] == [True, True]


def test_the_rows_of_the_parts(toy: Path) -> None:
    """What does each part do? A Transformer without each, whatever it has now."""
    assert part_variations(TranslationRecipe()) == [
        "model.positions=none", "model.residual=false", "model.norm=none", "model.norm=pre", "model.scale=false",
        "model.feed_forward=0", "model.bias=false", "model.activation=gelu", "model.activation=swish", "model.norm_epsilon=0.1",
    ]  # fmt: skip
    (_, *rows), left_out = read_rows(toy, ["model.norm=pre", "model.activation=gelu"], None, preset="parts")
    assert left_out == []
    assert [row.name for row in rows if row.name.startswith(("norm-", "activation"))] == [
        "norm-none", "norm-post", "activation-relu", "activation-swish",
    ]  # fmt: skip
    assert {row.name for row in rows} <= PARTS.keys()  # each has its sentence
    with pytest.raises(UsageError, match="takes a Transformer apart"):
        part_variations(replace(TranslationRecipe(), model=Recurrent()))
    with pytest.raises(UsageError, match=r"no preset 'part'\. Did you mean 'parts'"):
        read_rows(toy, [], None, preset="part")


def test_the_rows_of_regularization_are_those_that_a_model_can_have(toy: Path) -> None:
    (_, *rows), left_out = read_rows(toy, [], None, preset="regularization")
    assert left_out == []
    assert [row.name for row in rows] == [
        "subword_sampling-0.1",
        "word_dropout-0.1",
        "bidirectional-0.33",
        "r_drop-5",
        "simcut-3",
    ]  # fmt: skip; its attention has a dropout
    (_, *moods), _ = read_rows(Path("bundled:moods.toml"), [], None, preset="regularization")
    assert {row.name for row in moods} == {
        "attention_dropout+activation_dropout-0.1",
        "subword_sampling-0.1",
        "r_drop-5",
    }  # words are hidden already


def test_what_would_hide_a_part_is_left_out_of_the_base() -> None:
    """A bag of n-grams answers alone where attention fails; whoever wants it says so."""
    moods = Path("bundled:moods.toml")
    assert [row.recipe.model.ngrams for row in read_rows(moods, [], None, preset="parts")[0]] == [1] * 11  # type: ignore[attr-defined]
    kept, _ = read_rows(moods, ["model.ngrams=3"], None, preset="parts")
    assert kept[0].recipe.model.ngrams == 3  # type: ignore[attr-defined]
    paper, _ = read_rows(moods, [], None)
    assert paper[0].recipe.model.ngrams == 2  # type: ignore[attr-defined]


def test_the_bundled_recipe_has_every_part() -> None:
    rows, left_out = read_rows(Path("bundled:parts.toml"), [], None, preset="parts")
    assert left_out == []
    assert [row.name for row in rows] == [
        BASE, "positions-none", "residual-false", "norm-none", "norm-pre", "scale-false", "feed_forward-0", "bias-false",
        "activation-gelu", "activation-swish", "norm_epsilon-0.1",
    ]  # fmt: skip


TEXTS = {
    "text-classification": ("moods.toml", "accuracy"),
    "text-generation": ("rhymes.toml", "perplexity"),
}


@pytest.mark.parametrize("task", TEXTS)
def test_every_task_is_taken_apart(task: str, tmp_path: Path) -> None:
    """Trained for moments: what counts is that each row is trained, judged and told."""
    name, metric = TEXTS[task]
    small = ["model.width=8", "model.feed_forward=8", "model.heads=2", "model.layers=1", "training.updates=2",
             "training.validate_every=2", "training.batch_tokens=64", f"data.prepared={tmp_path / 'prepared'}",
             "training.average=1"]  # fmt: skip
    recipe = f"bundled:{name}"
    rows, left_out = read_rows(recipe, small, None, ["model.positions=none"])
    assert left_out == []
    assert "feed_forward-0" in {row.name for row in read_rows(recipe, small, None, preset="parts")[0]}
    test_set = chosen_test_set(rows[0].recipe, None)
    few = type(test_set)(test_set.name, test_set.sources[:30], test_set.references[:30])
    ablation = Ablation(rows, 1, tmp_path / "runs", few)
    carry_out_all(ablation)
    table = tabulate(rows, ablation.results(), few)
    assert [line.failures for line in table.lines] == [[], []]
    assert (table.metric, table.lower, table.sentences) == (metric, metric == "perplexity", 30)
    assert all(line.scores[0] > 0 and line.curves[0][-1][0] == 2 for line in table.lines)
    page = write_ablation(tmp_path, table).read_text(encoding="utf-8")
    assert "Without positions attention sees a set" in page
    assert page.count("<polyline") == 3  # the base, and the row before the base


def test_a_row_is_read_as_it_came_out() -> None:
    lines = [line(BASE, scores=(30.0, 30.2)), line("residual-false", 0.001, 0.001, scores=(2.0, 2.2)),
             line("bias-false", 0.5, 0.6, scores=(30.0, 30.1)), line("norm-pre", 0.001, 0.001, scores=(33.0, 33.1)),
             replace(line("norm-none", scores=()), failures=["seed 1: the loss is not a number"])]  # fmt: skip
    table = Table("x", "test", 100, 10, "sig", mark_beyond_chance([
        lines[0], *(replace(each, difference=each.scores[0] - 30.0) if each.scores else each for each in lines[1:]),
    ]))  # fmt: skip
    told = [reading(table, each)[0] for each in table.lines]
    assert told[0] == ""
    assert told[1].endswith("BLEU 30.10 → 2.10; it has hardly learned the task.")
    assert told[2].endswith("within chance.")
    assert told[3].endswith("better beyond chance.")
    assert told[4].endswith("It could not be trained to the end.")  # a result, not an error
    fewer = replace(table, lower=True, metric="perplexity")
    assert reading(fewer, table.lines[3])[0].endswith("worse beyond chance.")
