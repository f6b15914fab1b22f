"""Matching as a task of a tick: a worker reads the rows of a shard from the log, and finds which entries they fulfil.

A worker holds the index of a table in memory. It is told by files which entries came and went: each file is a change after the
one before it, and a task names all of them, so a worker that knows some reads the others, and one that knows nothing, all.

Invariant. What a task gives depends on the task alone, so it can be run again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millpond.arrow import arrow_schema, integers
from millpond.durable import disk_errors
from millpond.predicate.form import Predicate
from millpond.predicate.json_form import from_json, to_json
from millpond.predicate.vector import Columns
from millpond.schema import SEQ, Column, DataType, Schema, with_seq
from millpond.standing.index.matches import Matches
from millpond.standing.index.predicates import PredicateIndex
from millpond.table.sections import FrameSection, read_sections

_MOST = 64  # tables whose index one worker holds


class Batch:
    """Rows as filters and the index want them."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self.size = rows.num_rows

    def column(self, name: str) -> pa.ChunkedArray:
        return self._rows.column(name)


@dataclass(frozen=True)
class MatchTask:
    """Match the rows of a shard numbered from `low` up to `high`."""

    columns: tuple[tuple[str, str], ...]
    entries: tuple[str, ...]  # the files that say which entries there are
    sections: tuple[FrameSection, ...]
    low: int
    high: int

    def run(self) -> Matched:
        """Do it."""
        columns = Schema(tuple(Column(name, DataType.parse(kind)) for name, kind in self.columns))
        rows = read_sections(self.sections, self.low, self.high, arrow_schema(with_seq(columns)))
        found = _index_for(columns, self.entries).match(Columns(Batch(rows)))
        return Matched(integers(rows.column(SEQ)), found)


@dataclass(frozen=True)
class Matched:
    """What a task found: the matches of the rows with these numbers."""

    seqs: npt.NDArray[np.int64]
    matches: Matches

    def to_bytes(self) -> bytes:
        """As it goes from process to process."""
        return len(self.seqs).to_bytes(8, "little") + self.seqs.astype("<i8").tobytes() + self.matches.to_bytes()

    @classmethod
    def from_bytes(cls, data: memoryview) -> Matched:
        """What `to_bytes` made."""
        end = 8 + 8 * int.from_bytes(data[:8], "little")
        return cls(np.frombuffer(data[8:end], dtype="<i8"), Matches.from_bytes(data[end:]))


# -- entries as files ---------------------------------------------------------------------------------------------------


@dataclass
class _Held:
    index: PredicateIndex
    files: tuple[str, ...]


_held: dict[str, _Held] = {}  # by the first file


def _index_for(columns: Schema, files: Sequence[str]) -> PredicateIndex:
    held = _held.get(files[0])
    if held is None or held.files != tuple(files[: len(held.files)]):
        while len(_held) >= _MOST:
            _held.pop(next(iter(_held)))
        held = _held[files[0]] = _Held(PredicateIndex(columns), ())
    for path in files[len(held.files) :]:
        came, went = read_entries(path)
        held.index.add(came)
        held.index.remove(went)
    held.files = tuple(files)
    return held.index


def write_entries(path: Path, came: Iterable[tuple[int, Predicate]], went: Iterable[int]) -> None:
    """Entries that came, and then those that went."""
    data = {"came": [[number, to_json(predicate)] for number, predicate in came], "went": list(went)}
    temporary = path.with_suffix(".tmp")
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(data))
        temporary.replace(path)


def read_entries(path: str) -> tuple[list[tuple[int, Predicate]], list[int]]:
    found = json.loads(Path(path).read_text())
    return [(number, from_json(data)) for number, data in found["came"]], found["went"]
