"""Rows that should be in a table's log and are not: how that is told, and which of them were given up.

Row numbers have no gap, so a missing log file shows as one. It is damage until somebody accepts it, by deleting the log's
anchor (see `millpond.anchor`): then the next writer notes the gaps it finds in `log.gaps`, and they are no damage any more.
Their numbers are not given again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from millpond.errors import CorruptBlock
from millpond.sealed import BrokenSeal, read_sealed, write_sealed
from millpond.table.log import REJECTED

_FILE = "log.gaps"


@dataclass(frozen=True)
class Gap:
    """Rows, or rejected rows, numbered from `first` up to `end`, without it."""

    kind: int
    first: int
    end: int


def read(table: Path) -> frozenset[Gap]:
    """The gaps that were accepted. If their file is damaged, none: they are told again."""
    try:
        return frozenset(Gap(*gap) for gap in read_sealed(table / _FILE)["gaps"])
    except (OSError, BrokenSeal):
        return frozenset()


def accept(table: Path, gaps: Iterable[Gap]) -> None:
    """From now on these are no damage."""
    known = read(table)
    every = known.union(gaps)
    if every != known:
        listed = sorted([g.kind, g.first, g.end] for g in every)
        write_sealed(table / _FILE, {"gaps": listed})


def missing(table: Path, gap: Gap) -> CorruptBlock:
    what = "rejected rows" if gap.kind == REJECTED else "rows"
    return CorruptBlock(
        f'{what} {gap.first} to {gap.end - 1} are missing from the log of "{table.name}"',
        detail="They were accepted, and no file holds them.",
        hint=_hint(table),
    )


def cut_off(table: Path, found: int, next_row: int, noted: Mapping[str, int]) -> CorruptBlock:
    lost = noted["row"] - next_row
    what = f"Rows {next_row} to {noted['row'] - 1} are among what is missing." if lost > 0 else "No row is among them."
    return CorruptBlock(
        f'the end of the log of "{table.name}" is missing',
        detail=f"It had {noted['frame']} frames and has {found}. {what}",
        hint=_hint(table),
    )


def unreadable(table: Path, error: OSError) -> CorruptBlock:
    return CorruptBlock(
        f'the log of "{table.name}" cannot be read', detail=str(error), hint="Restore the file from a copy."
    )


def _hint(table: Path) -> str:
    return (
        f'Restore the files in "{table / "log"}" from a copy, or delete "log.anchor" to go on without what is missing.'
    )
