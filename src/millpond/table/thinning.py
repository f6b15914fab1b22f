"""Reading a part of a table: which files are read for the fraction that is wanted, and what sample that is.

Idea. What a query has to read of an archive is cut into portions: a randomised run, or any other file. For each a function says
which fraction is wanted; of a run that fraction of its blocks is read, of a file with copies the nearest copy that is not too
thin, and any other file is read as a whole and thinned row by row. The tail is in memory and is read in full. Each portion is a
stratum: how many rows it has and how many of them were read is known (or, thinned row by row, with which probability). Estimates
are made from that.

A `Thinning` can be asked again for more: then only the blocks that were not read are read.

Invariant. Which rows of a portion are read depends on their draws alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from millpond.table.draws import DRAWS, Draws, limit
from millpond.table.manifest import ArchiveFile
from millpond.table.runs import choose
from millpond.table.store import Selection, Snapshot
from millpond.table.tail import TailBlock
from millpond.table.work import units

TAIL: Final = 0
"""The number of the stratum that is the tail."""


@dataclass(frozen=True)
class Piece:
    """A file to read. `below`: only its rows with smaller draws, to be thinned by the engine; None for all of them."""

    path: str
    columns: tuple[str, ...]
    stratum: int
    crc: int | None
    below: int | None = None


@dataclass(frozen=True)
class Step:
    """What is read at once. `replaced` strata were read before, and are read anew as a whole."""

    pieces: tuple[Piece, ...]
    blocks: tuple[TailBlock, ...]
    draws: Draws
    replaced: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Amount:
    """How much of a portion there is."""

    greatest: int
    rows: int
    bytes: int
    rows_read: int


class _Unit:
    """A portion, and what was read of it."""

    def __init__(self, files: list[ArchiveFile], wanted: frozenset[str], *, exactly: bool) -> None:
        self.files = files
        self.exactly = exactly
        self.wanted = wanted  # the files that can hold what the query asks for
        self.taken: list[int] = []
        self.share = 0.0  # what was read, as a part
        self.read: int | None = 0  # in rows; None if it was thinned row by row
        self.bytes_read = 0
        self.rows = sum(f.rows for f in files)
        self.bytes = sum(f.size for f in files)
        self.greatest = max(f.greatest for f in files)

    @property
    def rows_read(self) -> int:
        return round(self.share * self.rows) if self.read is None else self.read

    def more(self, fraction: float, stratum: int) -> tuple[list[Piece], bool]:
        """The files to read for at least `fraction`, and whether they replace what was read."""
        if self.share >= fraction or self.share >= 1:
            return [], False
        if self.files[0].run is not None:
            return self._blocks(fraction, stratum), False
        again = self.share > 0
        file = self.files[0]
        fitting = [copy for copy in file.copies if copy.high >= limit(fraction)]
        if fitting and fraction < 1:
            copy = min(fitting, key=lambda c: c.high)
            if self.exactly and copy.high > limit(fraction):
                self.share, self.read, self.bytes_read = fraction, None, self.bytes_read + copy.size
                return [Piece(copy.path, file.columns, stratum, copy.crc, limit(fraction))], again
            self.share, self.read, self.bytes_read = copy.high / DRAWS, copy.rows, self.bytes_read + copy.size
            return [Piece(copy.path, file.columns, stratum, copy.crc)], again
        self.bytes_read += file.size
        if fraction >= 1:
            self.share, self.read = 1.0, file.rows
            return [Piece(file.path, file.columns, stratum, file.crc)], again
        self.share, self.read = fraction, None
        return [Piece(file.path, file.columns, stratum, file.crc, limit(fraction))], again

    def _blocks(self, fraction: float, stratum: int) -> list[Piece]:
        ranges = [f.draws or (0, DRAWS) for f in self.files]
        everything = range(len(ranges))
        chosen = list(everything) if fraction >= 1 else choose(ranges, fraction, self.taken)
        new = [self.files[place] for place in chosen if place not in self.taken]
        self.taken = chosen
        self.read = sum(self.files[place].rows for place in chosen)
        self.share = 1.0 if len(chosen) == len(ranges) else self.read / max(1, self.rows)
        new = [f for f in new if f.path in self.wanted]
        self.bytes_read += sum(f.size for f in new)
        return [Piece(f.path, f.columns, stratum, f.crc) for f in new]


class Thinning:
    """The reading of one table by one query. Strata are numbered from 1 on, newest first; 0 is the tail.

    A copy with more rows than are wanted is used whole, because estimates gain by it; `exactly`: it is thinned further.
    """

    def __init__(self, snapshot: Snapshot, selection: Selection, folder: str, *, exactly: bool = False) -> None:
        self._blocks = selection.blocks
        self._draws = Draws.of_table(folder)
        wanted = frozenset(f.path for f in selection.files)
        hit = {(f.run, f.compartment) for f in selection.files if f.run is not None}
        files = [f for f in snapshot.version.files.values() if f.path in wanted or (f.run, f.compartment) in hit]
        found = [_Unit(unit, wanted, exactly=exactly) for unit in units(files)]
        self._units = sorted(found, key=lambda u: (-u.greatest, u.files[0].path))
        self._begun = False
        self.asked = 0.0
        """The greatest fraction that was wanted of a portion, of those that are not all of it; 1 if there was none."""

    def read(self, fraction: Callable[[Amount], float]) -> Step:
        """What is to be read so that of each portion at least about the fraction is that is wanted of it."""
        pieces: list[Piece] = []
        self.asked = 0.0
        replaced: set[int] = set()
        rows_read = 0
        for stratum, unit in enumerate(self._units, 1):
            wanted = fraction(Amount(unit.greatest, unit.rows, unit.bytes, rows_read))
            if wanted < 1:
                self.asked = max(self.asked, wanted)
            new, again = unit.more(wanted, stratum)
            pieces += new
            rows_read += unit.rows_read
            if again:
                replaced.add(stratum)
        self.asked = self.asked or 1.0
        blocks = () if self._begun else self._blocks
        self._begun = True
        return Step(tuple(pieces), blocks, self._draws, frozenset(replaced))

    @property
    def saves(self) -> bool:
        """Whether a part of the rows is a part of the bytes, for any portion."""
        return any(u.files[0].run is not None or u.files[0].copies for u in self._units)

    @property
    def strata(self) -> list[tuple[int, int | None, float]]:
        """Of each stratum the rows it has, those that were read (None if thinned one by one), and the part that is."""
        tail = sum(b.rows for b in self._blocks)
        return [(tail, tail, 1.0), *((u.rows, u.read, u.share) for u in self._units)]

    @property
    def rows(self) -> tuple[int, int]:
        """Rows that were read, and rows that there are."""
        tail = sum(b.rows for b in self._blocks)
        return tail + sum(u.rows_read for u in self._units), tail + sum(u.rows for u in self._units)

    @property
    def bytes(self) -> tuple[int, int]:
        """Bytes of the files that were read, and of those that there are."""
        return sum(u.bytes_read for u in self._units), sum(u.bytes for u in self._units)

    @property
    def designs(self) -> list[str]:
        """How it was read, in words, one for each way."""
        ways = {
            "blocks of randomised runs": any(u.files[0].run is not None for u in self._units),
            "thinned copies": any(u.files[0].run is None and u.read is not None and u.share < 1 for u in self._units),
            "whole files, thinned row by row": any(u.read is None for u in self._units),
            "whole files": any(u.files[0].run is None and u.share >= 1 for u in self._units),
        }
        return [way for way, used in ways.items() if used] or ["rows in memory"]
