"""The demo: an expressway's traffic flows into a pond in real time, while SQL asks about the live road and its past.

First some history is loaded as fast as the pond takes it; then each simulated second is appended at its second. Answers
are asked again every second; each shows how long it took.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich import box
from rich.columns import Columns
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
MARKER = "millpond.json"

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
            "slowest segments, the last minute (live)",
            "SELECT seg, dir, ROUND(AVG(spd), 1) AS mph, COUNT(DISTINCT vid) AS cars FROM posreports [INTERVAL '1' MINUTE] "
            "WHERE lane BETWEEN 1 AND 3 GROUP BY seg, dir HAVING COUNT(DISTINCT vid) > 5 ORDER BY mph, seg, dir LIMIT 3",
        ),
        Question(
            f"last reports of vehicle {vehicle} (by index)",
            f"SELECT t, seg, lane, spd FROM posreports WHERE vid = {vehicle} ORDER BY t DESC LIMIT 3",
        ),
        Question(
            "critical segments (stream joined with a table)",
            "SELECT c.name, COUNT(DISTINCT p.vid) AS cars, MIN(p.spd) AS slowest FROM posreports [INTERVAL '1' MINUTE] p "
            "JOIN criticalsegs c ON p.seg = c.seg GROUP BY c.name ORDER BY c.name",
        ),
        Question(
            "busiest segments, the last hour (past and live)",
            f"SELECT seg, COUNT(*) AS reports FROM posreports WHERE t >= {max(start, now - 3600)} "
            "GROUP BY seg ORDER BY reports DESC, seg LIMIT 3",
        ),
    ]


def run_demo(folder: Path, *, live_seconds: int, history_minutes: int) -> None:
    console = Console()
    if (folder / MARKER).exists():
        shutil.rmtree(folder)
    console.print(f"[bold]millpond demo[/bold]: one expressway of traffic, in the pond [cyan]{folder}[/cyan]")
    with millpond.connect(folder, block_rows=500_000, block_age="20 seconds") as db:
        db.sql(SETUP)
        console.print("starting the pipeline (Spark) in the background; intake and small queries do not wait for it")
        db.start()
        minutes = history_minutes + -(-live_seconds // 60) + 1
        seconds = _by_second(TrafficConfig(xways=1, minutes=minutes, seed=7))
        live_from = history_minutes * 60
        vehicle = _load_history(db, seconds, live_from, console)
        _run_live(db, seconds, live_from, live_seconds, vehicle, console)
        _tell_what_next(db, folder, vehicle, live_from, console)


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
                rate = rows / (time.monotonic() - begin)
                status.update(
                    f"loading history: minute {second // 60 + 1} of {until // 60}, {rows:,} reports, {rate:,.0f}/s"
                )
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
    begin = time.monotonic()
    rows = 0
    with Live(console=console, auto_refresh=False, transient=False) as live:
        for second, table in seconds:
            due = begin + (second - start)
            if second - start >= length or stop.wait(max(0.0, due - time.monotonic())):
                break
            rows += db.append("posreports", table).accepted
            for item, question in zip(asked, questions(vehicle, 0, second), strict=True):
                tick = time.perf_counter()
                item.result = db.sql(question.sql)
                item.millis.append((time.perf_counter() - tick) * 1000)
            behind = time.monotonic() - due
            if console.is_terminal or (second - start) % 15 == 14:
                live.update(_screen(db, second, table.num_rows, rows, behind, asked), refresh=True)


def _screen(db: millpond.Pond, second: int, last: int, rows: int, behind: float, asked: list[Asked]) -> Group:
    state = db.status()
    table = state["tables"]["posreports"]
    pipeline = state["pipeline"] or {}
    phase = f"{pipeline.get('ticks', 0)} ticks" if pipeline.get("ready") else "Spark is starting"
    head = Text(
        f"simulated time {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}   {last} reports/s   "
        f"{table['rows']:,} rows: {table['tail_rows']:,} in the tail, {table['archived_rows']:,} in {table['files']} files "
        f"({table['bytes'] / 1e6:.1f} MB)   {phase}" + (f"   {behind:.1f} s behind" if behind > 1 else "")
    )
    panels = []
    for item in asked:
        assert item.result is not None
        shown = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
        for name in item.result.columns:
            shown.add_column(name, justify="right")
        for row in item.result:
            shown.add_row(*(str(v) for v in row))
        panels.append(Panel(shown, title=f"{item.question.title}: {item.millis[-1]:.1f} ms", width=58))
    return Group(head, Columns(panels))


def _tell_what_next(db: millpond.Pond, folder: Path, vehicle: int, start: int, console: Console) -> None:
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
