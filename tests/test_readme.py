"""The README's commands run, and print what it says they print. Only trainings are shortened."""

from __future__ import annotations

import lzma
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SENTENCES = "--set training.validate_sentences=4"
SHORT = f"--set training.updates=2 {SENTENCES} --set training.batch_tokens=512 --set training.threads=1"


def blocks(language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [content for name, content in fenced if name == language]


def commands() -> list[tuple[str, str]]:
    """Each `$ command` with the output shown below it."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": search, "PYTHONPATH": str(ROOT), "COLUMNS": "120"}
    command = re.sub(r"\bregard (?=[a-z])", f"{sys.executable} -m regard ", command)
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def somebody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of somebody who has text of their own and wrote the README's recipe."""
    folder = tmp_path_factory.mktemp("somebody")
    corpus = resources.files("regard") / "bundled" / "tatoeba-de-en.tsv.xz"
    rows = [line.split("\t") for line in lzma.decompress(corpus.read_bytes()).decode("utf-8").splitlines()]
    for split, most in (("train", 12_000), ("valid", 50)):
        lines = [f"{german}\t{english}\n" for name, german, english in rows if name == split]
        (folder / f"{split}.tsv").write_text("".join(lines[:most]), encoding="utf-8")
    test = [(german, english) for name, german, english in rows if name == "test"][:5]
    (folder / "test.de").write_text("".join(f"{german}\n" for german, _ in test), encoding="utf-8")
    (folder / "test.en").write_text("".join(f"{english}\n" for _, english in test), encoding="utf-8")
    (recipe,) = blocks("toml")
    (folder / "my.toml").write_text(recipe, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_commands_do_what_the_readme_says(somebody: Path) -> None:
    assert len(commands()) >= 5
    for command, shown in commands():
        training = command.startswith("regard train") and "--dry-run" not in command
        few = SHORT if "bundled:" not in command else SHORT.replace(SENTENCES, "")  # which only translations have
        short = f"{command} {few}" if training else command
        done = run(short, somebody)
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        if shown:
            assert done.stdout.rstrip() == shown.rstrip(), f"$ {command} prints something else than the README shows"


def test_nothing_is_left_to_fill_in() -> None:
    left = [word for word in README.split() if re.fullmatch(r"[A-Z_]{6,}", word)]
    assert not left, f"README.md holds a placeholder: {', '.join(left)}"


def test_the_two_commands_are_there() -> None:
    for target in ("quickstart", "test"):
        assert f"make {target}" in README
        assert run(f"make --dry-run {target}", ROOT).returncode == 0


@pytest.mark.slow
def test_quickstart_goes_from_corpus_to_page(tmp_path: Path) -> None:
    toy = "--set model.width=16 --set model.feed_forward=16 --set decoding.beam=1"
    toy += " --set decoding.max_ratio=0 --set decoding.max_extra=4"
    done = run(f"regard quickstart --run runs/toy {SHORT} {toy}", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "BLEU" in done.stdout
    assert done.stdout.count("→ ") >= 10
    assert "weights" in (tmp_path / "runs/toy/attention.html").read_text(encoding="utf-8")
    again = run(f"regard quickstart --run runs/toy {SHORT} {toy}", tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr


def test_the_map_names_what_exists() -> None:
    (map_,) = (block for block in blocks("") if block.startswith("recipes/"))
    for line in map_.splitlines():
        name = line.split()[0]
        assert (ROOT / name).exists() or (ROOT / "regard" / name).exists(), name
