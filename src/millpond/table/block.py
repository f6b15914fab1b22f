"""Blocks: how rows become archive files. Pure Arrow and NumPy, so that it runs alike in a Spark worker and in a test.

A block is a run of rows of one shard, cut at compartment borders and written as Parquet in row groups of `GROUP_ROWS`.
It is cut by time into slices of `SLICE_ROWS` rows, and each slice is sorted by (clustering columns, time, row number).
Sorting by the indexed column makes a vehicle's reports neighbours, so that a look-up reads one row group of a slice;
slicing lets time skip row groups, so that a question about ten minutes reads the same amount whether files are young
and small or grown and large.

`GROUP_ROWS` is DuckDB's own vector multiple (60 x 2,048): measured over 12 M rows it was best for both point and scan.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millpond.arrow import distinct, integers
from millpond.durable import disk_errors, make_folder, sync_file, sync_folder
from millpond.event_time import times_of
from millpond.failpoints import reach
from millpond.schema import SEQ
from millpond.table.draws import Draws
from millpond.table.index import index_path, write_index
from millpond.table.manifest import ArchiveFile, Copy
from millpond.table.runs import blocks_of, deal

GROUP_ROWS = 122_880
SLICE_ROWS = 4 * GROUP_ROWS
_LONGEST_TEXT_BOUND = 64
_SAMPLE = 8192
_SMALL = 65_536  # rows
_DEALT_AT_ONCE = 262_144
_SYNCED_AT_ONCE = 8  # files of a run


@dataclass(frozen=True)
class BlockSpec:
    """What a worker must know to write blocks of a table. Plain values: it travels to Spark workers."""

    folder: str
    time_column: str | None  # None: rows have no time (standard tables)
    indexed: tuple[str, ...] = ()
    compartment_width: int = 0  # in the table's unit; 0 puts everything into one compartment
    group_rows: int = GROUP_ROWS
    randomise: bool = False  # rows are dealt to the blocks of a run
    copies: tuple[int, ...] = ()  # beside each file, copies with the rows whose draws are below these
    seed: str = ""  # of the draws

    @property
    def clustered(self) -> tuple[str, ...]:
        """The first indexed column orders the rows of a block; further indices point into that order."""
        return self.indexed[:1]


def write_blocks(
    spec: BlockSpec, rows: pa.Table, shard: int, name: str, again: ArchiveFile | None = None
) -> list[ArchiveFile]:
    """Write `rows` (with `_seq`) as one file, or run of files, per compartment they fall in. Files are synced; nothing refers to
    them yet. With `again`, a block of a run, they are written as that block."""
    if rows.num_rows == 0:
        return []
    rows = rows.combine_chunks()
    times = _times(spec, rows)
    compartments = times // spec.compartment_width if spec.compartment_width else np.zeros_like(times)
    files = []
    alike = compartments[0] == compartments[-1] and int(compartments.min()) == int(compartments.max())
    for compartment in compartments[:1] if alike else distinct(compartments):
        part = rows if alike else rows.take(pa.array(np.flatnonzero(compartments == compartment)))
        place = f"c{int(compartment)}/{name}-s{shard}"
        if again is not None and again.run is not None:
            file = _write_file(spec, part, int(compartment), shard, place)
            files.append(replace(file, run=again.run, draws=again.draws))
        elif spec.randomise:
            files += _write_run(spec, part, int(compartment), shard, place)
        else:
            file = _write_file(spec, part, int(compartment), shard, place)
            files.append(replace(file, copies=write_copies(spec, part, file)))
        sync_folder(Path(spec.folder) / f"c{int(compartment)}")
    return files


def _times(spec: BlockSpec, rows: pa.Table) -> npt.NDArray[np.int64]:
    return times_of(rows[spec.time_column]) if spec.time_column else np.zeros(rows.num_rows, dtype=np.int64)


def _write_run(spec: BlockSpec, rows: pa.Table, compartment: int, shard: int, run: str) -> list[ArchiveFile]:
    """Rows as the blocks of a run. What is the same for all blocks is found out once."""
    order = sort_order(rows, _times(spec, rows), ()) if not spec.clustered else None
    if order is not None:
        rows = rows.take(pa.array(order)).combine_chunks()
    encodings = _encodings(rows)
    blocks = deal(rows.num_rows)
    make_folder(Path(spec.folder) / f"c{compartment}")

    def write(block: int) -> ArchiveFile:
        part = parts[block].combine_chunks() if spec.clustered or parts[block].num_rows < _SMALL else parts[block]
        found = encodings if part.num_rows >= _SMALL else _of_small_block(spec, encodings)
        place = f"{run}-b{block}"
        file = _write_file(spec, part, compartment, shard, place, found, ordered=not spec.clustered, synced=False)
        return replace(file, run=run, draws=blocks[block])

    # Two threads have the same to do: the largest block has as many rows as all others.
    with ThreadPoolExecutor(2, "blocks") as pool:
        parts = _dealt(rows, Draws.of_table(spec.seed), len(blocks), pool)
        filled = [block for block, part in enumerate(parts) if part.num_rows]
        files = list(pool.map(write, reversed(filled)))[::-1]
    with ThreadPoolExecutor(_SYNCED_AT_ONCE, "blocks") as pool:  # a disk syncs several files as fast as one
        list(pool.map(lambda file: _sync(Path(spec.folder) / file.path), files))
    return files


def _dealt(rows: pa.Table, draws: Draws, blocks: int, pool: ThreadPoolExecutor) -> list[pa.Table]:
    """The rows of each block, in their order."""
    numbers = blocks_of(draws.of_rows(integers(rows[SEQ])), blocks)

    def deal_portion(start: int) -> list[pa.Table]:
        number = numbers[start : start + _DEALT_AT_ONCE]
        order = pa.array(np.argsort(number, kind="stable"))
        ordered = pc.take(rows.slice(start, _DEALT_AT_ONCE), order, boundscheck=False)
        ends = np.cumsum(np.bincount(number, minlength=blocks)).tolist()
        return [ordered.slice(begin, end - begin) for begin, end in itertools.pairwise([0, *ends])]

    portions = pool.map(deal_portion, range(0, rows.num_rows, _DEALT_AT_ONCE))
    return [pa.concat_tables(parts) for parts in zip(*portions, strict=True)]


def write_copies(spec: BlockSpec, rows: pa.Table, file: ArchiveFile) -> tuple[Copy, ...]:
    """The thinned copies of a file of these rows. They are no Parquet files by their names: other readers do not take them for
    rows of the table."""
    if not spec.copies:
        return ()
    draws = Draws.of_table(spec.seed).of_rows(integers(rows[SEQ]))
    copies = []
    for high in spec.copies:
        part = rows.filter(pa.array(draws < high)).combine_chunks()
        name = f"{file.path.removesuffix('.parquet')}.{high}.copy"
        path = Path(spec.folder) / name
        with disk_errors(path):
            _write_parquet(spec, part, path, _encodings(part))
            sync_file(path)
        copies.append(Copy(name, path.stat().st_size, part.num_rows, high, file_crc(path)))
    sync_folder(Path(spec.folder) / Path(file.path).parent)
    return tuple(copies)


Encodings = tuple[list[str], dict[str, str]]
"""The columns with a dictionary, and the encodings of others."""


def _write_parquet(spec: BlockSpec, rows: pa.Table, path: Path, found: Encodings) -> None:
    dictionary, encodings = found
    pq.write_table(
        rows,
        path,
        row_group_size=spec.group_rows,
        compression="zstd",
        compression_level=1,
        use_dictionary=dictionary,
        column_encoding=encodings,
        # Minima and maxima of floating columns leave out NaN, and readers would skip rows that hold it.
        write_statistics=[f.name for f in rows.schema if not pa.types.is_floating(f.type)],
        write_page_checksum=True,  # merging and rewriting must not take damage for data
    )


def _sync(path: Path) -> None:
    with disk_errors(path):
        sync_file(path)


def _write_file(
    spec: BlockSpec,
    rows: pa.Table,
    compartment: int,
    shard: int,
    place: str,
    encodings: Encodings | None = None,
    *,
    ordered: bool = False,
    synced: bool = True,
) -> ArchiveFile:
    """A file `place` in the archive's folder. The folder is not synced yet, and the file only if it is to be `synced`.
    `ordered`: the rows lie as they are to."""
    order = None if ordered else sort_order(rows, _times(spec, rows), spec.clustered)
    if order is not None:
        rows = rows.take(pa.array(order)).combine_chunks()
    path = Path(spec.folder) / f"{place}.parquet"
    with disk_errors(path):
        make_folder(path.parent)
        try:
            _write_parquet(spec, rows, path, encodings or _encodings(rows))
            if synced:
                sync_file(path)
            reach("block.after_file")
            for column in spec.indexed:
                write_index(index_path(path, column), rows[column], GROUP_ROWS)
            reach("block.after_index")
        except BaseException:
            path.unlink(missing_ok=True)
            for column in spec.indexed:
                index_path(path, column).unlink(missing_ok=True)
            raise
    minima, maxima, nulls = _bounds(rows)
    first, last = _extremes(rows[SEQ])
    least, greatest = _extremes(rows[spec.time_column]) if spec.time_column else (0, 0)
    return ArchiveFile(
        path=f"c{compartment}/{path.name}",
        size=path.stat().st_size,
        rows=rows.num_rows,
        least=least,
        greatest=greatest,
        first_seq=first,
        last_seq=last,
        compartment=compartment,
        shard=shard,
        columns=tuple(rows.schema.names),
        minima=minima,
        maxima=maxima,
        nulls=nulls,
        indexed=spec.indexed,
        clustered=spec.clustered,
        crc=file_crc(path),
    )


def file_crc(path: Path) -> int:
    """The CRC-32 of a whole file."""
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(4 << 20):
            crc = zlib.crc32(chunk, crc)
    return crc


def sort_order(rows: pa.Table, times: npt.NDArray[np.int64], clustered: Sequence[str]) -> npt.NDArray[np.int64] | None:
    """Row numbers in the order (slice of time, clustered, time, arrival), or None if the rows lie so already."""
    if not clustered:
        return _ordered([times])
    keys = [_numbers(rows[name]) for name in clustered]
    if len(times) <= SLICE_ROWS:
        return _ordered([*keys, times])
    by_time = _ordered([times])
    by_time = np.arange(len(times)) if by_time is None else by_time
    parts = []
    for start in range(0, len(times), SLICE_ROWS):
        part = by_time[start : start + SLICE_ROWS]
        order = _ordered([*(key[part] for key in keys), times[part]])
        parts.append(part if order is None else part[order])
    return np.concatenate(parts)


def _numbers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A column as integers that compare as its values do; NULL comes first."""
    array = column.combine_chunks()
    if pa.types.is_integer(array.type) and array.null_count == 0:
        return integers(array).astype(np.int64)
    ranks = integers(pc.rank(array, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    ranks[integers(array.is_null().cast(pa.int8())).astype(bool)] = 0  # ranks start at 1
    return ranks


def _ordered(keys: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64] | None:
    """The stable order by `keys`, or None if it is the order there is.

    The keys are packed with the row number into one 64-bit integer when they fit, because sorting plain integers is
    several times faster than sorting by columns.
    """
    if len(keys) == 1 and np.all(keys[0][1:] >= keys[0][:-1]):
        return None
    count = len(keys[0])
    width = max(1, (count - 1).bit_length())
    packed = np.zeros(count, dtype=np.int64)
    total = width
    for key in keys:
        low = int(key.min())
        bits = int(int(key.max()) - low).bit_length()
        total += bits
        if total > 63:
            return np.lexsort((np.arange(count), *reversed(keys))).astype(np.int64)
        packed = (packed << bits) | (key - low)
    if np.all(packed[1:] >= packed[:-1]):
        return None
    packed = (packed << width) | np.arange(count, dtype=np.int64)
    packed.sort()
    order: npt.NDArray[np.int64] = packed & ((1 << width) - 1)
    return order


def _encodings(rows: pa.Table) -> Encodings:
    """Dictionary for columns that repeat, deltas for integers that do not (measured: a third smaller and faster)."""
    dictionary: list[str] = []
    encodings: dict[str, str] = {}
    for field in rows.schema:
        if pa.types.is_integer(field.type) and field.type.bit_width >= 32:
            step = max(1, rows.num_rows // _SAMPLE)
            sample = rows[field.name].take(pa.array(np.arange(0, rows.num_rows, step)))
            if 2 * pc.count_distinct(sample).as_py() > len(sample):
                encodings[field.name] = "DELTA_BINARY_PACKED"
                continue
        if not pa.types.is_floating(field.type):
            dictionary.append(field.name)
    return dictionary, encodings


def _of_small_block(spec: BlockSpec, found: Encodings) -> Encodings:
    """In a small block of a run in the order of time, times hardly repeat: a dictionary of them would be most of what they take
    (measured: of 3,900 rows 7.5 KB, as deltas 0.8)."""
    dictionary, encodings = found
    if spec.clustered or spec.time_column not in dictionary:
        return found
    others = [name for name in dictionary if name != spec.time_column]
    return others, {**encodings, spec.time_column: "DELTA_BINARY_PACKED"}


def _extremes(column: pa.ChunkedArray) -> tuple[int, int]:
    parts = [integers(chunk) for chunk in column.chunks if len(chunk)]
    return min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)


def _bounds(rows: pa.Table) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    minima: dict[str, Any] = {}
    maxima: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for field in rows.schema:
        column = rows[field.name]
        nulls[field.name] = column.null_count
        kind = field.type
        if column.null_count == len(column) or not (
            pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_date(kind)
        ):
            continue
        both = pc.min_max(column)
        low, high = both["min"].as_py(), both["max"].as_py()
        if pa.types.is_date(kind):
            low, high = low.isoformat(), high.isoformat()
        if isinstance(low, str) and max(len(low), len(high)) > _LONGEST_TEXT_BOUND:
            continue
        minima[field.name], maxima[field.name] = low, high
    return minima, maxima, nulls
