"""What the benchmarks share: data, clocks, watching the machine, and the report.

Rules. A benchmark asserts its answers: numbers of rows, sums of columns, equal results between systems. It compares
systems in one run on one machine, says what machine, versions and commit that was and how busy, and gives medians.
`--quick` runs all of its code with small sizes; the numbers then mean nothing. Results name no path of the machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc

from linear_road.records import POSITION
from linear_road.traffic import TrafficConfig, simulate

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Options:
    """`workdir` is empty at the start and removed at the end."""

    quick: bool
    workdir: Path
    files: str = "csv"

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    @contextlib.contextmanager
    def folder(self, name: str) -> Iterator[Path]:
        """A folder for big data, removed as soon as it is not needed."""
        path = self.workdir / name
        path.mkdir()
        try:
            yield path
        finally:
            subprocess.run(["rm", "-rf", str(path)], check=True)


# -- data -------------------------------------------------------------------------------------------------------------

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
SCHEMA = pa.schema([pa.field(name, pa.int64() if name == "t" else pa.int32()) for name in COLUMNS.values()])
DECLARED = ", ".join(f"{f.name} {'BIGINT' if f.name == 't' else 'INT'}" for f in SCHEMA)
CREATE = f"""CREATE STREAMING TABLE posreports ({DECLARED})
  TIMESTAMP BY t SHARD BY vid RANGE INTERVAL '70' DAY LATENESS INTERVAL '5' SECOND WITH (shards = 2);
CREATE INDEX ON posreports (vid)"""
SUMS = "SELECT COUNT(*), SUM(vid), SUM(spd), SUM(lane), SUM(seg), SUM(pos), SUM(t) FROM posreports"
HOUR, TEN_MINUTES = 3600, 600


def traffic(**config: Any) -> Iterator[pa.Table]:
    """Position reports of Linear Road in time order; `config` is that of `TrafficConfig`."""
    for batch in simulate(TrafficConfig(**config)):
        table = pa.table(batch).select(["Type", *COLUMNS])
        table = table.filter(pc.equal(table["Type"], POSITION)).drop_columns("Type")
        yield table.rename_columns(list(COLUMNS.values())).cast(SCHEMA)


def shifted(table: pa.Table, seconds: int) -> pa.Table:
    """The same traffic, that much later."""
    return table.set_column(len(SCHEMA) - 1, SCHEMA.field("t"), pc.add(table["t"], pa.scalar(seconds, pa.int64())))


def pieces(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in pieces of `rows`; the last may be smaller."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if count >= rows:
            whole = pa.concat_tables(waiting)
            for start in range(0, count - count % rows, rows):
                yield whole.slice(start, rows).combine_chunks()
            waiting = [whole.slice(count - count % rows)]
            count %= rows
    if count:
        yield pa.concat_tables(waiting).combine_chunks()


def minutes(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in pieces of a minute of their time."""
    waiting: list[pa.Table] = []
    minute = None
    for table in tables:
        for value in pc.unique(pc.divide(table["t"], 60)).to_pylist():
            part = table.filter(pc.equal(pc.divide(table["t"], 60), value))
            if waiting and value != minute:
                yield pa.concat_tables(waiting).combine_chunks()
                waiting = []
            minute = value
            waiting.append(part)
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def sums(table: pa.Table) -> np.ndarray[Any, Any]:
    """What `SUMS` asks for, of some rows; add them up for more."""
    totals = [pc.sum(table[c]).as_py() or 0 for c in ("vid", "spd", "lane", "seg", "pos", "t")]
    return np.array([table.num_rows, *totals], dtype=object)


def check_sums(what: str, found: Sequence[Any], expected: Sequence[Any]) -> None:
    """The rows are all there, once each, and are the right ones."""
    got, wanted = [int(v) for v in found], [int(v) for v in expected]
    assert got == wanted, f"{what}: rows and sums are {got}, not {wanted}"


# -- the three questions ----------------------------------------------------------------------------------------------

QUESTIONS = {
    "vehicle": "SELECT t, xway, dir, seg, lane, pos, spd FROM posreports WHERE vid = {vid} AND t >= {low} AND t < {high}",
    "segment": "SELECT DISTINCT vid FROM posreports WHERE seg = {seg} AND dir = {dir} AND t >= {low} AND t < {high}",
    "hour": "SELECT seg, COUNT(*) AS reports FROM posreports WHERE t >= {low} AND t < {high} GROUP BY seg",
}
"""All reports of a vehicle in ten minutes; all vehicles in a segment in ten minutes; reports per segment in an hour."""


class Asker:
    """Draws questions: about rows that exist, anywhere in a stretch of time. `sample` are rows to choose from."""

    def __init__(self, sample: pa.Table, seed: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self._sample = sample
        self._vid, self._seg, self._dir, self._t = (sample[c].to_numpy() for c in ("vid", "seg", "dir", "t"))

    def draw(self, name: str, first: int, end: int) -> str:
        """SQL of a question about a period within [first, end)."""
        length = HOUR if name == "hour" else TEN_MINUTES
        near = np.flatnonzero((self._t >= first) & (self._t < end))
        row = int(self.random.choice(near))
        low = int(self._t[row]) - int(self.random.integers(0, length))
        low = max(first, min(low, end - length))
        return self.about(name, row, low, low + length)

    def about(self, name: str, row: int, low: int, high: int) -> str:
        """SQL of a question about a period, and the vehicle or segment of a row of the sample."""
        row %= len(self._vid)
        return QUESTIONS[name].format(vid=self._vid[row], seg=self._seg[row], dir=self._dir[row], low=low, high=high)


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds, and what came of it."""
    begin = time.perf_counter()
    result = action()
    return (time.perf_counter() - begin) * 1000, result


def rounded(value: float) -> float:
    """Three digits are more than a noisy machine can tell."""
    return float(f"{value:.3g}")


def median(values: Sequence[float]) -> float:
    return rounded(float(np.median(values)))


def p95(values: Sequence[float]) -> float:
    return rounded(float(np.percentile(values, 95)))


# -- watching ---------------------------------------------------------------------------------------------------------


def tree_megabytes() -> float:
    """Memory of this process and all below it, without files mapped into it: cheap enough to ask every second."""
    total = 0
    us = psutil.Process()
    for process in (us, *us.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            memory = process.memory_info()
            total += memory.rss - getattr(memory, "shared", 0)
    return total / 1e6


class Watch(threading.Thread):
    """Calls `look` every `seconds` in a `with` block and keeps what it says, with the time since the start."""

    def __init__(self, look: Callable[[], dict[str, float]], seconds: float = 1.0) -> None:
        super().__init__(daemon=True)
        self._look = look
        self._seconds = seconds
        self._ended = threading.Event()
        self.seen: list[dict[str, float]] = []

    def run(self) -> None:
        begin = time.monotonic()
        while True:
            self.seen.append({"at": round(time.monotonic() - begin, 2), **self._look()})
            if self._ended.wait(max(0.0, begin + len(self.seen) * self._seconds - time.monotonic())):
                return

    def column(self, name: str) -> list[float]:
        return [s[name] for s in self.seen]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()


def machine() -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())[1]  # type: ignore[index]
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    packages = ("millpond", "pyspark", "pyarrow", "duckdb", "numpy", "sqlglot")
    return {
        "cpu": f"{cpu}, {os.cpu_count()} cores",
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "versions": {"python": platform.python_version(), "java": java[0] if java else None}
        | {p: _version(p) for p in packages},
        "commit": _commit(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except Exception:
        return "source tree"


def _commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    return git("rev-parse", "--short=12", "HEAD") + (" with changes" if git("status", "--porcelain", "src") else "")


# -- other systems ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[Any]:
    """A connection to a PostgreSQL of our own: durable, and with memory worthy of the machine."""
    import psycopg

    from tests.postgres import running_postgres

    settings = {
        "shared_buffers": "2GB",
        "max_wal_size": "8GB",
        "maintenance_work_mem": "1GB",
        "work_mem": "64MB",
        "effective_cache_size": "8GB",
        "random_page_cost": "1.1",  # a solid-state disk, and mostly in memory
        "wal_level": "minimal",  # lets a bulk load into a new table go without the log
        "max_wal_senders": "0",
        "fsync": "on",
        "synchronous_commit": "on",
    }
    with running_postgres(folder, settings) as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


POSTGRES_TABLE = f"CREATE TABLE posreports ({DECLARED})"
POSTGRES_INDEXES = ("CREATE INDEX ON posreports (vid, t)", "CREATE INDEX ON posreports (t)")
COPY = "COPY posreports FROM STDIN (FORMAT csv)"


# -- the report -------------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """Collects what a benchmark found; prints it as it comes, and writes it as JSON and Markdown at the end."""

    name: str
    about: str
    options: Options
    values: dict[str, Any] = field(default_factory=dict)
    tables: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)
    bars: list[dict[str, Any]] = field(default_factory=list)
    figure: Any = None
    issue: int = 2
    _begin: float = field(default_factory=time.monotonic)
    _load: Watch = field(init=False)

    def __post_init__(self) -> None:
        self.machine = machine()
        self.load_before = os.getloadavg()[0]
        self._load = Watch(lambda: {"load": os.getloadavg()[0]}, 5.0)
        self._load.start()
        print(f"{self.name}: {self.about}")
        print(f"  {self.machine['cpu']}, {self.machine['memory_gb']} GB, {self.machine['system']}")
        print(
            f"  {', '.join(f'{k} {v}' for k, v in self.machine['versions'].items())}, commit {self.machine['commit']}"
        )
        print(f"  load average before: {self.load_before:.2f}", flush=True)

    def say(self, text: str) -> None:
        """Progress, for whoever waits."""
        print(f"  {time.monotonic() - self._begin:6.1f} s  {text}", flush=True)

    def add(self, **values: Any) -> None:
        """Numbers for the JSON file only."""
        self.values |= values

    def table(self, title: str, rows: list[dict[str, Any]]) -> None:
        self.tables.append((title, rows))
        print(f"\n{_markdown(title, rows)}", flush=True)

    def bar(self, number: int, what: str, measured: float, sign: str, limit: float) -> None:
        """A bar of the issue: `measured` should be `sign` ('<=' or '>=') `limit`."""
        met = measured <= limit if sign == "<=" else measured >= limit
        shown = rounded(measured)
        self.bars.append({"bar": number, "what": what, "measured": shown, "limit": f"{sign} {limit:g}", "met": met})

    def draw(self, columns: int, rows: int = 1) -> Any:
        """Axes side by side, in one row or more, for a picture beside the report; None where matplotlib is missing."""
        try:
            import matplotlib
        except ImportError:
            return None
        matplotlib.use("Agg")
        from matplotlib import pyplot

        self.figure, axes = pyplot.subplots(rows, columns, figsize=(4.5 * columns, 3.6 * rows), layout="constrained")
        return axes

    def write(self, folder: Path) -> None:
        self._load.__exit__()
        during = self._load.column("load")
        took = time.monotonic() - self._begin
        if self.bars:
            shown = [b | {"met": "yes" if b["met"] else "NO"} for b in self.bars]
            self.table(
                f"Bars of issue {self.issue}" + (" (quick run: they mean nothing)" if self.options.quick else ""), shown
            )
        load = {"before": rounded(self.load_before), "median": median(during), "most": rounded(max(during))}
        print(
            f"\nload average before {load['before']}, during: median {load['median']}, most {load['most']}; {took:.0f} s"
        )
        folder.mkdir(parents=True, exist_ok=True)
        name = self.name if self.options.files == "csv" else f"{self.name}-{self.options.files}"
        everything = {
            "benchmark": self.name,
            "about": self.about,
            "quick": self.options.quick,
            "machine": self.machine,
            "load_average": load,
            "seconds": round(took),
            "bars": self.bars,
            "tables": dict(self.tables),
            **self.values,
        }
        (folder / f"{name}.json").write_text(json.dumps(everything, indent=1, default=_plain) + "\n")
        (folder / f"{name}.md").write_text(self._text(load, took, name))
        if self.figure is not None:
            self.figure.savefig(folder / f"{name}.png", dpi=110)

    def _text(self, load: dict[str, float], took: float, name: str) -> str:
        m = self.machine
        lines = [
            f"# {self.name}: {self.about}",
            "",
            f"{m['cpu']}, {m['memory_gb']} GB, {m['system']}; "
            + ", ".join(f"{k} {v}" for k, v in m["versions"].items())
            + f"; commit {m['commit']}. Load average before {load['before']}, during {load['median']} "
            f"(most {load['most']}, this benchmark included). {took:.0f} s"
            + (", **quick: small sizes, the numbers mean nothing**." if self.options.quick else "."),
            "",
        ]
        for title, rows in self.tables:
            lines += [_markdown(title, rows), ""]
        if self.figure is not None:
            lines += [f"![{self.name}]({name}.png)", ""]
        return "\n".join(lines)


def _markdown(title: str, rows: list[dict[str, Any]]) -> str:
    if not rows:
        return f"**{title}**: nothing"
    names = list(rows[0])
    lines = [f"**{title}**", "", "| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_shown(row.get(n)) for n in names) + " |" for row in rows]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
    return (
        f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else "" if value is None else str(value)
    )


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def command(*words: str) -> list[str]:
    """A Python program of this installation."""
    return [sys.executable, *words]
