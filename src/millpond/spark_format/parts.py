"""Pieces of a relation, as tasks read them: archive files, stretches of the log, or rows that come with the order.

Invariant. The pieces of a view have each of its rows once, whatever happens between planning and reading: archive files stay
for minutes after they were replaced, and rows whose part of the log is deleted meanwhile are found by number in the archive.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from millpond.arrow import arrow_schema, conform, from_ipc, numbered_between, to_ipc
from millpond.errors import PondError
from millpond.predicate.columns import Columns
from millpond.predicate.form import Always, Predicate, all_of
from millpond.predicate.vector import matches
from millpond.schema import SEQ, Schema, with_seq
from millpond.spark_format.relations import View
from millpond.table.log import ROWS, Frame
from millpond.table.manifest import Manifest, Version
from millpond.table.sections import FrameSection, read_sections
from millpond.table.store import Bounds, tail_table
from millpond.table.work import reading

_PIECE_BYTES = 64 << 20
_BATCH_ROWS = 65_536
T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """What is wanted of each row: the columns of Spark's `schema`, of rows of a relation with `columns` that match
    `predicate`."""

    columns: Schema
    schema: Any
    predicate: Predicate

    def __post_init__(self) -> None:
        for name in self.schema.fieldNames():
            with_seq(self.columns).find(name, "of the pond")

    def read(self, part: Part) -> Iterator[pa.RecordBatch]:
        """The rows of a part as Spark takes them."""
        columns = with_seq(self.columns)
        predicate = all_of([self.predicate, part.also])
        shown = [columns.find(name, "").name for name in self.schema.fieldNames()]
        needed = [c for c in columns if c.name in {*shown, *predicate.columns, SEQ}]
        given = to_arrow_schema(self.schema, timezone="UTC")
        for rows in part.rows(arrow_schema(Schema(tuple(needed)))):
            if not isinstance(predicate, Always):
                rows = rows.filter(pa.array(matches(predicate, Columns(_Rows(rows)))))
            if rows.num_rows:
                asked = rows.select(shown).rename_columns(given.names).cast(given)
                yield from asked.combine_chunks().to_batches(max_chunksize=_BATCH_ROWS)


class _Rows:
    """A table as predicates see it."""

    def __init__(self, rows: pa.Table) -> None:
        self.size = rows.num_rows
        self.column = rows.column


class Part(InputPartition, ABC):
    """A piece of a relation: rows numbered from `low` up to `high`, and of these only those that match `also`."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.also: Predicate = Always()

    @abstractmethod
    def rows(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """Its rows, piece by piece, with these columns. The row number is among them."""


class Files(Part):
    """Archive files, of some only certain row groups."""

    def __init__(self, files: Sequence[tuple[str, tuple[int, ...] | None]], low: int, high: int) -> None:
        super().__init__(low, high)
        self.files = tuple(files)

    def rows(self, schema: pa.Schema) -> Iterator[pa.Table]:
        for path, groups in self.files:
            with _found(path), reading(Path(path)), pq.ParquetFile(path, page_checksum_verification=True) as file:
                there = [n for n in schema.names if n in file.schema_arrow.names]
                for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=there):
                    yield numbered_between(_table(batch, schema), self.low, self.high)


class Stretch(Part):
    """Whole frames of the log of a table, which is in `folder`."""

    def __init__(self, folder: str, sections: Sequence[FrameSection], low: int, high: int) -> None:
        super().__init__(low, high)
        self.folder = folder
        self.sections = tuple(sections)

    def rows(self, schema: pa.Schema) -> Iterator[pa.Table]:
        try:
            yield read_sections(self.sections, self.low, self.high, schema)
        except FileNotFoundError:
            yield from self._archived(schema)

    def _archived(self, schema: pa.Schema) -> Iterator[pa.Table]:
        """The same rows, when they have moved to the archive."""
        manifest = Manifest(Path(self.folder) / "archive")
        if manifest.damage is not None:
            raise manifest.damage
        version = manifest.current
        if version.position < self.high:
            raise PondError(
                f"a part of the log in {self.folder} is gone, and its rows are not in the archive",
                hint="Ask again: the table may have been dropped.",
            )
        files = [
            (str(manifest.folder / f.path), None)
            for f in version.files.values()
            if self._may_have(f.first_seq, f.last_seq)
        ]
        yield from Files(files, self.low, self.high).rows(schema)

    def _may_have(self, first: int, last: int) -> bool:
        return first < self.high and last >= self.low


class Rows(Part):
    """Rows that come with the order, as Arrow's stream."""

    def __init__(self, data: bytes, low: int, high: int) -> None:
        super().__init__(low, high)
        self.data = data

    def rows(self, schema: pa.Schema) -> Iterator[pa.Table]:
        yield numbered_between(from_ipc(self.data).select(schema.names), self.low, self.high)


def parts_of(view: View, columns: Schema, bounds: Bounds, low: int, high: int) -> list[Part]:
    """The rows of a view that are numbered from `low` up to `high` and may be wanted, piece by piece."""
    snapshot = view.snapshot
    high = min(high, view.end)
    if low >= high:
        return []
    selection = snapshot.select(bounds)
    found: list[Part] = []
    files = [f for f in selection.files if f.first_seq < high and f.last_seq >= low]
    for group in _packed((f, f.size) for f in files):
        named = [(str(snapshot.folder / f.path), _ordered(selection.groups.get(f.path))) for f in group]
        found.append(Files(named, low, high))
    low = max(low, snapshot.version.position)
    if not selection.blocks or low >= high:  # all of it is in files
        return found
    if view.frames is not None:
        return [*found, *_stretches(view.frames, snapshot.version, bounds, str(snapshot.folder.parent), low, high)]
    schema = arrow_schema(with_seq(columns))
    tables = (tail_table(blocks, schema) for blocks in _packed((b, b.bytes) for b in selection.blocks))
    return [*found, *(Rows(to_ipc(rows), low, high) for rows in tables)]


def _stretches(
    frames: Iterable[Frame], version: Version, bounds: Bounds, folder: str, low: int, high: int
) -> Iterator[Stretch]:
    wanted = [
        f
        for f in frames
        if f.rows
        and f.end > low
        and f.first < high
        and (bounds.low is None or f.greatest >= bounds.low)
        and (bounds.high is None or f.least <= bounds.high)
    ]
    for group in _packed((f, f.length) for f in wanted):
        sections = [FrameSection(str(f.path), s, f.first, f.end) for f in group for s in f.sections if s.kind == ROWS]
        yield Stretch(folder, sections, max(low, group[0].first), min(high, group[-1].end))


def _packed(sized: Iterable[tuple[T, int]]) -> Iterator[list[T]]:
    """Neighbours put together up to the size of a piece."""
    group: list[T] = []
    size = 0
    for thing, bytes_ in sized:
        if group and size + bytes_ > _PIECE_BYTES:
            yield group
            group, size = [], 0
        group.append(thing)
        size += bytes_
    if group:
        yield group


@contextlib.contextmanager
def _found(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise PondError(
            f"{path} is gone: the pond has put its rows into another file since",
            hint="Load the data frame again; in the session of db.spark(), call db.spark() again.",
        ) from error


def _ordered(groups: frozenset[int] | None) -> tuple[int, ...] | None:
    return None if groups is None else tuple(sorted(groups))


def _table(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches([conform(batch, schema)]).cast(schema)
