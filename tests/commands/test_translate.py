"""`regard translate`: its options are those of Python, and notes go to stderr."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import regard
from regard.commands.translate import translate
from regard.tasks.registry import find_task
from regard.tasks.translation.results import Options
from tests.commands.calling import ROOT, SENTENCE, fail, succeed


def test_arguments_one_line_each(run: Path) -> None:
    answer = succeed("translate", run, SENTENCE, "", "Ja.")
    assert len(answer.lines) == 3
    assert answer.lines[1] == ""
    assert answer.lines[0] == succeed("translate", run, SENTENCE).lines[0] != ""


def test_a_text_may_begin_with_a_hyphen(run: Path) -> None:
    assert "behind --" in fail("translate", run, "- Ja.")
    assert len(succeed("translate", run, "--", "- Ja.").lines) == 1


INPUTS = {
    "empty": b"",
    "one": b"Ja.\n",
    "no last line feed": b"Ja.\nNein.",
    "empty lines": b"\nJa.\n\n\nNein.\n\n",
    "white space": b"   \n\t\nJa.\n",
    "windows": b"Ja.\r\n\r\nNein.\r\n",
    "separators": "Ja.\u2028Nein.\u2029Ja.\u0085Nein.\x0bJa.\x0cNein.\x1cJa.\n".encode(),
    "other scripts": "안녕하세요. 저는 학생입니다.\n👩‍👩‍👧 🎉\nこんにちは\nمرحبا\n".encode(),
    "mark": b"\xef\xbb\xbfJa.\n",
    "carriage returns": b"Ja.\rNein.\r\r\n",
    "zero": b"Ja\x00 Nein.\n",
}


@pytest.mark.parametrize("stdin", INPUTS.values(), ids=INPUTS)
def test_one_line_in_one_line_out(run: Path, stdin: bytes) -> None:
    lines = stdin.split(b"\n")[: None if stdin and not stdin.endswith(b"\n") else -1]
    answer = succeed("translate", run, stdin=stdin)
    assert len(answer.lines) == len(lines)
    for given, written in zip(lines, answer.lines, strict=True):
        assert given.strip() or not written


def test_line_ends_do_not_change_a_translation(run: Path) -> None:
    unix = succeed("translate", run, stdin=f"{SENTENCE}\nJa.\n".encode()).out
    assert succeed("translate", run, stdin=f"\ufeff{SENTENCE}\r\nJa.\r\n".encode()).out == unix
    assert succeed("translate", run, stdin=f"{SENTENCE}\nJa.".encode()).out == unix
    assert succeed("translate", run, SENTENCE, "Ja.").out == unix


def test_what_is_not_utf8_names_its_line(run: Path) -> None:
    said = fail("translate", run, stdin=b"Ja.\ngr\xfc\xdfe\n")
    assert said.startswith("regard: standard input, line 2 is not UTF-8: byte 0xfc at position 3")


def test_a_paragraph_is_translated_sentence_by_sentence(run: Path) -> None:
    text = " ".join([SENTENCE] * 40)
    answer = succeed("translate", run, "--json", text)
    assert [json.loads(line)["parts"] for line in answer.lines] == [40]
    assert [json.loads(line)["parts"] for line in succeed("translate", run, "--json", "--no-split", text).lines] < [40]


def test_json_is_one_object_per_line(run: Path) -> None:
    answers = [json.loads(line) for line in succeed("translate", run, SENTENCE, "", "--json").lines]
    assert [each["text"] for each in answers] == succeed("translate", run, SENTENCE, "").lines
    assert [each["finish_reason"] == "empty" for each in answers] == [False, True]
    assert len(answers[0]["token_log_probabilities"]) >= len(answers[0]["tokens"]) > 0


def test_nbest_is_ranked_and_widens_the_beam(run: Path) -> None:
    rows = [line.split("\t") for line in succeed("translate", run, SENTENCE, "--nbest", 4).lines]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    scores = [float(row[1]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert len({row[2] for row in rows}) > 1
    (found,) = succeed("translate", run, SENTENCE, "--nbest", 4, "--json").lines
    assert [each["text"] for each in json.loads(found)["alternatives"]] == [row[2] for row in rows]


def test_samples_follow_their_seed(run: Path) -> None:
    options = ("translate", run, SENTENCE, "--sample", "--temperature", 2.0)
    drawn = [succeed(*options, "--seed", seed).out for seed in (1, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1
    most_probable = succeed("translate", run, SENTENCE, "--sample", "--top-k", 1).out
    assert most_probable == succeed("translate", run, SENTENCE, "--beam", 1).out


def test_a_prefix_begins_every_output(run: Path) -> None:
    lines = succeed("translate", run, SENTENCE, "Ja.", "--prefix", "Well, I").lines
    assert all(line.startswith("Well, I") for line in lines)


def test_options_that_cannot_be(run: Path) -> None:
    assert "top_p must be above 0" in fail("translate", run, SENTENCE, "--sample", "--top-p", 0)
    assert "temperature must be above 0" in fail("translate", run, SENTENCE, "--sample", "--temperature", -1)
    assert "--beam" in fail("translate", run, SENTENCE, "--beam", 0)
    assert "--temperature has an effect only with --sample" in fail("translate", run, SENTENCE, "--temperature", 0.5)
    assert "device" in fail("translate", run, SENTENCE, "--device", "abacus")


def test_every_option_is_one_of_translate() -> None:
    """All but the size of batches, which changes no output, and scores, which are computed for those who see them."""
    parameters = set(inspect.signature(translate).parameters)
    of_loading = {*inspect.signature(regard.load).parameters, *find_task("translation").options("load")}
    of_files = {"text", "input_file", "output", "pairs", "as_json", "verbose"}
    assert parameters - of_files - of_loading == set(Options.__annotations__) - {"batch_tokens", "scores", "to"}


def test_options_reach_the_search() -> None:
    model = regard.load("demo")

    def score(*options: object) -> float:
        return float(json.loads(succeed("translate", "demo", SENTENCE, "--json", *options).out)["score"])

    assert score("--length-penalty", "none") == pytest.approx(model.translate(SENTENCE, length_penalty="none").score)
    assert score("--alpha", 1.5) == pytest.approx(model.translate(SENTENCE, alpha=1.5).score)
    assert len({score(), score("--alpha", 1.5), score("--length-penalty", "none")}) == 3
    cut = succeed("translate", "demo", SENTENCE, "--max-ratio", 0, "--max-extra", 2, "--json")
    assert len(json.loads(cut.out)["tokens"]) == 2
    assert "reached the length limit" in cut.err


def test_options_that_the_bundled_model_cannot_have() -> None:
    for value in ("nan", "inf", -1):
        assert "max_ratio must be at least 0" in fail("translate", "demo", SENTENCE, "--max-ratio", value)
    assert "max_extra must be at least 0" in fail("translate", "demo", SENTENCE, "--max-extra", -1)
    assert "Did you mean 'paper'?" in fail("translate", "demo", SENTENCE, "--length-penalty", "papre")
    assert "needs a beam of at least as many" in fail("translate", "demo", SENTENCE, "--nbest", 9, "--beam", 2)
    said = fail("translate", "demo", SENTENCE, "--prefix", "on and on " * 1_000)
    assert said.startswith("regard: the prefix has")


def test_a_cold_sample_is_greedy() -> None:
    greedy = succeed("translate", "demo", SENTENCE, "--beam", 1).out
    assert succeed("translate", "demo", SENTENCE, "--sample", "--temperature", "1e-42").out == greedy


def test_nbest_of_an_empty_line_is_one_row() -> None:
    rows = succeed("translate", "demo", SENTENCE, "", "--nbest", 7).lines
    assert [row.split("\t")[0] for row in rows] == [*"1234567", "1"]
    assert rows[-1] == "1\t0.0000\t"


# Processes: pipes and signals need real ones


@contextmanager
def started(run: Path, *options: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """`regard translate RUN`, answering line by line, which waits for its first line inside the `with`."""
    program = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a job in the background of a script is born
from regard import cli
from regard.commands import translate
from regard.tasks.translation.translator import Translator
def announce(begin=translate.standard_input):
    print("ready", file=sys.stderr, flush=True)
    return begin()
translate.standard_input = announce
Translator.stream.__kwdefaults__["look_ahead"] = 1
sys.argv = ["regard", "translate", {str(run)!r}, *{options!r}]
cli.main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    rescue = threading.Timer(120, process.kill)  # a test that waits for a line that never comes fails instead
    rescue.start()
    try:
        with process:
            assert process.stderr is not None
            assert process.stderr.readline() == b"ready\n"
            yield process
    finally:
        rescue.cancel()


def test_ctrl_c_is_answered_with_130_and_silence(run: Path) -> None:
    with started(run) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err) == (b"", b"")


def test_text_is_utf8_whatever_the_terminal_claims_and_a_closed_pipe_is_silent(run: Path) -> None:
    with started(run, "--prefix", "안녕", PYTHONIOENCODING="ascii") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"Ja.\n")
        process.stdin.flush()
        assert process.stdout.readline().decode().startswith("안녕")
        process.stdout.close()  # as `head -1` does
        process.stdin.write(b"Nein.\n")
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


def test_a_text_that_is_a_files_name_is_noticed(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("film.srt").write_text("Ja.\n", encoding="utf-8")
    answer = succeed("translate", run.resolve(), "film.srt", "x" * 5_000, "a\0b")
    assert len(answer.lines) == 3
    assert "'film.srt' is read as text, though there is a file of that name" in answer.err
    assert answer.err.count("is read as text") == 1
