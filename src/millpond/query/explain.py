"""EXPLAIN: where a query will run, what it will read and how much of it, and which index helped."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from millpond.errors import counted
from millpond.event_time import timestamp_micros
from millpond.query.binding.uses import Use
from millpond.query.local import damaged
from millpond.query.plan import Fetched, Plan, Tiers, used_columns
from millpond.query.system_names import SystemTable
from millpond.table.manifest import ArchiveFile
from millpond.table.store import Bounds

_MOST_FILES = 20


def explain(plan: Plan) -> list[str]:
    """The plan in lines."""
    lines = [f"engine: {plan.engine} ({plan.reason})"]
    rows = size = 0
    for name, use in plan.bound.uses.items():
        given = plan.inputs[name]
        if isinstance(given, Fetched):
            where = f"system table {use.table.name}" if isinstance(use.table, SystemTable) else "PostgreSQL"
            lines.append(f"{use.alias}: {where}, {counted(given.rows.num_rows, 'row')} fetched")
            rows += given.rows.num_rows
            continue
        part, part_rows, part_size = _explain_tiers(plan, use, given)
        lines += part
        rows += part_rows
        size += part_size
    lines.append(f"total: {counted(rows, 'row')}, {counted(size, 'byte')} of files to read")
    return lines


def _explain_tiers(plan: Plan, use: Use, given: Tiers) -> tuple[list[str], int, int]:
    chosen = given.selection
    columns = used_columns(plan.bound, use)
    table = use.table.name + ("_rejected" if use.rejected else "")
    title = table if use.alias == table else f"{table} as {use.alias}"
    details = []
    rows = size = 0
    for file in chosen.files:
        groups, group_rows, group_bytes = groups_to_read(
            given.snapshot.folder / file.path, file, columns, given, plan.bounds[use.name], use.time_column
        )
        rows += group_rows
        size += group_bytes
        details.append(
            f"  file {file.path}: row groups {groups[0]} of {groups[1]}, "
            f"{counted(group_rows, 'row')}, {counted(group_bytes, 'byte')}"
        )
    lines = [
        f"{title}: {len(chosen.files)} of {counted(chosen.total_files, 'file')} "
        f"({counted(rows, 'row')}, {counted(size, 'byte')}), "
        f"{counted(len(chosen.blocks), 'block')} of the tail ({counted(chosen.tail_rows, 'row')}), "
        f"of {counted(chosen.total_rows, 'row')} in all"
    ]
    helped = [h if h in ("time", "bounds") else f"index on {h}" for h in chosen.helped]
    if helped:
        lines.append(f"  skipped by: {', '.join(helped)}")
    lines.append(f"  columns: {', '.join(columns)}")
    lines += details[:_MOST_FILES]
    if len(details) > _MOST_FILES:
        lines.append(f"  and {len(details) - _MOST_FILES} more files")
    return lines, rows + chosen.tail_rows, size


def groups_to_read(
    path: Path, file: ArchiveFile, columns: list[str], given: Tiers, bounds: Bounds, time: str | None
) -> tuple[tuple[int, int], int, int]:
    """(row groups to read, of how many), their rows, and the bytes of the named columns in them."""
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise damaged(path, error) from error
    wanted = given.selection.groups.get(file.path)
    count = rows = size = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        if (wanted is not None and number not in wanted) or not _may_hold(group, bounds, time):
            continue
        count += 1
        rows += group.num_rows
        for index in range(group.num_columns):
            chunk = group.column(index)
            if chunk.path_in_schema in columns:
                size += chunk.total_compressed_size
    return (count, footer.num_row_groups), rows, size


def _may_hold(group: pq.RowGroupMetaData, bounds: Bounds, time: str | None) -> bool:
    """Whether the footer's own minima and maxima leave a row group in, as DuckDB will find too."""
    for index in range(group.num_columns):
        chunk = group.column(index)
        stats = chunk.statistics
        if stats is None or not stats.has_min_max:
            continue
        low, high = stats.min, stats.max
        if chunk.path_in_schema == time:
            low, high = (v if isinstance(v, int) else timestamp_micros(v) for v in (low, high))
            if low is None or high is None:
                continue
            if (bounds.low is not None and high < bounds.low) or (bounds.high is not None and low > bounds.high):
                return False
        values = bounds.among.get(chunk.path_in_schema)
        if values is None or not isinstance(low, int):
            continue
        if not any(isinstance(v, int) and low <= v <= high for v in values):
            return False
    return True
