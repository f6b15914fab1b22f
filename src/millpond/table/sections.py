"""The rows of a shard in the log: where they are, and reading them. Data that goes from process to process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from millpond.arrow import conform, numbered_between
from millpond.table.log import ROWS, Frame, LogReader, Section


@dataclass(frozen=True)
class FrameSection:
    """Where a frame's rows of a shard are; the frame has the rows numbered from `first` up to `end`."""

    segment: str
    section: Section
    first: int
    end: int


def sections_of(frames: Iterable[Frame], shard: int) -> tuple[FrameSection, ...]:
    """Where the rows of a shard are in some frames."""
    return tuple(
        FrameSection(str(f.path), section, f.first, f.end)
        for f in frames
        for section in f.sections
        if section.kind == ROWS and section.shard == shard
    )


def read_sections(sections: Sequence[FrameSection], low: int, high: int, schema: pa.Schema) -> pa.Table:
    """The rows numbered from `low` up to `high` that some sections have."""
    readers: dict[str, LogReader] = {}
    batches = []
    for part in sections:
        if part.end <= low or part.first >= high:
            continue
        path = Path(part.segment)
        reader = readers.setdefault(str(path.parent), LogReader(path.parent))
        batches.append(conform(reader.read(path, part.section), schema))
    return numbered_between(pa.Table.from_batches(batches, schema=schema), low, high)
