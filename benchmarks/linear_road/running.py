"""One run of a peer: the driver hands files over, the peer answers them, the answers go to `output.csv`.

A peer takes files from a folder in its own way, in a thread of its own (`start`), puts answers into `Answers`, and says with
`answered` before which second everything is answered. Rows are judged as ours are: `Emit` is the row's time plus the real seconds
from the hand-over of that second to the writing of the row.
"""

from __future__ import annotations

import io
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.harness import command
from linear_road.answers import Clock, Responses
from linear_road.driver import Handed, read_journal
from linear_road.meters import usage

ROUND: Final = 30
"""Seconds between two reports of a vehicle."""
ROWS: Final[Mapping[int, tuple[str, ...]]] = {
    0: ("vid", "t", "emit", "lav", "toll"),
    1: ("t", "emit", "vid", "seg"),
    2: ("t", "emit", "result", "qid", "balance"),
    3: ("t", "emit", "qid", "tolls"),
    4: ("t", "emit", "qid", "seconds", "toll"),
}
"""The fields of each kind of answer, after its number."""
_POLL: Final = 0.05
_PLAIN: Final = pa.csv.WriteOptions(include_header=False, quoting_style="none")


@dataclass(frozen=True)
class Task:
    """What to run. Seconds before `timed` are replayed as fast as they are taken, the others go at `speed`."""

    input: Path
    tolls: Path | None
    segments: Path | None
    out: Path
    timed: int = 0
    speed: str = "1"
    give_up: float = 60.0
    """A run whose answers are that many seconds late is lost, and ends."""


class Answers:
    """The output file. `put` may be called from any thread."""

    def __init__(self, out: Path, timed: int) -> None:
        self._journal, self._timed = out / "driver.csv", timed
        self._file = (out / "output.csv").open("wb")
        self._lock = threading.Lock()
        self._clock, self._known = Clock(), -1
        self.responses = {kind: Responses() for kind in ROWS}
        self.worst = 0.0

    def put(self, kind: int, rows: pa.Table) -> None:
        """Write rows with the columns of `ROWS`, all but `emit`."""
        if not rows.num_rows:
            return
        with self._lock:
            seconds = rows["t"].combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
            if seconds.max() > self._known:
                handed = read_journal(self._journal)
                self._clock.learn(handed)
                self._known = handed[-1].last
            late = np.maximum(time.time() - self._clock.handed(seconds), 0.0)
            timed = seconds >= self._timed
            if timed.any():
                self.responses[kind].take(seconds[timed], late[timed])
                self.worst = max(self.worst, float(late[timed].max()))
            emit = pa.array(np.floor((seconds + late) * 1000) / 1000)
            columns = [emit if name == "emit" else rows[name] for name in ROWS[kind]]
            table = pa.Table.from_arrays(
                [pa.array(np.full(len(seconds), kind, np.int8)), *columns],
                names=["kind", *map(str, range(len(columns)))],
            )
            text = io.BytesIO()
            pa.csv.write_csv(table, text, _PLAIN)
            self._file.write(text.getbuffer())
            self._file.flush()

    def close(self) -> None:
        self._file.close()


class Peer(Protocol):
    """A system under test, for one run; a context manager."""

    name: str
    answered: int
    """Seconds before this one are answered."""
    batches: list[tuple[int, int, float]]
    """Of every batch: its last second, its reports, and the real seconds it took."""
    error: BaseException | None

    def load(self, folder: Path, tolls: Path | None, segments: Path | None) -> None:
        """Make the tables, with the histories."""

    def start(self, folder: Path, answers: Answers) -> None:
        """Begin to take files from `folder` as they come, in the order of their names."""

    def finish(self) -> int:
        """Answer what is still waiting, and stop; how many reports are kept."""

    def __enter__(self) -> Peer: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True)
class Summary:
    """How a run went. CPU is that of all processes, in the timed part, a second of the input."""

    lost: bool
    kept: int
    behind: float
    cpu: float
    batch_median: float
    batch_max: float
    worst: float
    responses: dict[int, Responses]
    load_seconds: float


def run(make: Callable[[], Peer], task: Task, tell: Callable[[str], None] = lambda text: None) -> Summary:
    """Run one peer on one input."""
    folder = task.out / "input"
    folder.mkdir(parents=True)
    answers = Answers(task.out, task.timed)
    with make() as peer:
        begin = time.monotonic()
        peer.load(task.out, task.tolls, task.segments)
        loaded = time.monotonic() - begin
        tell(f"{peer.name}: histories loaded in {loaded:.0f} s")
        peer.start(folder, answers)
        driver = _driver(task, folder)
        try:
            cpu, lost = _watch(peer, driver, task, answers)
        finally:
            driver.kill()
            driver.wait()
        kept = -1 if lost else peer.finish()
    answers.close()
    handed = [h for h in read_journal(task.out / "driver.csv") if h.first >= task.timed]
    timed = [took for last, _, took in peer.batches if last >= task.timed]
    return Summary(
        lost=lost, kept=kept, behind=max((h.done - h.due for h in handed), default=0.0),
        cpu=cpu, batch_median=float(np.median(timed)) if timed else 0.0, batch_max=max(timed, default=0.0),
        worst=answers.worst, responses=answers.responses, load_seconds=loaded,
    )  # fmt: skip


def _driver(task: Task, folder: Path) -> subprocess.Popen[bytes]:
    words = ["-m", "linear_road.driver", "--input", task.input, "--folder", folder, "--speed", task.speed]
    words += ["--journal", task.out / "driver.csv", "--taken", task.out / "taken", "--fast-until", task.timed]
    words += ["--keep", 1 << 30]  # plain Spark may read a file again
    with (task.out / "driver.log").open("wb") as log:
        return subprocess.Popen(command(*map(str, words)), stderr=log)


def _watch(peer: Peer, driver: subprocess.Popen[bytes], task: Task, answers: Answers) -> tuple[float, bool]:
    """Until all is answered or the run is lost: CPU seconds a second of the timed part, and whether it was lost."""
    start: tuple[float, int] | None = None
    handed: list[Handed] = []
    while True:
        ended = driver.poll() is not None
        handed = read_journal(task.out / "driver.csv")
        if peer.error is not None:
            raise RuntimeError(f"{peer.name} failed") from peer.error
        (task.out / "taken").write_text(str(peer.answered))
        timed = [h for h in handed if h.first >= task.timed]
        if timed and start is None:
            start = (usage(os.getpid())[0], timed[0].first)
        waiting = next((h for h in timed if h.last >= peer.answered), None)
        lost = waiting is not None and time.time() - waiting.done > task.give_up
        if lost or (ended and (not handed or peer.answered > handed[-1].last)):
            break
        time.sleep(_POLL)
    if driver.returncode:
        raise RuntimeError(f"the driver failed: {(task.out / 'driver.log').read_text()[-400:]}")
    spent = usage(os.getpid())[0] - start[0] if start else 0.0
    return spent / max(1, peer.answered - start[1] if start else 1), lost


def in_rounds(rows: pa.Table) -> Iterator[tuple[int, int, pa.Table]]:
    """Rows in the order of time, cut where half a minute begins: first and last second, and the rows.

    Within such a piece the conditions on the road do not change, and every vehicle's report of 30 seconds ago is in an
    earlier one.
    """
    times = rows["Time"].to_numpy()
    cuts = [0, *(np.flatnonzero(np.diff(times // ROUND)) + 1).tolist(), len(times)]
    for begin, end in pairwise(cuts):
        if end > begin:
            yield int(times[begin]), int(times[end - 1]), rows.slice(begin, end - begin)


def summary_row(summary: Summary) -> dict[str, Any]:
    """What a table says of a run."""
    toll = summary.responses[0]
    return {
        "batch median s": round(summary.batch_median, 2),
        "batch most s": round(summary.batch_max, 2),
        "toll mean s": round(toll.total / toll.count, 2) if toll.count else None,
        "worst answer s": round(summary.worst, 1),
        "CPU s per s": round(summary.cpu, 2),
    }
