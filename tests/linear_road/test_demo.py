"""The demo: what it may delete, and what it shows where. Nothing here starts Spark."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console

import linear_road.demo as demo
import millpond


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: millpond.Pond) -> None:
        self.own()

    monkeypatch.setattr(millpond.Pond, "start", start)


def make_pond(folder: Path, *, by_demo: bool) -> None:
    with millpond.connect(folder, auto_archive=False) as db:
        if by_demo:
            demo.claim(db)
        db.sql("CREATE STANDARD TABLE precious (a INT)")


def test_a_pond_the_demo_did_not_make_is_refused(tmp_path: Path) -> None:
    make_pond(tmp_path / "mine", by_demo=False)
    with pytest.raises(millpond.PondError) as caught:
        demo.run_demo(tmp_path / "mine", live_seconds=5, history_minutes=1)
    assert str(caught.value) == (
        f'"{tmp_path / "mine"}" is a pond that the demo did not make\n'
        "Detail: It has no demo.json, and the demo would delete it.\n"
        "Hint: Give another folder with --pond, or remove this one yourself."
    )
    with millpond.connect(tmp_path / "mine", create=False) as db:
        assert len(db.sql("SELECT * FROM precious")) == 0


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(millpond.NotAPond):
        demo.run_demo(tmp_path, live_seconds=5, history_minutes=1)
    assert (tmp_path / "letter.txt").exists()


def test_a_demo_that_is_running_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    with millpond.connect(folder, auto_archive=False) as db:
        demo.claim(db)
        with pytest.raises(millpond.PondError) as caught:
            demo.run_demo(folder, live_seconds=5, history_minutes=1)
        assert str(caught.value).startswith(
            f'pond "{folder}" is in use, by a demo or another program\nDetail: Process '
        )
        assert str(caught.value).endswith("Hint: Let it end, or give another folder with --pond.")
        db.sql("CREATE STANDARD TABLE precious (a INT)")


def test_the_pond_of_an_earlier_demo_is_replaced(tmp_path: Path) -> None:
    make_pond(tmp_path / "demo", by_demo=True)
    demo.clear_earlier(tmp_path / "demo")
    assert not (tmp_path / "demo").exists()
    demo.clear_earlier(tmp_path / "demo")  # there is none


def test_the_demo_marks_its_pond_and_tells_its_progress_without_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = io.StringIO()
    monkeypatch.setattr(demo, "Console", lambda: Console(file=output, width=80))
    monkeypatch.setattr(demo, "BETWEEN_LINES", 0.0)
    demo.run_demo(tmp_path / "demo", live_seconds=2, history_minutes=1)
    lines = output.getvalue().splitlines()
    assert any(re.match(r"loading history: minute 1 of 1, [\d,]+ reports, [\d,]+/s$", line) for line in lines)
    live = [
        line
        for line in lines
        if re.match(r"simulated time 00:01:0\d, .* in the tail, .*; 4 questions in \d+ ms$", line)
    ]
    assert len(live) == 2
    assert (tmp_path / "demo" / demo.MARKER).exists()
    demo.clear_earlier(tmp_path / "demo")


def answers() -> list[demo.Asked]:
    widest: list[dict[str, list[object]]] = [
        {"seg": [100] * 3, "dir": [1] * 3, "mph": [100.5] * 3, "cars": [1000] * 3},
        {"t": [1_000_000] * 3, "seg": [100] * 3, "lane": [4] * 3, "spd": [100] * 3},
        {"name": ["river bridge"] * 3, "cars": [1000] * 3, "slowest": [100] * 3},
        {"seg": [100] * 3, "reports": [10_000_000] * 3},
    ]
    asked = []
    for question, columns in zip(demo.questions(123_456, 0, 7200), widest, strict=True):
        asked.append(demo.Asked(question, millpond.Result(pa.table(columns)), [1234.5]))
    return asked


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 24)])
def test_the_live_screen_fits_the_terminal(width: int, height: int) -> None:
    table = {
        "rows": 12_345_678,
        "tail_rows": 1_234_567,
        "archived_rows": 11_111_111,
        "files": 123,
        "bytes": 123_400_000,
    }
    state = {"tables": {"posreports": table}, "pipeline": {"ready": True, "ticks": 0}}
    head = demo.head_lines(state, 7200, 1234, 12.3)
    console = Console(width=width, height=height, file=io.StringIO(), record=True, color_system=None)
    console.print(demo.screen_of(head, answers(), width))
    lines = console.export_text().splitlines()
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    titles = [title for line in lines for title in re.findall(r"[a-z][\w ,]*: [\d.]+ ms", line)]
    assert titles == [f"{a.question.title}: 1234 ms" for a in answers()]
    assert lines[0] == "simulated time 02:00:00, 1234 reports/s, nothing archived yet, 12.3 s behind"
    for value in ("100.5", "1000000", "river bridge", "10000000"):
        assert sum(value in line for line in lines) >= 3
