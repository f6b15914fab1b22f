"""The demo: an expressway's traffic flows into a pond in real time, while SQL asks about the live road and its past.

First some history is loaded as fast as the pond takes it; then each simulated second is appended at its second. Answers
are asked again every second; each shows how long it took. Where nobody watches (the output is no terminal), a line is
printed every few seconds instead.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import millpond
from linear_road.records import POSITION
from linear_road.traffic import TrafficConfig, simulate

COLUMNS = {
    "VID": "vid",
    "Spd": "spd",
    "XWay": "xway",
    "Lane": "lane",
    "Dir": "dir",
    "Seg": "seg",
    "Pos": "pos",
    "Time": "t",
}
POND_MARKER = "millpond.json"
MARKER = "demo.json"  # in the folder of a pond that a demo made, so that the next demo may replace it
BETWEEN_LINES = 5.0  # seconds, where the output is no terminal

SETUP = """
CREATE STREAMING TABLE posreports (vid INT, spd INT, xway INT, lane INT, dir INT, seg INT, pos INT, t BIGINT)
  TIMESTAMP BY t SHARD BY vid RANGE INTERVAL '70' DAY LATENESS INTERVAL '5' SECOND;
CREATE INDEX ON posreports (vid);
CREATE STANDARD TABLE criticalsegs (seg INT, name STRING);
INSERT INTO criticalsegs VALUES (30, 'river bridge'), (50, 'city centre'), (70, 'airport')
"""


@dataclass(frozen=True)
class Question:
    title: str
    sql: str


@dataclass
class Asked:
    question: Question
    result: millpond.Result | None = None
    millis: list[float] = field(default_factory=list)


def questions(vehicle: int, start: int, now: int) -> list[Question]:
    """What is asked each second. `start` is the beginning of the history."""
    return [
        Question(
            "slowest segments, 1 minute",
            "SELECT seg, dir, ROUND(AVG(spd), 1) AS mph, COUNT(DISTINCT vid) AS cars FROM posreports [INTERVAL '1' MINUTE] "
            "WHERE lane BETWEEN 1 AND 3 GROUP BY seg, dir HAVING COUNT(DISTINCT vid) > 5 ORDER BY mph, seg, dir LIMIT 3",
        ),
        Question(
            f"vehicle {vehicle}, by index",
            f"SELECT t, seg, lane, spd FROM posreports WHERE vid = {vehicle} ORDER BY t DESC LIMIT 3",
        ),
        Question(
            "critical segments, joined",
            "SELECT c.name, COUNT(DISTINCT p.vid) AS cars, MIN(p.spd) AS slowest FROM posreports [INTERVAL '1' MINUTE] p "
            "JOIN criticalsegs c ON p.seg = c.seg GROUP BY c.name ORDER BY c.name",
        ),
        Question(
            "busiest segments, 1 hour",
            f"SELECT seg, COUNT(*) AS reports FROM posreports WHERE t >= {max(start, now - 3600)} "
            "GROUP BY seg ORDER BY reports DESC, seg LIMIT 3",
        ),
    ]


def run_demo(folder: Path, *, live_seconds: int, history_minutes: int) -> None:
    console = Console()
    clear_earlier(folder)
    console.print(f"[bold]millpond demo[/bold]: one expressway of traffic, in the pond [cyan]{folder}[/cyan]")
    with millpond.connect(folder, block_rows=500_000, block_age="20 seconds") as db:
        claim(db)
        db.sql(SETUP)
        console.print("starting the pipeline (Spark) in the background; intake and small queries do not wait for it")
        db.start()
        minutes = history_minutes + -(-live_seconds // 60) + 1
        seconds = _by_second(TrafficConfig(xways=1, minutes=minutes, seed=7))
        live_from = history_minutes * 60
        vehicle = _load_history(db, seconds, live_from, console)
        _run_live(db, seconds, live_from, live_seconds, vehicle, console)
        _tell_what_next(db, folder, vehicle, live_from, console)


def claim(db: millpond.Pond) -> None:
    """Become the writer of a new pond and mark it as a demo's."""
    db.own()
    (db.folder / MARKER).write_text(json.dumps({"made_by": "millpond demo"}))


def clear_earlier(folder: Path) -> None:
    """Delete the pond that an earlier demo left. Any other is refused: it is somebody's, or somebody writes it now."""
    if not (folder / POND_MARKER).exists():
        return  # `connect` refuses a folder of other files
    if not (folder / MARKER).exists():
        raise millpond.PondError(
            f'"{folder}" is a pond that the demo did not make',
            detail=f"It has no {MARKER}, and the demo would delete it.",
            hint="Give another folder with --pond, or remove this one yourself.",
        )
    try:
        with millpond.connect(folder, create=False, auto_archive=False) as db:
            db.own()  # raises if somebody has the lock
    except millpond.SecondWriter as error:
        raise millpond.PondError(
            f'pond "{folder}" is in use, by a demo or another program',
            detail=error.detail,
            hint="Let it end, or give another folder with --pond.",
        ) from error
    shutil.rmtree(folder)


def _by_second(config: TrafficConfig) -> Iterator[tuple[int, pa.Table]]:
    """Position reports, second by second."""
    for batch in simulate(config):
        table = pa.table(batch)
        table = (
            table.filter(pc.equal(table["Type"], POSITION)).select(list(COLUMNS)).rename_columns(list(COLUMNS.values()))
        )
        times = table["t"]
        for second in pc.unique(times).to_pylist():
            yield second, table.filter(pc.equal(times, second))


def _load_history(db: millpond.Pond, seconds: Iterator[tuple[int, pa.Table]], until: int, console: Console) -> int:
    begin = time.monotonic()
    told = begin
    rows = 0
    vehicle = 0
    pending: list[pa.Table] = []
    with console.status("loading history") as status:
        for second, table in seconds:
            pending.append(table)
            last = second >= until - 1
            if last or second % 60 == 59:
                block = pa.concat_tables(pending)
                rows += db.append("posreports", block).accepted
                vehicle = block["vid"][block.num_rows // 2].as_py() if block.num_rows else vehicle
                pending = []
                now = time.monotonic()
                line = (
                    f"loading history: minute {second // 60 + 1} of {until // 60}, "
                    f"{rows:,} reports, {rows / (now - begin):,.0f}/s"
                )
                status.update(line)
                if not console.is_terminal and now - told >= BETWEEN_LINES:
                    told = now
                    _say(console, line)
            if last:
                break
    took = time.monotonic() - begin
    console.print(
        f"loaded {rows:,} reports of {until // 60} minutes in {took:.1f} s ({rows / took:,.0f}/s), simulation included"
    )
    return vehicle


def _run_live(
    db: millpond.Pond, seconds: Iterator[tuple[int, pa.Table]], start: int, length: int, vehicle: int, console: Console
) -> None:
    console.print(f"now live: each second of traffic at its second, for {length} s")
    asked = [Asked(q) for q in questions(vehicle, 0, start)]
    stop = threading.Event()
    begin = told = time.monotonic()
    screen: Group | None = None
    with Live(console=console, auto_refresh=False, transient=False) if console.is_terminal else nullcontext() as live:
        for second, table in seconds:
            due = begin + (second - start)
            if second - start >= length or stop.wait(max(0.0, due - time.monotonic())):
                break
            db.append("posreports", table)
            for item, question in zip(asked, questions(vehicle, 0, second), strict=True):
                tick = time.perf_counter()
                item.result = db.sql(question.sql)
                item.millis.append((time.perf_counter() - tick) * 1000)
            now = time.monotonic()
            head = head_lines(db.status(), second, table.num_rows, now - due)
            screen = screen_of(head, asked, console.width)
            if live is not None:
                live.update(screen, refresh=True)
            elif now - told >= BETWEEN_LINES:
                told = now
                _say(console, "; ".join([*head, f"4 questions in {sum(a.millis[-1] for a in asked):.0f} ms"]))
    if live is None and screen is not None:
        console.print(screen)


def _say(console: Console, line: str) -> None:
    """A line of its own, as it is."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def head_lines(state: dict[str, Any], second: int, last: int, behind: float) -> list[str]:
    """What the pond is doing: `last` reports came in the last second, `behind` seconds too late."""
    table = state["tables"]["posreports"]
    pipeline = state["pipeline"] or {}
    ticks = pipeline.get("ticks", 0)
    phase = "Spark is starting" if not pipeline.get("ready") else f"{ticks} ticks" if ticks else "nothing archived yet"
    return [
        f"simulated time {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}, {last} reports/s, {phase}"
        + (f", {behind:.1f} s behind" if behind > 1 else ""),
        f"{table['rows']:,} rows: {table['tail_rows']:,} in the tail, "
        f"{table['archived_rows']:,} in {table['files']} files ({table['bytes'] / 1e6:.1f} MB)",
    ]


def screen_of(head: list[str], asked: list[Asked], width: int) -> Group:
    """Two panels beside each other, twice: 16 lines, and no wider than the terminal."""
    grid = Table.grid()
    panels = []
    for item in asked:
        assert item.result is not None
        shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
        for name in item.result.columns:
            shown.add_column(name, justify="right")
        for row in item.result:
            shown.add_row(*(str(v) for v in row))
        took = item.millis[-1]
        title = f"{item.question.title}: {took:.{1 if took < 100 else 0}f} ms"
        panels.append(Panel(shown, title=title, width=min(58, width // 2)))
    for left, right in zip(panels[::2], panels[1::2], strict=True):
        grid.add_row(left, right)
    return Group(*(Text(line, overflow="fold") for line in head), grid)


def _tell_what_next(db: millpond.Pond, folder: Path, vehicle: int, start: int, console: Console) -> None:
    console.print("moving what is left in the tail into the archive ...")
    db.archive()
    console.print("\n[bold]how a question is answered[/bold]")
    period = f"VALID(posreports) OVERLAPS PERIOD({start - 600}, {start})"
    question = f"SELECT t, seg, spd FROM posreports WHERE vid = {vehicle} AND {period}"
    console.print(question, highlight=False, markup=False, soft_wrap=True)
    for line in db.sql(f"EXPLAIN ANALYZE {question}"):
        console.print(f"  {line[0]}", highlight=False, markup=False, soft_wrap=True)
    state = db.status()["tables"]["posreports"]
    console.print(
        f"\n[bold]done[/bold]: {state['rows']:,} rows kept in {state['files']} Parquet files, "
        f"{state['late'] + state['malformed']} rejected. The pond stays in {folder}; ask it yourself:"
    )
    command = _command()
    for text in (f'sql --pond {folder} "SELECT * FROM posreports [vid ROWS 1] LIMIT 5"', f"status --pond {folder}"):
        console.print(f"  {command} {text}", highlight=False, markup=False, soft_wrap=True)


def _command() -> str:
    """How this program was called, as a user would type it again."""
    called = Path(sys.argv[0])
    if called.name != "millpond":
        return "python -m millpond"
    near = called.resolve().is_relative_to(Path.cwd())
    return str(called.resolve().relative_to(Path.cwd())) if near else "millpond"
