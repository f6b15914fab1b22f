"""The driver: a process that hands the tuples of each second over at that second, the way a real source would.

    python -m linear_road.driver --input lr/input.csv --folder run1/input --journal run1/driver.csv --speed 1

It reads the input, writes files with the tuples of a second aside, ahead of time, and renames each into the folder when it
is due: at speed 1 a second's tuples in that second of real time, at speed N N times faster, at `max` as fast as they are
taken. Every hand-over is in the journal: the first and last second of the file, when it was due and when it was done
(seconds since 1970), and the tuples. A driver that is more than a second behind says so.

How far the receiver is stands in the file `--taken`, a whole number: seconds before it have been answered. At speed `max` the
driver stays `AHEAD` seconds before it. Files answered long ago are removed. After a crash the driver is started again with the
same journal: what was handed over is not handed over again.
"""

from __future__ import annotations

import argparse
import fcntl
import math
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from linear_road import records
from linear_road.application import read_batches

AHEAD: Final = 240
AHEAD_ROWS: Final = 8_000_000
"""At speed `max`: seconds and tuples that may be handed over and not answered yet."""
BEHIND: Final = 1.0
"""Seconds after which the driver counts as behind."""
FAST_ROWS: Final = 200_000
"""Tuples of a file at speed `max`: enough to be read fast, few enough not to be waited for."""
MOST_SECONDS: Final = 60
KEPT: Final = 60
"""Seconds that a file stays in the folder after all of it was answered."""
REST: Final = 15.0
"""Seconds between a fast part that is answered and the beginning of real time: work the fast part left, such as archiving, is
not to be timed."""


@dataclass(frozen=True)
class Handed:
    """A line of the journal."""

    first: int
    last: int
    due: float
    done: float
    tuples: int


class Journal:
    """The hand-overs so far. Read again, it only looks at what was added; a line that was cut off by a crash is left out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self._handed: list[Handed] = []

    def read(self) -> list[Handed]:
        if not self._path.exists():
            return self._handed
        with self._path.open("rb") as file:
            file.seek(self._size)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._size += len(whole)
        for line in whole.decode("ascii").splitlines():
            fields = line.split(",")
            if len(fields) == 5:
                times = int(fields[0]), int(fields[1]), float(fields[2]), float(fields[3])
                self._handed.append(Handed(*times, int(fields[4])))
        return self._handed


def read_journal(path: Path) -> list[Handed]:
    return Journal(path).read()


def seconds_of(path: Path, start: int | None = None, end: int | None = None) -> Iterator[tuple[int, pa.Table]]:
    """The tuples of each second that has any, in order. Tuples that are not in the order of time are refused."""
    waiting: list[pa.RecordBatch] = []
    for batch in read_batches(path, records.INPUT):
        times = batch.column(1).to_numpy()
        if (times[1:] < times[:-1]).any() or (waiting and len(times) and times[0] < waiting[0].column(1)[0].as_py()):
            raise ValueError(f"{path} is not in the order of Time")
        if end is not None and len(times) and times[0] >= end:
            break
        low = 0 if start is None else int(np.searchsorted(times, start))
        cuts = [low, *(c for c in (np.flatnonzero(np.diff(times)) + 1).tolist() if c > low), len(times)]
        for begin, stop in pairwise(cuts):
            if begin == stop or (end is not None and times[begin] >= end):
                continue
            if waiting and waiting[0].column(1)[0].as_py() != times[begin]:
                yield waiting[0].column(1)[0].as_py(), pa.Table.from_batches(waiting)
                waiting = []
            waiting.append(batch.slice(begin, stop - begin))
    if waiting:
        yield waiting[0].column(1)[0].as_py(), pa.Table.from_batches(waiting)


def packed(seconds: Iterator[tuple[int, pa.Table]], rows: int) -> Iterator[tuple[int, int, pa.Table]]:
    """Several seconds together, as many as make about `rows` tuples; 0: each alone."""
    parts: list[pa.Table] = []
    first, last, size = -1, -1, 0
    for second, table in seconds:
        if parts and (size + table.num_rows > rows or second - first >= MOST_SECONDS):
            yield first, last, pa.concat_tables(parts)
            parts, size = [], 0
        if not parts:
            first = second
        parts.append(table)
        last = second
        size += table.num_rows
    if parts:
        yield first, last, pa.concat_tables(parts)


class Driver:
    def __init__(
        self, folder: Path, journal: Path, taken: Path, speed: float, fast_until: int | None, keep: int = KEPT
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._taken = taken
        self._speed = speed
        self._fast_until = fast_until
        self._keep = keep
        self._lock = journal.open("a", encoding="ascii")
        fcntl.flock(self._lock, fcntl.LOCK_EX)  # never two drivers with one journal
        self._done = read_journal(journal)
        self._standing = deque(h.first for h in self._done)  # of the files that may still be in the folder
        self._begin: tuple[float, int] | None = None  # a moment, and the second that is handed over at it
        self._parent = os.getppid()

    def run(self, path: Path, start: int | None, end: int | None) -> None:
        after = self._done[-1].last + 1 if self._done else start
        fast = math.inf if math.isinf(self._speed) else self._fast_until
        if fast is not None and (after is None or after < fast):
            stop = end if math.isinf(fast) else int(min(fast, end if end is not None else fast))
            for first, last, rows in packed(seconds_of(path, after, stop), FAST_ROWS):
                self._wait_for_room(first)
                self._hand_over(first, last, rows, time.time())
            if math.isinf(fast):
                return
            after = stop
            self._wait_until_taken(int(fast))
            time.sleep(REST)
        for second, rows in seconds_of(path, after, end):
            staged = self._stage(second, rows)
            if self._begin is None:
                self._begin = (time.time() + 0.2, second)
            moment, origin = self._begin
            due = moment + (second - origin) / self._speed
            time.sleep(max(0.0, due - time.time()))
            self._hand_over(second, second, rows, due, staged)

    def _stage(self, second: int, rows: pa.Table) -> Path:
        staged = self._folder / f".{second:06d}.tmp"
        pa.parquet.write_table(rows, staged, compression="none", use_dictionary=False, write_statistics=False)
        return staged

    def _hand_over(self, first: int, last: int, rows: pa.Table, due: float, staged: Path | None = None) -> None:
        staged = staged or self._stage(first, rows)
        self._check_wanted()
        self._check_wanted()
        os.rename(staged, self._file(first))
        done = time.time()
        with self._journal.open("a", encoding="ascii") as journal:
            journal.write(f"{first},{last},{due:.4f},{done:.4f},{rows.num_rows}\n")
        self._done.append(Handed(first, last, due, done, rows.num_rows))
        self._standing.append(first)
        self._take_back()
        if done - due > BEHIND:
            print(f"driver: {done - due:.1f} s behind at second {first}", file=sys.stderr, flush=True)

    def _take_back(self) -> None:
        """Remove what was answered a while ago: who looks for files must not look at three hours of them."""
        long_ago = self._taken_up_to() - self._keep
        while len(self._standing) > 1 and self._standing[1] <= long_ago:  # the first ended before the second began
            self._file(self._standing.popleft()).unlink(missing_ok=True)

    def _file(self, first: int) -> Path:
        return self._folder / f"{first:06d}.parquet"

    def _taken_up_to(self) -> int:
        try:
            return int(self._taken.read_text("ascii") or 0)
        except (FileNotFoundError, ValueError):
            return 0

    def _wait_for_room(self, second: int) -> None:
        """At speed `max` the receiver decides about the speed."""
        while self._done:
            taken = max(self._taken_up_to(), self._done[0].first)
            waiting = sum(h.tuples for h in self._done if h.last >= taken)
            if second <= taken + AHEAD and waiting <= AHEAD_ROWS:
                break
            self._check_wanted()
            time.sleep(0.02)

    def _wait_until_taken(self, second: int) -> None:
        while self._taken_up_to() < second:
            self._check_wanted()
            time.sleep(0.05)

    def _check_wanted(self) -> None:
        """End with the process that started this one, also if that was killed: the next run starts a driver of its own."""
        if os.getppid() != self._parent:
            raise SystemExit("driver: the run that started it has ended")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m linear_road.driver", description="Hand a Linear Road input over.")
    parser.add_argument("--input", type=Path, required=True, help="the input, CSV or Parquet")
    parser.add_argument("--folder", type=Path, required=True, help="where files are handed over")
    parser.add_argument("--journal", type=Path, required=True, help="where hand-overs are written down")
    parser.add_argument("--taken", type=Path, required=True, help="a file that tells how far the receiver is")
    parser.add_argument("--speed", default="1", help="1 is real time; max is as fast as tuples are taken")
    parser.add_argument("--start", type=int, help="the first second")
    parser.add_argument("--end", type=int, help="the second before which to end")
    parser.add_argument("--fast-until", type=int, help="seconds before this one are handed over at speed max")
    parser.add_argument("--keep", type=int, default=KEPT, help="seconds that a file stays after it was answered")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run that started this process ends it
    speed = math.inf if given.speed == "max" else float(given.speed)
    driver = Driver(given.folder, given.journal, given.taken, speed, given.fast_until, given.keep)
    driver.run(given.input, given.start, given.end)


if __name__ == "__main__":
    main()
