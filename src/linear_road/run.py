"""Run the benchmark: a pond with the application, a driver process that feeds it, and a writer of answers.

    run1/pond        the pond (or wherever --pond says); all reports stay in it
    run1/input       where the driver hands files over
    run1/output.csv  the answers
    run1/driver.csv  when each second was handed over (driver.log: what else the driver said)
    run1/meters.csv  once a second: simulated time, tuples, ticks, CPU, memory
    run1/run.json    what was run, on what, and how fast it answered

A run that was killed is started again with the same arguments: it goes on where it was, and the output has every answer once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

import millpond
from linear_road import application, records
from linear_road.answers import Clock, Writer
from linear_road.driver import Journal, read_journal, seconds_of
from linear_road.meters import Meters
from linear_road.one_time import OneTimeQueries
from linear_road.survey import survey
from linear_road.wording import counted

POLL: Final = 0.03
TICK: Final = "300ms"
BLOCK_ROWS: Final = 245_760


@dataclass(frozen=True)
class RunConfig:
    """What to run. `speed` is 1 for real time, N, or 'max'. Seconds before `fast_until` go at speed max in any case."""

    input: Path
    out: Path
    tolls: Path | None = None
    segments: Path | None = None
    pond: Path | None = None
    speed: str = "1"
    start: int | None = None
    end: int | None = None
    fast_until: int | None = None
    today: int = 1
    tick: str = TICK
    shards: int = 2
    otq: int = 0
    """One-time queries a minute over the kept reports."""


@dataclass(frozen=True)
class Moment:
    """How a run stands, for whoever watches."""

    phase: str
    handed: int
    """The last second handed over, and how many tuples were by then."""
    tuples: int
    answered: int
    """Seconds before this one are answered."""
    written: int
    rate: float
    """Tuples a second of real time, recently."""
    tick: float
    behind: float
    """How late the driver was at its last hand-over."""
    meters: dict[str, float]


Watch = Callable[[Moment, "Run"], None]


class Run:
    """One run, from `prepare` to `finish`; a context manager."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        out = config.out
        self._input = out / "input"
        self._journal, self._taken = out / "driver.csv", out / "taken"
        self._reports: int | None = None  # in the input, once that is asked
        for folder in (out, self._input):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = (out / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FileExistsError(f"a run is under way in {out}; give another --out, or wait for its end") from error
        self.clock = Clock()
        self.clock.learn(read_journal(self._journal))
        pond = config.pond or out / "pond"
        if (out / "preparing").exists() and config.pond is None:  # a run that was killed before it began
            shutil.rmtree(pond, ignore_errors=True)
        # Smaller blocks than usual: a tick that archives is not to take much longer than one that does not.
        self.db = millpond.connect(pond, tick=config.tick, shards=config.shards, block_rows=BLOCK_ROWS)
        self.meters = Meters(out / "meters.csv")
        self._driver: subprocess.Popen[bytes] | None = None
        self._one_time: OneTimeQueries | None = None
        self._ticks_before = 0  # before the part that is timed
        self.writer: Writer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._one_time is not None:
            self._one_time.stop()
        if self._driver is not None:
            self._driver.kill()
            self._driver.wait()
        if self.writer is not None:
            with contextlib.suppress(OSError):
                self.writer.close()
        self.meters.close()
        self.db.close()
        self._lock.close()

    def prepare(self, tell: Callable[[str], None] = lambda text: None) -> None:
        """Make the application and load the histories, unless that is done already."""
        means = self.config.out / "means"
        done = self.config.out / "prepared.json"
        if done.exists():
            tell("going on with the run that is there")
        else:
            if any(True for _ in self.db.sql("SHOW TABLES").rows()):
                raise FileExistsError(f"the pond in {self.db.folder} is not empty; give another --pond or --out")
            (self.config.out / "preparing").touch()
            begin = time.monotonic()
            rows = application.load_segments(self.config.segments, means, self.config.today)
            tell(f"segment history: {counted(rows, 'row')} in {time.monotonic() - begin:.0f} s")
            application.create(self.db, self._input, means)
            begin = time.monotonic()
            rows = 0
            if self.config.tolls is not None:
                rows = application.load_tolls(
                    self.db, self.config.tolls, _now_and_then(tell, "toll history: {:,} rows")
                )
            tell(f"toll history: {counted(rows, 'row')} in {time.monotonic() - begin:.0f} s")
            done.write_text(json.dumps({"segments": str(self.config.segments), "tolls": str(self.config.tolls)}))
            (self.config.out / "preparing").unlink()
        self.writer = Writer(self.db, self.config.out, self.clock)
        tell("starting Spark")
        self.db.start()
        self._wait_for_spark()
        self._warm_up()
        self._first_tick(tell)

    def _warm_up(self) -> None:
        """Let time begin with the input, so that the workers evaluate something, and thereby start, before the first tuple."""
        begin = self.config.start
        if begin is None:
            begin = next((second for second, _ in seconds_of(self.config.input)), None)
        for table in ("reports", "requests"):
            if begin is not None and self.db.now(table) is None:
                self.db.advance(table, begin)

    def _wait_for_spark(self) -> None:
        """What is evaluated while it starts is evaluated here, and would not start the workers."""
        while (pipeline := self.db.status()["pipeline"])["state"] != "running":
            if pipeline["state"] != "starting":
                raise millpond.EngineError(f"Spark could not be started: {pipeline['problem']}")
            time.sleep(0.1)

    def _first_tick(self, tell: Callable[[str], None]) -> None:
        """Wait until the queries are evaluated once, which starts all of Spark; on a busy machine that takes its time."""
        while True:
            try:
                return self.db.tick()
            except millpond.EngineError:
                if self.db.status()["pipeline"]["state"] != "running":
                    raise
                tell("Spark is still starting: the machine is busy")

    def drive(self, watch: Watch = lambda moment, run: None) -> None:
        """Hand the input over and write the answers, until all are written."""
        assert self.writer is not None
        self._start_driver()
        assert self._driver is not None
        journal = Journal(self._journal)
        if self.config.otq:
            self._one_time = OneTimeQueries(self.db, self.config.otq, self.config.out / "one_time.csv")
        fast = self._fast
        ended, told, fresh = False, 0.0, 0
        while True:
            ended = ended or self._driver.poll() is not None
            answered = self._answered()
            if answered < fast:
                self._ticks_before = len(self.db.durations())
            elif self._one_time is not None:
                self._one_time.start()
            handed = journal.read()  # of what is answered it knows
            self.clock.learn(handed)
            written = self.writer.write()
            fresh += written
            if time.monotonic() - told > 0.5 or ended:
                told = time.monotonic()
                self._taken.write_text(str(answered))
                self.meters.sample(self.db, handed, answered, fresh)
                fresh = 0
                watch(self._moment(handed, answered), self)
            if ended:
                if self._driver.returncode:
                    raise RuntimeError(f"the driver failed: {_last_line(self.config.out / 'driver.log')}")
                if not handed or answered > handed[-1].last or self._has_no_reports(handed[-1].last):
                    break
            if not written:
                time.sleep(POLL)
        self.writer.write()
        if self._one_time is not None:
            self._one_time.stop()
            if self._one_time.error is not None:
                raise self._one_time.error

    @property
    def _fast(self) -> int:
        """The second from which on hand-overs are timed."""
        return -1 if self.config.fast_until is None else self.config.fast_until

    def _has_no_reports(self, last: int) -> bool:
        """Whether what is not answered never will be: queries over reports have no time when the input has none of these."""
        known = [self.db.now(a.query) for a in application.ANSWERS]
        if None not in known or not any(known) or any(k is not None and k <= last for k in known):
            return False
        if self._reports is None:
            self._reports = survey(self.config.input).reports
        return not self._reports

    def _answered(self) -> int:
        known = [self.db.now(a.query) for a in application.ANSWERS]
        return int(min(k if k is not None else 0 for k in known))

    def _start_driver(self) -> None:
        config = self.config
        command = [sys.executable, "-m", "linear_road.driver", "--input", config.input, "--folder", self._input]
        command += ["--journal", self._journal, "--taken", self._taken, "--speed", config.speed]
        for name, value in (("--start", config.start), ("--end", config.end), ("--fast-until", config.fast_until)):
            command += [] if value is None else [name, value]
        with (config.out / "driver.log").open("ab") as log:
            self._driver = subprocess.Popen([str(part) for part in command], stderr=log)

    def _moment(self, handed: list[Any], answered: int) -> Moment:
        recent = [h for h in handed if h.done > time.time() - 10]
        ticks = self.db.durations()[-20:]
        last = handed[-1] if handed else None
        writer = self.writer
        assert writer is not None
        return Moment(
            phase="running",
            handed=last.last if last else 0,
            tuples=sum(h.tuples for h in handed),
            answered=answered,
            written=sum(r.count for r in writer.responses.values()),
            rate=sum(h.tuples for h in recent) / 10,
            tick=float(np.median(ticks)) if ticks else 0.0,
            behind=last.done - last.due if last else 0.0,
            meters=self.meters.last,
        )

    def finish(self) -> dict[str, Any]:
        """What was run and how it went; also written to `run.json`."""
        assert self.writer is not None
        handed = read_journal(self._journal)
        timed = [h for h in handed if h.first >= self._fast]
        behind = max((h.done - h.due for h in timed), default=0.0) if self.config.speed != "max" else 0.0
        found = {
            "config": {k: str(v) if isinstance(v, Path) else v for k, v in asdict(self.config).items()},
            "machine": machine(),
            "seconds": [handed[0].first, handed[-1].last] if handed else [],
            "tuples": sum(h.tuples for h in handed),
            "wall": handed[-1].done - handed[0].done if handed else 0.0,
            "driver_behind": behind,
            "ticks": _ticks(self.db.durations()[self._ticks_before :]),
            **self.meters.since(timed[0].done if timed else 0.0),
            "kept_reports": int(self.db.sql("SELECT COUNT(*) FROM reports").rows()[0][0]),
            "answers": {str(k): r.to_json() for k, r in self.writer.responses.items()},
            "one_time": self._one_time.summary() if self._one_time is not None else {},
            "limits": {str(a.type): a.limit for a in application.ANSWERS},
        }
        (self.config.out / "run.json").write_text(json.dumps(found, indent=1))
        return found


def _now_and_then(tell: Callable[[str], None], text: str) -> Callable[[int], None]:
    """Tell a number every two seconds."""
    told = time.monotonic()

    def watch(number: int) -> None:
        nonlocal told
        if time.monotonic() - told > 2:
            told = time.monotonic()
            tell(text.format(number))

    return watch


def _last_line(path: Path) -> str:
    lines = path.read_text("utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _ticks(durations: list[float]) -> dict[str, float]:
    if not durations:
        return {}
    found = np.array(durations)
    return {"count": len(found), "median": float(np.median(found)), "p99": float(np.quantile(found, 0.99)),
            "max": float(found.max())}  # fmt: skip


def machine() -> dict[str, Any]:
    """What it ran on."""
    import duckdb
    import pyspark

    model = ""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(), "processor": model or platform.processor(), "memory": memory,
        "system": f"{platform.system()} {platform.release()}", "python": platform.python_version(),
        "millpond": millpond.__version__, "pyspark": pyspark.__version__, "duckdb": duckdb.__version__,
        "segments": records.SEGMENTS,
    }  # fmt: skip
