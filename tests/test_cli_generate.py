"""The verbs of a language model as a user calls them, on a toy that `regard train` makes of the bundled verses first."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard.tasks.trained import load_trained
from tests.test_cli import ROOT, call, fail, succeed

RHYMES = ROOT / "regard" / "bundled" / "rhymes.toml"
VALID = ROOT / "regard" / "bundled" / "rhymes-valid.txt"
SMALL = ("training.updates=30", "training.validate_every=15", "model.width=32", "model.feed_forward=64")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rhymes")
    settings = [word for each in (*SMALL, f"data.prepared={folder / 'prepared'}") for word in ("--set", each)]
    answer = succeed("train", RHYMES, "--run", folder / "run", *settings)
    assert "perplexity" in answer.out
    assert "regard generate" in answer.out
    return folder / "run"


def test_a_text_goes_on(run: Path) -> None:
    answer = succeed("generate", run, "On Monday", "--max-new-tokens", 20, "--seed", 3)
    assert answer.out == f"On Monday{regard.load(run).generate('On Monday', max_new_tokens=20, seed=3).text}\n"
    assert answer.err == ""


def test_every_stretch_is_flushed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = regard.TextGenerator.generate

    def generate(self, prompt="", *, on_text=None, **options):  # type: ignore[no-untyped-def]
        def told(text: str) -> None:
            on_text(text)
            sys.stdout.buffer.flush()
            seen.append(len(sys.stdout.buffer.getvalue()))  # type: ignore[union-attr]

        return real(self, prompt, on_text=told, **options)

    monkeypatch.setattr(regard.TextGenerator, "generate", generate)
    succeed("generate", run, "On", "--max-new-tokens", 20)
    assert len(set(seen)) > 8


def test_several_texts_have_seeds_that_follow_each_other(run: Path) -> None:
    answer = succeed("generate", run, "Tom", "--max-new-tokens", 12, "--count", 3, "--seed", 5, "--json")
    found = [json.loads(line) for line in answer.lines]
    assert [each["seed"] for each in found] == [5, 6, 7]
    assert found[1]["text"] == regard.load(run).generate("Tom", max_new_tokens=12, seed=6).text
    assert {"prompt", "text", "tokens", "token_log_probabilities", "finish_reason"} <= found[0].keys()
    plain = succeed("generate", run, "Tom", "--max-new-tokens", 12, "--count", 3, "--seed", 5)
    assert plain.out.split("\n---\n") == [f"Tom{each['text']}\n" for each in found[:2]] + [f"Tom{found[2]['text']}\n"]


def test_one_line_in_one_line_out(run: Path) -> None:
    prompts = ["On Monday", "", "고래는", "  Tom", "on " * 100]
    given = "".join(f"{prompt}\n" for prompt in prompts).encode()
    answer = succeed("generate", run, "--max-new-tokens", 15, "--temperature", 1, stdin=given)
    assert len(answer.lines) == len(prompts)
    assert "1 prompt(s) longer than the" in answer.err
    found = regard.load(run).generate(prompts, max_new_tokens=15, temperature=1.0)
    assert answer.lines == [(each.prompt + each.text).replace("\n", " ") for each in found]
    twice = succeed("generate", run, "--max-new-tokens", 5, "--count", 2, stdin=given)
    assert len(twice.lines) == 2 * len(prompts)
    assert succeed("generate", run, stdin=b"").out == ""


def test_stop_strings(run: Path) -> None:
    answer = succeed("generate", run, "On Monday", "--stop", "\\n", "--stop", "zzz", "--json")
    found = json.loads(answer.out)
    assert found["finish_reason"] == "stop"
    assert "\n" not in found["text"]


def test_greedy_needs_no_seed(run: Path) -> None:
    one, other = (
        succeed("generate", run, "Tom", "--temperature", 0, "--max-new-tokens", 9, "--seed", seed) for seed in (1, 2)
    )
    assert one.out == other.out


def test_the_old_name_of_an_option_still_works_and_is_not_shown(run: Path) -> None:
    old, new = (succeed("generate", run, "Tom", option, 7).out for option in ("--most", "--max-new-tokens"))
    assert old == new != succeed("generate", run, "Tom", "--max-new-tokens", 20).out
    assert "--most" not in succeed("generate", "--help").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--temperature", "-1"), "temperature must be"),
        (("--top-p", "2"), "top_p must be"),
        (("--stop", ""), "stop takes texts that are not empty"),
        (("--max-new-tokens", "0"), "--max-new-tokens"),
    ],
    ids=str,
)
def test_mistakes(run: Path, arguments: tuple[str, ...], words: str) -> None:
    answer = call("generate", run, "Tom", *arguments)
    assert answer.code == 2
    assert words in answer.err
    assert answer.out == ""


def test_no_prompt_at_all(run: Path) -> None:
    answer = succeed("generate", run, stdin=b"")
    assert answer.out == ""
    assert "no prompt on standard input; '' as prompt lets the model begin" in answer.err
    assert succeed("generate", run, "", "--max-new-tokens", 5).out.strip()


def test_where_nothing_may_come_again_the_text_ends(run: Path) -> None:
    found = json.loads(succeed("generate", run, "On", "--no-repeat-ngram", 1, "--max-new-tokens", 2_000, "--json").out)
    assert found["finish_reason"] == "length"
    assert len(set(found["tokens"])) == len(found["tokens"]) < 2_000
    assert len(found["tokens"]) == len(found["token_log_probabilities"])
    assert found["text"].replace("\n", "").strip()


def test_what_is_of_other_tasks_is_refused(run: Path, tmp_path: Path) -> None:
    assert "--output is of the task 'translation' or 'text-classification'" in fail(
        "evaluate", run, "--output", tmp_path / "out"
    )
    assert "--beam is of the task 'translation'" in fail("view", run, "text", "--beam", 3)
    assert "should end in .html" in fail("view", run, "text", "-o", tmp_path / "page.png")


def test_a_prompt_that_is_no_text(run: Path) -> None:
    """An argument in Latin-1: what it cannot be read as is shown as a question mark, here and in JSON."""
    command = [sys.executable, "-m", "regard", "generate", str(run), b"caf\xe9", "--max-new-tokens", "2"]
    for more in ([], ["--json"]):
        found = subprocess.run([*command, *more], capture_output=True, cwd=ROOT, stdin=subprocess.DEVNULL)
        assert found.returncode == 0, found.stderr
        assert b"caf?" in found.stdout


def test_a_model_of_another_task() -> None:
    assert "cannot generate: its task is 'translation'" in fail("generate", "demo", "Tom")


def test_scores(run: Path) -> None:
    texts = ["On Monday Tom looked for the frog,", "고래는 바다에 살아요.", ""]
    writer = regard.load(run, task="text-generation")
    answer = succeed("score", run, stdin="".join(f"{text}\n" for text in texts).encode())
    assert len(answer.lines) == len(texts)
    for text, line in zip(texts, answer.lines, strict=True):
        found = writer.score(text)
        assert [float(each) for each in line.split("\t")] == [
            pytest.approx(found.log_probability, abs=1e-3), pytest.approx(found.perplexity, rel=1e-3, abs=0.01)
        ]  # fmt: skip
    for one, other in zip(succeed("score", run, *texts[:2]).lines, answer.lines[:2], strict=True):
        assert [float(each) for each in one.split("\t")] == pytest.approx([*map(float, other.split("\t"))], rel=1e-3)
    told = json.loads(succeed("score", run, texts[0], "--json").out)
    assert len(told["tokens"]) == len(told["token_log_probabilities"]) == len(told["ranks"])
    assert told["words"] == 8


def test_evaluating(run: Path) -> None:
    plain = succeed("evaluate", run)
    assert "valid (82 lines" in plain.out
    assert "windows of 64 pieces, 16 new in each" in plain.out
    told = json.loads(succeed("evaluate", run, "--json", "--file", VALID, "--stride", 64).out)["rhymes-valid.txt"][0]
    assert told["name"] == "perplexity"
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in metrics if line["kind"] == "valid"][-1]
    assert told["value"] == pytest.approx(last["perplexity"], rel=1e-4)  # plain windows, as training has them
    assert math.log(told["per_piece"]) == pytest.approx(last["loss"], rel=1e-4)
    assert "from 1 to the window's 64 pieces" in fail("evaluate", run, "--stride", 65)


def test_scores_are_stored(run: Path) -> None:
    succeed("evaluate", run, "--save")
    stored = load_trained(run).provenance["scores"]["valid"][0]
    assert stored["name"] == "perplexity"
    assert "perplexity on valid" in regard.load(run).facts()


def test_a_file_without_text(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    assert "holds no text" in fail("evaluate", run, "--file", tmp_path / "empty.txt")
    assert "missing.txt: No such file" in fail("evaluate", run, "--file", tmp_path / "missing.txt")


def test_looking(run: Path, tmp_path: Path) -> None:
    answer = succeed("view", run, "Tom saw a red frog,")
    assert "Tom saw a red frog" in answer.out
    assert "perplexity" in answer.out
    assert "wrote" in succeed("view", run, "고래는 바다에", "-o", tmp_path / "page.html").out
    assert "고래" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "looks back at most 64" in fail("view", run, "Tom " * 80)
    assert "say what to look at" in fail("view", run)


def test_a_recurrent_model_does_all_of_it(tmp_path: Path) -> None:
    recipe = RHYMES.read_text(encoding="utf-8")
    kept = [line for line in recipe.splitlines() if not line.startswith(("feed_forward", "heads", "norm", "size"))]
    text = "\n".join(kept).replace("[model]", '[model]\narchitecture = "rnn"')
    (tmp_path / "rnn.toml").write_text(text, encoding="utf-8")
    settings = ("training.updates=4", "model.width=16", f"data.prepared={tmp_path / 'prepared'}")
    succeed("train", tmp_path / "rnn.toml", "--run", tmp_path / "run", *(w for s in settings for w in ("--set", s)))
    assert succeed("generate", tmp_path / "run", "Tom", "--max-new-tokens", 80).out.startswith("Tom")
    assert "carried" in succeed("evaluate", tmp_path / "run").out
    assert call("view", tmp_path / "run", "Tom saw", "-o", tmp_path / "page.html").code == 0
