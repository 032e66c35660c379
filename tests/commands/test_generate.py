"""`regard generate`, on a toy that `regard train` makes of the bundled verses."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import regard
from tests.commands.calling import RHYMES, call, fail, succeed


def test_a_text_goes_on(rhymes: Path) -> None:
    answer = succeed("generate", rhymes, "On Monday", "--max-new-tokens", 20, "--seed", 3)
    assert answer.out == f"On Monday{regard.load(rhymes).generate('On Monday', max_new_tokens=20, seed=3).text}\n"
    assert answer.err == ""


def test_every_stretch_is_flushed(rhymes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = regard.TextGenerator.generate

    def generate(self, prompt="", *, on_text=None, **options):  # type: ignore[no-untyped-def]
        def told(text: str) -> None:
            on_text(text)
            sys.stdout.buffer.flush()
            seen.append(len(sys.stdout.buffer.getvalue()))  # type: ignore[union-attr]

        return real(self, prompt, on_text=told, **options)

    monkeypatch.setattr(regard.TextGenerator, "generate", generate)
    succeed("generate", rhymes, "On", "--max-new-tokens", 20)
    assert len(set(seen)) > 8


def test_several_texts_have_seeds_that_follow_each_other(rhymes: Path) -> None:
    answer = succeed("generate", rhymes, "Tom", "--max-new-tokens", 12, "--count", 3, "--seed", 5, "--json")
    found = [json.loads(line) for line in answer.lines]
    assert [each["seed"] for each in found] == [5, 6, 7]
    assert found[1]["text"] == regard.load(rhymes).generate("Tom", max_new_tokens=12, seed=6).text
    assert {"prompt", "text", "tokens", "token_log_probabilities", "finish_reason"} <= found[0].keys()
    plain = succeed("generate", rhymes, "Tom", "--max-new-tokens", 12, "--count", 3, "--seed", 5)
    assert plain.out.split("\n---\n") == [f"Tom{each['text']}\n" for each in found[:2]] + [f"Tom{found[2]['text']}\n"]


def test_one_line_in_one_line_out(rhymes: Path) -> None:
    prompts = ["On Monday", "", "고래는", "  Tom", "on " * 100]
    given = "".join(f"{prompt}\n" for prompt in prompts).encode()
    answer = succeed("generate", rhymes, "--max-new-tokens", 15, "--temperature", 1, stdin=given)
    assert len(answer.lines) == len(prompts)
    assert "1 prompt(s) longer than the" in answer.err
    found = regard.load(rhymes).generate(prompts, max_new_tokens=15, temperature=1.0)
    assert answer.lines == [(each.prompt + each.text).replace("\n", " ") for each in found]
    twice = succeed("generate", rhymes, "--max-new-tokens", 5, "--count", 2, stdin=given)
    assert len(twice.lines) == 2 * len(prompts)
    assert succeed("generate", rhymes, stdin=b"").out == ""


def test_stop_strings(rhymes: Path) -> None:
    answer = succeed("generate", rhymes, "On Monday", "--stop", "\\n", "--stop", "zzz", "--json")
    found = json.loads(answer.out)
    assert found["finish_reason"] == "stop"
    assert "\n" not in found["text"]


def test_greedy_needs_no_seed(rhymes: Path) -> None:
    one, other = (
        succeed("generate", rhymes, "Tom", "--temperature", 0, "--max-new-tokens", 9, "--seed", seed) for seed in (1, 2)
    )
    assert one.out == other.out


def test_the_old_name_of_an_option_still_works_and_is_not_shown(rhymes: Path) -> None:
    old, new = (succeed("generate", rhymes, "Tom", option, 7).out for option in ("--most", "--max-new-tokens"))
    assert old == new != succeed("generate", rhymes, "Tom", "--max-new-tokens", 20).out
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
def test_mistakes(rhymes: Path, arguments: tuple[str, ...], words: str) -> None:
    answer = call("generate", rhymes, "Tom", *arguments)
    assert answer.code == 2
    assert words in answer.err
    assert answer.out == ""


def test_no_prompt_at_all(rhymes: Path) -> None:
    answer = succeed("generate", rhymes, stdin=b"")
    assert answer.out == ""
    assert "no prompt on standard input; '' as prompt lets the model begin" in answer.err
    assert succeed("generate", rhymes, "", "--max-new-tokens", 5).out.strip()


def test_where_nothing_may_come_again_the_text_ends(rhymes: Path) -> None:
    found = json.loads(
        succeed("generate", rhymes, "On", "--no-repeat-ngram", 1, "--max-new-tokens", 2_000, "--json").out
    )
    assert found["finish_reason"] == "length"
    assert len(set(found["tokens"])) == len(found["tokens"]) < 2_000
    assert len(found["tokens"]) == len(found["token_log_probabilities"])
    assert found["text"].replace("\n", "").strip()


def test_a_prompt_that_is_no_text(rhymes: Path) -> None:
    """An argument in Latin-1: what it cannot be read as is shown as a question mark, here and in JSON."""
    prompt = os.fsdecode(b"caf\xe9")  # as Python reads it
    assert "caf?" in succeed("generate", rhymes, prompt, "--max-new-tokens", 2).out
    assert "caf?" in succeed("generate", rhymes, prompt, "--max-new-tokens", 2, "--json").out


def test_a_model_of_another_task() -> None:
    assert "cannot generate: its task is 'translation'" in fail("generate", "demo", "Tom")


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
