"""Archive work as plain data: what is to be done, doing it, and what came out.

A task is made by the process that owns the pond, run anywhere (a Spark worker, or in place), and its result is
committed by the owner. A task only ever creates files nobody refers to yet, so running it twice, or not to the end, does
no harm: the names carry run, tick and attempt, and what is not committed is a stray to be deleted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from millpond.arrow import arrow_schema, conform, integers
from millpond.errors import CorruptBlock
from millpond.schema import Schema
from millpond.table.block import BlockSpec, write_blocks, write_copies
from millpond.table.log import Frame, LogReader, Section
from millpond.table.manifest import ArchiveFile


@dataclass(frozen=True)
class ArchiveTask:
    """Write the log sections of one shard as blocks."""

    table: str  # its folder
    kind: int  # ROWS or REJECTED
    shard: int
    spec: BlockSpec
    columns: tuple[tuple[str, str], ...]
    sections: tuple[tuple[str, Section], ...]  # (segment, section)
    from_row: int

    def run(self, name: str) -> list[ArchiveFile]:
        schema = arrow_schema(Schema.of(self.columns))
        readers: dict[str, LogReader] = {}
        batches = []
        for segment, section in self.sections:
            path = Path(segment)
            reader = readers.setdefault(str(path.parent), LogReader(path.parent))
            batches.append(conform(reader.read(path, section), schema))
        rows = pa.Table.from_batches(batches, schema=schema)
        return write_blocks(self.spec, drop_before(rows, self.from_row), self.shard, name)


@dataclass(frozen=True)
class CompactTask:
    """Write several small files of one compartment and shard as one."""

    table: str  # its folder
    kind: int
    shard: int
    spec: BlockSpec
    columns: tuple[tuple[str, str], ...]
    files: tuple[str, ...]

    def run(self, name: str) -> list[ArchiveFile]:
        """The merged file, or nothing if one of the files is damaged: they stay, and whoever asks for them is told."""
        schema = arrow_schema(Schema.of(self.columns))
        try:
            tables = [read_file(Path(self.spec.folder) / f) for f in self.files]
        except (CorruptBlock, FileNotFoundError):
            return []
        batches = [conform(b, schema) for table in tables for b in table.to_batches()]
        rows = pa.Table.from_batches(batches, schema=schema).sort_by(
            "_seq"
        )  # arrival order decides between equal times
        return write_blocks(self.spec, rows, self.shard, name)


@dataclass(frozen=True)
class CopyTask:
    """Write the thinned copies of a file that it should have."""

    table: str  # its folder
    kind: int
    shard: int
    spec: BlockSpec
    file: ArchiveFile

    def run(self, _name: str) -> list[ArchiveFile]:
        """The file with its copies, or nothing if it is damaged."""
        try:
            rows = read_file(Path(self.spec.folder) / self.file.path)
        except (CorruptBlock, FileNotFoundError):
            return []
        return [replace(self.file, copies=write_copies(self.spec, rows.combine_chunks(), self.file))]


Task = ArchiveTask | CompactTask | CopyTask


def drop_before(rows: pa.Table, from_row: int) -> pa.Table:
    seq = integers(rows["_seq"])
    if len(seq) == 0 or int(seq.min()) >= from_row:
        return rows
    return rows.filter(pa.array(seq >= from_row))


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Damage of an archive file is reported as such."""
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise CorruptBlock(
            f'archive file "{path.parent.parent.parent.name}/{path.name}" is damaged',
            detail=str(error).splitlines()[0],
            hint="Restore the file from a copy.",
        ) from error


def read_file(path: Path) -> pa.Table:
    """A whole archive file."""
    with reading(path):
        return pq.read_table(path, partitioning=None, page_checksum_verification=True)


def choose_frames(frames: Iterable[Frame], block_rows: int, oldest: int, *, force: bool) -> list[Frame]:
    """The frames to archive next: up to a whole block for some shard; fewer only if `force`d or older than `oldest`."""
    chosen: list[Frame] = []
    per_shard: dict[int, int] = {}
    full = old = False
    for frame in frames:
        chosen.append(frame)
        old = old or frame.state.at <= oldest
        for section in frame.sections:
            per_shard[section.shard] = per_shard.get(section.shard, 0) + section.rows
            full = full or per_shard[section.shard] >= block_rows
        if full:
            break
    return chosen if full or old or force else []


def choose_files(files: Sequence[ArchiveFile], block_rows: int, *, at_least: int = 8) -> list[list[ArchiveFile]]:
    """Runs of small files worth merging: neighbours in time within a compartment and shard, and not grown-up yet.

    A file is small below a quarter of a block. Merging eight at a time rewrites a row at most log8(block/first size)
    times, and leaves at most seven small files of each size behind.
    """
    groups: dict[tuple[int, int], list[list[ArchiveFile]]] = {}
    for unit in units(files):
        if sum(file.rows for file in unit) < block_rows // 4:
            groups.setdefault((unit[0].compartment, unit[0].shard), []).append(unit)
    runs = []
    for members in groups.values():
        members.sort(key=lambda unit: (unit[0].least, unit[0].first_seq))
        if len(members) < at_least:
            continue
        run: list[ArchiveFile] = []
        rows = 0
        for unit in members:
            if run and rows + sum(file.rows for file in unit) > block_rows:
                break
            run += unit
            rows += sum(file.rows for file in unit)
        runs.append(run)
    return runs


def units(files: Iterable[ArchiveFile]) -> list[list[ArchiveFile]]:
    """Files that are written anew together: those of a randomised run, any other one alone."""
    found: dict[tuple[str, int], list[ArchiveFile]] = {}
    for file in files:
        found.setdefault((file.run or file.path, file.compartment), []).append(file)
    return list(found.values())


def misplaced(files: Iterable[ArchiveFile], spec: BlockSpec, most: int) -> list[list[ArchiveFile]]:
    """Units that are not laid out as `spec` says, of about `most` rows together: the table's design was changed."""
    found = []
    for unit in units(files):
        if most > 0 and (unit[0].run is not None) != spec.randomise:
            found.append(unit)
            most -= sum(file.rows for file in unit)
    return found


def without_copies(files: Iterable[ArchiveFile], spec: BlockSpec, most: int) -> list[ArchiveFile]:
    """Files that do not have the copies that `spec` says, of about `most` rows together."""
    found = []
    for file in files:
        if most > 0 and file.run is None and {copy.high for copy in file.copies} != set(spec.copies):
            found.append(file)
            most -= file.rows
    return found
