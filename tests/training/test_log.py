"""metrics.jsonl, TensorBoard, and what a person sees."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path

import pytest
from rich.console import Console

from regard.errors import TrainingError, UsageError
from regard.training import log as module
from regard.training.log import TrainingLog
from regard.training.training_state import Progress
from regard.training.update import Update
from tests.training.stand_in import SETTINGS
from tests.training.toy import train


def keep(folder: Path, progress: Progress, console: Console, updates: int) -> None:
    with TrainingLog(folder, SETTINGS, progress, console=console) as log:
        for _ in range(updates):
            progress.update += 1
            log.update(Update(progress.update, 2.0 * progress.update, 4, 0.5, 0.1, []))
        log.validation({"loss": 1.5, "bleu": 20.0})


def test_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOG_EVERY", 5)
    keep(tmp_path, Progress(), Console(file=io.StringIO()), updates=12)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(line["update"], line["kind"]) for line in lines] == [
        (5, "train"), (10, "train"), (12, "train"), (12, "valid"),
    ]  # fmt: skip
    first, _, end, valid = lines
    assert first.keys() == {"update", "kind", "loss", "gradient_norm", "learning_rate", "tokens_per_second", "seconds"}
    assert first["loss"] == 2.0 * (1 + 2 + 3 + 4 + 5) / (5 * 4), "per token, since the line before"
    assert end["loss"] == 2.0 * (11 + 12) / (2 * 4)
    assert first["tokens_per_second"] > 0
    assert valid == {"update": 12, "kind": "valid", "loss": 1.5, "bleu": 20.0, "seconds": 0.0}


def test_what_was_not_saved_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"update": 50}\n{"update": 100}\n{"update": 150}\n{"update": 2', encoding="utf-8")
    TrainingLog(tmp_path, SETTINGS, Progress(update=120), console=Console(file=io.StringIO()))
    assert path.read_text(encoding="utf-8") == '{"update": 50}\n{"update": 100}\n'


def test_what_is_no_line_of_metrics_goes(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    odd = b'\xff\xfe\n\0\0\0\n[]\n{}\n3\n{"update": "x"}\n{"update": -1}\n'
    path.write_bytes(odd + b'{"update": 50}\n' + odd + b'{"update": 100}')
    TrainingLog(tmp_path, SETTINGS, Progress(update=120), console=Console(file=io.StringIO()))
    assert path.read_bytes() == b'{"update": 50}\n{"update": 100}\n'
    path.unlink()
    path.mkdir()
    with pytest.raises(TrainingError, match=r"cannot write .*metrics\.jsonl: Is a directory"):
        TrainingLog(tmp_path, SETTINGS, Progress(update=120), console=Console(file=io.StringIO()))


def test_only_the_first_process_writes(tmp_path: Path) -> None:
    said = io.StringIO()
    with TrainingLog(tmp_path, SETTINGS, Progress(update=11), console=Console(file=said), active=False) as log:
        log.progress.update = 12
        log.update(Update(12, 1.0, 1, 1.0, 1.0, []))
        log.validation({"loss": 1.0})
    assert not list(tmp_path.iterdir())
    assert not said.getvalue()


def test_a_log_file_gets_lines(tmp_path: Path) -> None:
    said = io.StringIO()
    keep(tmp_path, Progress(), Console(file=said, width=40), updates=12)
    train_line, valid_line = said.getvalue().splitlines()
    assert train_line.startswith("update      12  loss 3.250  ")
    assert train_line.endswith(" tokens/s")
    assert valid_line == "update      12  validation  loss 1.500  bleu 20.000", "not wrapped"
    assert not [character for character in said.getvalue() if ord(character) < 32 and character != "\n"]


def test_a_terminal_gets_a_bar(tmp_path: Path) -> None:
    said = io.StringIO()
    keep(tmp_path, Progress(), Console(file=said, force_terminal=True, width=100), updates=12)
    assert "\x1b[" in said.getvalue()
    assert "12/12" in said.getvalue()
    assert "tokens/s" in said.getvalue()


def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    log = TrainingLog(tmp_path, SETTINGS, Progress(), console=Console(file=io.StringIO()))
    with log, pytest.raises(TrainingError, match=r"cannot write .*metrics\.jsonl: No space left"):
        log.validation({"loss": 1.0})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # TensorBoard's own
def test_tensorboard_events(recipe: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train(recipe, tmp_path, "training.tensorboard=true", "training.updates=6")
    train(recipe, tmp_path, "training.tensorboard=true")
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {
        "train/loss", "train/gradient_norm", "train/learning_rate", "train/tokens_per_second", "valid/loss", "valid/bleu",
    }  # fmt: skip
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    wanted = [(line["update"], line["loss"]) for line in lines if line["kind"] == "valid"]
    shown = [(event.step, event.value) for event in events.Scalars("valid/loss")]
    assert [step for step, _ in shown] == [update for update, _ in wanted] == [5, 6, 10, 12]
    assert all(math.isclose(one, other, rel_tol=1e-6) for (_, one), (_, other) in zip(shown, wanted, strict=True))


def test_tensorboard_is_missing(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(UsageError, match=r"pip install -e '.\[tensorboard\]'"):
        train(recipe, tmp_path / "run", "training.tensorboard=true")
    assert not (tmp_path / "run").exists(), "before any work"
