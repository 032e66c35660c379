"""How runs learned, shown: from whatever a run has written so far, in a terminal and as a page."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from regard.errors import TrainingError, UsageError
from regard.run_log import METRICS, read_metrics
from regard.view.curve import Curve, _follow, curve, draw_curves, load_curve, render_curves, thinned, write_curves
from tests.view.test_page import Elements


def train_line(update: int, loss: float) -> dict[str, object]:
    return {"update": update, "kind": "train", "loss": loss, "learning_rate": 0.1, "seconds": update / 10}


def valid_line(update: int, **measures: float) -> dict[str, object]:
    return {"update": update, "kind": "valid", **measures, "seconds": update / 10}


LINES = [
    train_line(50, 3.0),
    train_line(100, 2.0),
    valid_line(100, loss=2.2, accuracy=60.0),
    train_line(150, 1.0),
    train_line(200, 0.5),
    valid_line(200, loss=2.5, accuracy=70.0),
]


def run_of(folder: Path, lines: list[dict[str, object]] = LINES, end: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / METRICS).write_text("".join(json.dumps(line) + "\n" for line in lines) + end, encoding="utf-8")
    return folder


def drawn(*curves: Curve) -> list[str]:
    out = io.StringIO()
    draw_curves(curves, Console(file=out, width=100, no_color=True))
    return out.getvalue().splitlines()


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    assert read_metrics(tmp_path) == []
    assert read_metrics(run_of(tmp_path / "x", end='{"update": 2')) == LINES


ODD = [
    "{", "[]", "3", "null", '"x"', "{}", '{"update": 60}', '{"update": "60", "kind": "train"}', '{"update": true, "kind": "valid"}',
    '{"update": -1, "kind": "valid", "loss": 1, "seconds": 1}', '{"update": 60, "kind": ["valid"], "loss": 1, "seconds": 1}',
    '{"update": 60, "kind": "odd", "loss": 1, "seconds": 1}', '{"update": 60, "kind": "train", "loss": "x", "seconds": 1}',
    '{"update": 60, "kind": "train", "loss": null, "learning_rate": 1, "seconds": 1}', '{"update": 60, "kind": "train", "seconds": 1}',
    '{"update": 60, "kind": "valid", "loss": NaN, "seconds": 1}', '{"update": 60, "kind": "valid", "loss": 1}', "\0" * 40,
    '{"update": 60, "kind": "valid", "loss": 1' + "0" * 400 + ', "seconds": 1}', "[" * 100_000, "\ufffd\x1b[2J",
]  # fmt: skip


def test_lines_that_are_no_metrics_are_left_out_and_told(tmp_path: Path) -> None:
    run = run_of(tmp_path / "x", LINES[:3])
    with (run / METRICS).open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in ODD) + "".join(json.dumps(line) + "\n" for line in LINES[3:]))
    with (run / METRICS).open("ab") as file:
        file.write(b"\xff\xfe\n")
    assert read_metrics(run) == LINES
    curve = load_curve(run)
    assert curve.odd == (*range(4, 4 + len(ODD)), len(LINES) + len(ODD) + 1)
    assert f"no metrics: {len(ODD) + 1} lines of metrics.jsonl (4, 5, " in " ".join(drawn(curve))
    render_curves([curve])


def test_lines_in_another_order_and_twice(tmp_path: Path) -> None:
    assert read_metrics(run_of(tmp_path / "x", [LINES[3], train_line(50, 9.0), *LINES])) == LINES


def test_metrics_that_are_no_file(tmp_path: Path) -> None:
    (tmp_path / METRICS).mkdir()
    with pytest.raises(TrainingError, match=r"metrics\.jsonl is a folder or a device, not a file"):
        load_curve(tmp_path)
    (tmp_path / METRICS).rmdir()
    (tmp_path / METRICS).symlink_to("/dev/zero")  # which never ends
    with pytest.raises(TrainingError, match=r"metrics\.jsonl is a folder or a device, not a file"):
        load_curve(tmp_path)


def test_the_best_is_the_highest_or_the_lowest(tmp_path: Path) -> None:
    curve = load_curve(run_of(tmp_path / "x"))
    assert curve.measures == ["accuracy", "loss"]
    best = {measure: curve.best(measure) for measure in curve.measures}
    assert {measure: each and each["update"] for measure, each in best.items()} == {"accuracy": 200, "loss": 100}
    assert curve.best("bleu") is None


def test_the_terminal(tmp_path: Path) -> None:
    name, header, *rows = drawn(load_curve(run_of(tmp_path / "x")))
    assert name == "x"
    assert header.split() == ["update", "minutes", "training", "loss", "validation", "accuracy", "validation", "loss"]
    assert [row.split() for row in rows] == [["100", "0.2", "2.000", "60.000", "2.200"], ["200", "0.3", "0.500", "70.000", "2.500"]]  # fmt: skip


def test_before_the_first_validation_there_is_a_table_too(tmp_path: Path) -> None:
    _, _, *rows = drawn(load_curve(run_of(tmp_path / "x", LINES[:2])))
    assert [row.split() for row in rows] == [["50", "0.1", "3.000"], ["100", "0.2", "2.000"]]


def test_of_many_validations_some_are_told_the_last_and_the_best_among_them(tmp_path: Path) -> None:
    lines = [valid_line(update, loss=abs(update - 333) / 100) for update in range(1, 1001)]
    _, _, *rows = drawn(load_curve(run_of(tmp_path / "x", lines)))
    told = [row.split()[0] for row in rows]
    assert len(told) <= 21
    assert {"333", "1,000"} <= set(told)


def test_a_long_line_is_thinned_to_means() -> None:
    lines = [train_line(50 * (place + 1), float(place)) for place in range(1_000)]
    points = thinned(lines, 400)
    assert len(points) <= 400
    assert points[0]["loss"] == pytest.approx(1.0)  # of 0, 1, 2
    assert points[0]["update"] == 150
    assert points[-1]["update"] == 50_000
    assert thinned([], 400) == []


def test_the_page_carries_its_numbers_and_asks_nobody(tmp_path: Path) -> None:
    hostile = "</script><script>hacked()</script>".replace("/", "\u2215")  # a folder's name holds no slash
    curves = [load_curve(run_of(tmp_path / name)) for name in ("x", hostile)]
    page = Elements(render_curves(curves, command="regard curve </script>"))
    data = json.loads(page.texts["script"][0])
    assert [run["name"] for run in data["runs"]] == ["x", hostile]
    assert data["runs"][0]["valid"] == [line for line in LINES if line["kind"] == "valid"]
    assert data["runs"][0]["update"] == 200
    assert data["command"] == "regard curve </script>"
    assert not [tag for tag, attributes in page.tags if {"src", "href"} & attributes.keys()]


def shown_in(page: Path) -> dict[str, list[int]]:
    """Of each run on a page the updates of its lines, and how often the page reads itself again."""
    data = json.loads(Elements(page.read_text(encoding="utf-8")).texts["script"][0])
    runs = {run["name"]: [line["update"] for line in (*run["train"], *run["valid"])] for run in data["runs"]}
    return {**runs, "refresh": [data["refresh"]]}


def test_a_run_is_followed_to_its_last_update(tmp_path: Path) -> None:
    run, page = run_of(tmp_path / "x", []), tmp_path / "made" / "curve.html"
    (run / "config.toml").write_text(
        'name = "x"\ntask = "language-model"\n[training]\nupdates = 200\n', encoding="utf-8"
    )
    seen: list[dict[str, list[int]]] = []

    def pause(seconds: float) -> None:
        """Meanwhile the run writes one more line."""
        assert seconds > 0
        assert page.exists() == (len(seen) > 0)  # not before the run has begun
        seen.append(shown_in(page) if page.exists() else {})
        run_of(run, LINES[: len(seen)])

    _follow([run], page, "regard curve x", pause)
    assert len(seen) == len(LINES)  # the last line ends it
    assert [len(each["x"]) for each in seen[1:]] == [1, 2, 3, 4, 5]
    assert all(each["refresh"] == [5] for each in seen[1:])
    curve(run, output=page, follow=True)  # nothing is left to wait for
    assert shown_in(page) == {"x": [50, 100, 150, 200, 100, 200], "refresh": [0]}


def test_a_page_is_written_only_for_news_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    run, page, written = run_of(tmp_path / "x"), tmp_path / "curve.html", []

    def pause(_: float) -> None:
        written.append(page.stat().st_mtime_ns)
        if len(written) == 3:
            raise KeyboardInterrupt

    _follow([run, run_of(tmp_path / "empty", [])], page, "", pause)
    assert len(written) == 3
    assert len(set(written)) == 1
    assert list(shown_in(page)) == ["x", "refresh"]


def test_following_needs_a_page_and_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a name, such as -o"):
        curve(run_of(tmp_path / "x"), follow=True)
    with pytest.raises(UsageError, match=r"should end in \.html"):
        curve(tmp_path / "x", output=tmp_path / "curve.png", follow=True)
    with pytest.raises(UsageError, match="is not a run folder"):
        curve(tmp_path / "nowhere", output=tmp_path / "curve.html", follow=True)


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a run folder"):
        load_curve(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"metrics\.jsonl has no numbers yet"):
        load_curve(tmp_path)
    with pytest.raises(UsageError, match=r"should end in \.html"):
        write_curves(tmp_path / "curve.png", [load_curve(run_of(tmp_path / "x"))])
