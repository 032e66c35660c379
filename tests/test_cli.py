"""Every verb as a user calls it, on one toy model that `regard train` makes first."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

import regard
from regard import cli
from regard.config import recipes
from regard.data.corpus import read_pairs

ROOT = Path(__file__).parent.parent
VERBS = sorted(command.callback.__name__ for command in cli.app.registered_commands if command.callback)
SENTENCE = "Ich habe heute keine Zeit."
RECIPE = """
[data]
source_language = "de"
target_language = "en"
train = ["toy.tsv"]
valid = ["toy.tsv"]
split_column = 1
source_column = 2
target_column = 3
max_tokens = 60
[data.test]
test = ["toy.tsv"]
[tokenizer]
vocabulary = 500
[model]
size = "tiny"
width = 32
feed_forward = 64
encoder_layers = 1
decoder_layers = 1
dropout = 0.0
[training]
batch_tokens = 512
updates = 30
learning_rate = 5e-3
warmup = 10
validate_every = 15
validate_sentences = 10
average = 1
threads = 1
[decoding]
beam = 2
max_ratio = 1.0
max_extra = 5
"""


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Lines as regard counts them: only a line feed ends one."""
        assert self.out.endswith("\n") or not self.out
        return self.out.split("\n")[:-1]


def call(*arguments: object, stdin: bytes = b"") -> Answer:
    """`regard ARGUMENTS`, in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in "oe")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["regard", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.setenv("COLUMNS", "300")
        patch.delenv("REGARD_DATA", raising=False)
        with pytest.raises(SystemExit) as left:
            cli.main()
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    return Answer(int(left.value.code or 0), *texts)


def succeed(*arguments: object, stdin: bytes = b"") -> Answer:
    answer = call(*arguments, stdin=stdin)
    assert answer.code == 0, answer
    return answer


def fail(*arguments: object, stdin: bytes = b"") -> str:
    """What is said on stderr when a command is refused."""
    answer = call(*arguments, stdin=stdin)
    assert answer.code == 2, answer
    assert "Traceback" not in answer.err
    return answer.err


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`toy.toml` with its corpus, `run` trained from it, and the test set as two files."""
    folder = tmp_path_factory.mktemp("cli")
    bundled = recipes.load(ROOT / "recipes" / "translate" / "tiny.toml").data
    rows = []
    for split, count in (("train", 400), ("valid", 20), ("test", 12)):
        pairs = list(islice(read_pairs(bundled.train, bundled, split), count))
        rows += [f"{split}\t{source}\t{target}\n" for source, target in pairs]
    (folder / "test.de").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    (folder / "test.en").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")
    (folder / "toy.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8")
    answer = succeed("train", folder / "toy.toml", "--run", folder / "run", *prepared(folder))
    assert "all updates done" in answer.out
    assert f"regard evaluate {folder / 'run'}" in answer.out
    return folder


def prepared(folder: Path) -> tuple[str, str]:
    return "--set", f"data.prepared={folder / 'prepared'}"


@pytest.fixture(scope="session")
def run(folder: Path) -> Path:
    return folder / "run"


# Help and mistakes


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_an_example(verb: str) -> None:
    answer = succeed(verb, "--help")
    example = re.search(rf"Examples?: .*regard {verb}\b", answer.out)
    assert example, answer.out
    assert succeed(verb, "-h").out == answer.out


def test_help_names_every_verb() -> None:
    out = succeed("--help").out
    assert all(re.search(rf"│ {verb}\b", out) for verb in VERBS)
    assert succeed("--version").out == f"regard {regard.__version__}\n"


def test_help_does_not_wait_for_torch() -> None:
    program = f"""
import sys
from regard.cli import main
for verb in {["--version", *VERBS]}:
    sys.argv = ["regard", verb] if verb[0] == "-" else ["regard", verb, "--help"]
    try:
        main()
    except SystemExit as left:
        assert not left.code, verb
    assert "torch" not in sys.modules, verb
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_an_unknown_verb_or_option_is_named() -> None:
    assert "translat" in fail("translat")
    assert "--beem" in fail("translate", "x", "--beem", 3)


@pytest.mark.parametrize("verb", ["translate", "evaluate", "score", "view"])
def test_an_unknown_model_suggests_a_neighbour(verb: str, run: Path) -> None:
    wrong = f"{run}s"
    said = fail(verb, wrong, *(["x"] if verb == "view" else []))
    assert said == f"regard: no model at {wrong}. Did you mean '{run}'?\n"


def test_a_bad_recipe_says_all_its_mistakes_and_starts_nothing(tmp_path: Path) -> None:
    recipe = tmp_path / "bad.toml"
    recipe.write_text("[model]\nhead = 4\n[training]\nupdates = 'x'\n", encoding="utf-8")
    for verb in ("train", "prepare"):
        said = fail(verb, recipe, "--set", "model.norm=past")
        assert f"unknown setting 'model.head' ({recipe}, line 2). Did you mean 'model.heads'?" in said
        assert f"training.updates must be a whole number, not 'x' ({recipe}, line 4)" in said
        assert "not 'past' (--set model.norm=past)" in said
    recipe.write_text("[data]\ntrain = ['a.tsv']\n", encoding="utf-8")
    for command in (("train",), ("train", "--dry-run"), ("prepare",)):
        assert "data.valid is not set" in fail(*command, recipe)
    assert os.listdir(tmp_path) == ["bad.toml"]


def test_text_that_is_not_there(tmp_path: Path) -> None:
    recipe = tmp_path / "missing.toml"
    recipe.write_text("[data]\ntrain = ['a.tsv']\nvalid = ['b.tsv']\n", encoding="utf-8")
    assert f"no file {tmp_path / 'a.tsv'}" in fail("prepare", recipe)
    assert f"no folder {tmp_path / 'none'}" in fail("prepare", recipe, "--data", tmp_path / "none")
    said = fail("train", recipe, "--dry-run", "--set", "model.size=tiny", "--set", "training.batch_tokens=128")
    assert str(tmp_path / "a.tsv") in said
    assert str(tmp_path / "b.tsv") in said


# Prepare and train


def test_prepare_reports_and_is_done_once(folder: Path) -> None:
    first = succeed("prepare", folder / "toy.toml", *prepared(folder))
    assert re.search(r"train: \d+ of 400 pairs kept", first.out)
    place = Path(first.lines[-1].removeprefix("ready in "))
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    assert succeed("prepare", folder / "toy.toml", *prepared(folder)).out == first.out
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == before


def test_prepare_notices_damage(folder: Path, tmp_path: Path) -> None:
    command = ("prepare", folder / "toy.toml", "--set", f"data.prepared={tmp_path}")
    ids = Path(succeed(*command).lines[-1].removeprefix("ready in ")) / "train.ids"
    content = bytearray(ids.read_bytes())
    content[0] ^= 1  # the size stays, so only the checksum can tell
    ids.write_bytes(bytes(content))
    assert "changed or damaged" in fail(*command)


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = succeed("train", ROOT / "recipes" / "translate" / "tiny.toml", "--dry-run").out
    assert "2,000 tokens" in out
    assert out.count("tokens/s") == 2
    assert "the recipe is sound" in out
    assert not os.listdir(tmp_path)


def test_a_dry_run_counts_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "165,667 parameters with 600 tokens and 3 labels" in succeed("train", "bundled:moods.toml", "--dry-run").out
    assert "Did you mean 'bundled:moods.toml'?" in fail("train", "bundled:mood.toml")


def test_a_dry_run_reads_the_first_pair_of_each_text(tmp_path: Path) -> None:
    recipe = tmp_path / "my.toml"
    recipe.write_text(
        "[data]\ntrain = ['train.tsv']\nvalid = ['valid.tsv']\ntarget_column = 3\n"
        "test = {own = ['a', 'b'], far = ['far.tsv']}\ndownload = {'far.tsv' = 'http://localhost:1/x 0'}\n"
        "[model]\nsize = 'tiny'\n[training]\nbatch_tokens = 128\n",
        encoding="utf-8",
    )
    (tmp_path / "train.tsv").write_text("no tabs at all\n", encoding="utf-8")
    (tmp_path / "valid.tsv").write_text("one\ttwo\n", encoding="utf-8")
    for name in "ab":
        (tmp_path / name).touch()
    said = fail("train", recipe, "--dry-run")
    assert f"data.train: {tmp_path / 'train.tsv'}, line 1 has 1 tab-separated columns, but column 3" in said
    assert f"data.valid: {tmp_path / 'valid.tsv'}, line 1 has 2 tab-separated columns, but column 3" in said
    assert f"data.test.own: {tmp_path / 'a'} and {tmp_path / 'b'} are empty" in said
    assert "far" not in said
    for name in ("train.tsv", "valid.tsv"):
        (tmp_path / name).write_text("0\tone\ttwo\n", encoding="utf-8")
    for name in "ab":
        (tmp_path / name).write_text("one\n", encoding="utf-8")
    assert "the recipe is sound" in succeed("train", recipe, "--dry-run").out


def test_a_dry_run_without_tensorboard_or_where_memory_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("train", ROOT / "recipes" / "translate" / "tiny.toml", "--dry-run", "--set", "training.batch_tokens=128")
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    out = succeed(*command).out
    assert "the recipe is sound" in out
    assert "peak memory" not in out
    monkeypatch.setattr("regard.training.log.find_spec", lambda name: None)
    assert "needs TensorBoard" in fail(*command, "--set", "training.tensorboard=true")


def test_a_quickstart_that_stopped_says_the_whole_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = SimpleNamespace(reason="interrupted")
    monkeypatch.setattr("regard.quickstart.train", lambda *given, **more: stopped)
    command = ("quickstart", "--run", tmp_path / "a b", "--set", "training.updates=9")
    assert succeed(*command).lines[-1].endswith(f"regard quickstart --run '{tmp_path}/a b' --set training.updates=9")


def test_training_goes_on_only_with_the_same_settings(folder: Path, run: Path) -> None:
    same = ("train", folder / "toy.toml", "--run", run, *prepared(folder))
    before = (run / "model.safetensors").read_bytes()
    assert "all updates done" in succeed(*same).out
    assert (run / "model.safetensors").read_bytes() == before
    assert "model.norm: 'post' → 'pre'" in fail(*same, "--set", "model.norm=pre")


# Translate


def test_arguments_one_line_each(run: Path) -> None:
    answer = succeed("translate", run, SENTENCE, "", "Ja.")
    assert len(answer.lines) == 3
    assert answer.lines[1] == ""
    assert answer.lines[0] == succeed("translate", run, SENTENCE).lines[0] != ""


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


def test_a_text_longer_than_trained_for_is_split_and_said(run: Path) -> None:
    answer = succeed("translate", run, " ".join([SENTENCE] * 40))
    assert len(answer.lines) == 1
    assert "1 text(s) longer than" in answer.err


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
    assert "device" in fail("translate", run, SENTENCE, "--device", "abacus")


# Processes: pipes and signals need real ones


@contextmanager
def started(run: Path, *options: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """`regard translate RUN`, answering line by line, which waits for its first line inside the `with`.

    It is born deaf to SIGINT, as a job in the background of a script is.
    """
    program = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from regard import cli
from regard.commands import translating
from regard.tasks.translation.translator import Translator
def announce(begin=translating.standard_input):
    print("ready", file=sys.stderr, flush=True)
    return begin()
translating.standard_input = announce
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


# Evaluate, compare, score, view


def test_evaluate_the_recipes_test_set(run: Path) -> None:
    out = succeed("evaluate", run, "--beam", 1).out
    assert out.startswith("test (12 sentences)\n")
    for name in ("BLEU", "chrF2", "TER"):
        assert re.search(rf"  {name} [\d.]+  \(nrefs:1\|.*version:", out)


def test_evaluate_files_and_write_the_translations(folder: Path, run: Path, tmp_path: Path) -> None:
    files = ("--source", folder / "test.de", "--target", folder / "test.en")
    scored = json.loads(succeed("evaluate", run, *files, "--json", "--paper", "--output", tmp_path / "out").out)
    ((name, found),) = scored.items()
    assert [each["name"] for each in found] == ["BLEU", "chrF2", "TER", "tokenised BLEU"]
    assert all(each["signature"] for each in found)
    assert found[:3] == json.loads(succeed("evaluate", run, "--json").out)["test"]
    written = (tmp_path / "out" / f"{name}.txt").read_bytes()
    assert written.decode() == succeed("translate", run, stdin=(folder / "test.de").read_bytes()).out
    assert "--source and --target go together" in fail("evaluate", run, "--source", folder / "test.de")
    assert "File exists" in fail("evaluate", run, *files, "--output", folder / "toy.tsv")


def test_saved_scores_stay_with_the_model(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (bleu, *_) = json.loads(succeed("evaluate", copy, "--json", "--save").out)["test"]
    kept = regard.load(copy)
    assert kept.facts()["BLEU on test"] == f"{bleu['value']:.1f}"
    assert kept.translate(SENTENCE) == regard.load(run).translate(SENTENCE)


def test_a_model_file_alone_needs_to_be_told_where_the_data_is(
    folder: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.safetensors"
    shutil.copy(run / "model.safetensors", file)
    (tmp_path / "toy.tsv").write_text("test\tJa.\tYes.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # where a file of the same name means nothing
    said = fail("evaluate", file)
    assert "is toy.tsv." in said
    assert all(option in said for option in ("--data DIR", "--source FILE", "--target FILE"))
    assert "--data" in fail("evaluate", file, "--data", folder / "none")
    right = succeed("evaluate", run).out
    assert succeed("evaluate", file, "--data", folder).out == right
    assert succeed("evaluate", run / "model.safetensors").out == right


def test_a_run_knows_files_that_lay_elsewhere(folder: Path, run: Path, tmp_path: Path) -> None:
    """The model file keeps only their names; a namesake in the data folder is not meant."""
    elsewhere, namesake, copy = tmp_path / "toy.tsv", tmp_path / "data" / "toy.tsv", tmp_path / "run"
    elsewhere.write_text("test\tJa.\tYes.\n", encoding="utf-8")
    namesake.parent.mkdir()
    shutil.copy(folder / "toy.tsv", namesake)
    shutil.copytree(run, copy)
    stored = recipes.load(copy / "config.toml", [f"data.test.test=['{elsewhere}']"], namesake.parent, finished=True)
    (copy / "config.toml").write_text(recipes.to_toml(stored), encoding="utf-8")
    assert succeed("evaluate", copy).out.startswith("test (1 sentences)\n")
    assert "no test set with the sentences of 'test'" in fail("compare", run, copy, "--resamples", 100)


def test_what_is_bundled_stays_as_it_is() -> None:
    assert "demo is part of regard" in fail("evaluate", "demo", "--save")


def test_compare_files_and_models(folder: Path, run: Path, tmp_path: Path) -> None:
    references = (folder / "test.en").read_text(encoding="utf-8").splitlines()
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("".join(f"{line}\n" for line in references), encoding="utf-8")
    bad.write_text("".join(f"{line.split()[0]}\n" for line in references), encoding="utf-8")
    files = ("--target", folder / "test.en", "--resamples", 100)
    found = json.loads(succeed("compare", bad, good, *files, "--json").out)["test.en"]
    assert all(metric["difference"] > 0 for metric in found["metrics"])
    assert "B - A" in succeed("compare", bad, good, *files).out
    with_model = succeed("compare", run, good, "--source", folder / "test.de", *files, "--json")
    assert json.loads(with_model.out)["test.de"]["metrics"][0]["scores"][1] == pytest.approx(100.0)
    itself = json.loads(succeed("compare", run, run, "--resamples", 100, "--json").out)["test"]
    assert all(metric["difference"] == 0 and metric["p_value"] == 1 for metric in itself["metrics"])
    assert "--target" in fail("compare", bad, good)
    assert "each line needs exactly one reference" in fail("compare", bad, folder / "toy.tsv", *files)


def test_models_are_compared_on_each_test_set_of_the_first(folder: Path, run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (tmp_path / "more.tsv").write_text("more\tJa.\tYes.\n", encoding="utf-8")
    more = [f"data.test.more=['{tmp_path / 'more.tsv'}']"]
    stored = recipes.load(run / "config.toml", more, finished=True)
    (copy / "config.toml").write_text(recipes.to_toml(stored), encoding="utf-8")
    options = ("--resamples", 100, "--worst", 0)
    both = json.loads(succeed("compare", copy, copy, *options, "--json").out)
    assert {name: found["sentences"] for name, found in both.items()} == {"test": 12, "more": 1}
    assert succeed("compare", copy, copy, "--test", "more", *options).lines[0] == "test set: more"
    assert "1 sentences" in succeed("compare", copy, copy, "--test", "more", *options).out
    assert list(json.loads(succeed("compare", run, copy, *options, "--json").out)) == ["test"]
    assert "no test set with the sentences of 'more'" in fail("compare", copy, run, *options)
    assert "no test set 'mor'. Did you mean 'more'?" in fail("compare", copy, run, "--test", "mor")


def test_score_pairs_and_files(folder: Path, run: Path) -> None:
    pairs = zip(
        *((folder / f"test.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en")), strict=True
    )
    stdin = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    values = [float(line) for line in succeed("score", run, stdin=stdin).lines]
    assert len(values) == 12
    assert all(value < 0 for value in values)
    files = ("--source", folder / "test.de", "--target", folder / "test.en")
    assert [float(line) for line in succeed("score", run, *files).lines] == values
    found = [json.loads(line) for line in succeed("score", run, *files, "--json").lines]
    assert [round(each["log_probability"], 4) for each in found] == values
    assert all(each["perplexity"] > 1 for each in found)
    assert "line 2 has 3 tab-separated columns" in fail("score", run, stdin=b"a\tb\na\tb\tc\n")
    assert "go together" in fail("score", run, "--source", folder / "test.de")


def test_view_a_page_and_the_terminal(run: Path, tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    assert succeed("view", run, SENTENCE, "-o", page).out == f"wrote {page}\n"
    html = page.read_text(encoding="utf-8")
    assert "Ich habe heute keine Zeit." in html
    assert "<html" in html
    out = succeed("view", run, SENTENCE).out
    assert "cross attention, layer 1" in out
    assert SENTENCE in out
    assert "nothing to look at" in fail("view", run, " ")
    assert "cannot write" in fail("view", run, SENTENCE, "-o", page / "page.html")
