"""Writes the answers into the output file as they appear, with the time of their output, and keeps the response times.

A row's `Emit` is its time plus the real seconds between the hand-over of that second's tuples and the writing of the row. The
file goes with a note of how long it is and up to which result of each query it holds: after a crash it is cut to that
length and the writer goes on behind those results, so that nothing is written twice or left out.
"""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

import millpond
from linear_road.application import ANSWERS, Answer
from linear_road.driver import Handed

_PLAIN: Final = pa.csv.WriteOptions(include_header=False, quoting_style="none")


class Clock:
    """When each second's tuples were handed over."""

    def __init__(self) -> None:
        self._lasts: list[int] = []
        self._moments: list[float] = []

    def learn(self, handed: Sequence[Handed]) -> None:
        """Take in the journal of the driver, of which the beginning may be known already."""
        for item in handed[len(self._lasts) :]:
            self._lasts.append(item.last)
            self._moments.append(item.done)

    def handed(self, seconds: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The moments of seconds that were handed over."""
        place = np.searchsorted(np.array(self._lasts), seconds)
        return np.array(self._moments)[np.minimum(place, len(self._moments) - 1)]


@dataclass
class Responses:
    """Response times of one kind of answer, in steps of 10 ms, over all and by simulated minute."""

    count: int = 0
    total: float = 0.0
    most: float = 0.0
    histogram: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(6001, np.int64))
    minutes: dict[int, list[float]] = field(default_factory=dict)
    """By minute: answers, sum of their response times, the longest."""

    def take(self, seconds: npt.NDArray[np.int64], responses: npt.NDArray[np.float64]) -> None:
        self.count += len(responses)
        self.total += float(responses.sum())
        self.most = max(self.most, float(responses.max()))
        steps = np.clip(responses * 100, 0, 6000).astype(np.int64)
        self.histogram += np.bincount(steps, minlength=6001)
        for minute in np.unique(seconds // 60):
            here = responses[seconds // 60 == minute]
            known = self.minutes.setdefault(int(minute), [0, 0.0, 0.0])
            known[0] += len(here)
            known[1] += float(here.sum())
            known[2] = max(known[2], float(here.max()))

    def percentile(self, share: float) -> float:
        """The response time that this share of the answers did not exceed, rounded up to 10 ms; the longest at most."""
        if not self.count:
            return 0.0
        return min((int(np.searchsorted(np.cumsum(self.histogram), share * self.count)) + 1) / 100, self.most)

    def to_json(self) -> dict[str, Any]:
        return {
            "answers": self.count,
            "mean": self.total / self.count if self.count else None,
            "p99": self.percentile(0.99) if self.count else None,
            "max": self.most if self.count else None,
            "minutes": {str(m): v for m, v in sorted(self.minutes.items())},
        }


class Writer:
    """Call `write` again and again, from one thread."""

    def __init__(self, db: millpond.Pond, folder: Path, clock: Clock) -> None:
        self._clock = clock
        self._note = folder / "output.json"
        path = folder / "output.csv"
        known: dict[str, Any] = {"bytes": 0, "positions": {}}
        if self._note.exists():
            known = json.loads(self._note.read_text("utf-8"))
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(known["bytes"])
        self._file.seek(0, os.SEEK_END)
        self._positions: dict[str, int] = known["positions"]
        self._cursors = [(a, db.resume(a.query, after=self._positions.get(a.query, -1))) for a in ANSWERS]
        self.responses = {a.type: Responses() for a in ANSWERS}
        self._noted = time.monotonic()

    def write(self) -> int:
        """Write what is new; how many rows that were."""
        count = 0
        for answer, cursor in self._cursors:
            rows = cursor.fetch().arrow()
            if rows.num_rows:
                self._put(answer, rows)
                self._positions[answer.query] = cursor.position
                count += rows.num_rows
        if count or time.monotonic() - self._noted > 1:
            self._file.flush()
        if time.monotonic() - self._noted > 1:
            self._keep()
        return count

    def _put(self, answer: Answer, rows: pa.Table) -> None:
        seconds = rows.column("t").combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
        responses = np.maximum(time.time() - self._clock.handed(seconds), 0.0)
        self.responses[answer.type].take(seconds, responses)
        milliseconds = np.floor(seconds * 1000 + responses * 1000).astype(np.int64)
        emit = _thousandths(milliseconds)
        columns = [emit if name == "{emit}" else rows.column(name) for name in answer.row]
        kind = pa.array(np.full(len(seconds), answer.type, np.int8))
        text = io.BytesIO()
        names = [str(i) for i in range(len(columns) + 1)]
        pa.csv.write_csv(pa.Table.from_arrays([kind, *columns], names=names), text, _PLAIN)
        self._file.write(text.getbuffer())

    def _keep(self) -> None:
        """Note how far the file goes; it must be on disk before the note says so."""
        self._file.flush()
        os.fsync(self._file.fileno())
        note = self._note.with_suffix(".tmp")
        note.write_text(json.dumps({"bytes": self._file.tell(), "positions": self._positions}), "utf-8")
        os.replace(note, self._note)
        self._noted = time.monotonic()

    def close(self) -> None:
        self._keep()
        self._file.close()


def _thousandths(milliseconds: npt.NDArray[np.int64]) -> pa.Array:
    """A decimal is its number of thousandths: two words, the upper one 0."""
    words = np.zeros(2 * len(milliseconds), np.int64)
    words[::2] = milliseconds
    return pa.Array.from_buffers(pa.decimal128(24, 3), len(milliseconds), [None, pa.py_buffer(words)])
