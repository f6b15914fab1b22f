"""Tables that are reduced lazily: what reads have asked for, and which copies follow from it.

Idea. Nothing but the rows is written until somebody reads a part of them. That read marks the rows it leaves out: not one by one
on disk, since which they are follows from the fraction (`draws`), but by noting the fraction. The archive work of the next rounds
then writes copies with the rows that are left, and new files get theirs at once. Who later wants less makes the copies thinner;
who wants more reads the originals, and when most reads do, the copies are made anew as they want them.

The note is kept in memory by the process that writes the pond. When the pond is opened again, the copies that are there tell it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from millpond.table.draws import DRAWS, limit
from millpond.table.manifest import ArchiveFile

_RECENT = 16  # reads by which it is judged whether the copies are too thin
_MISSES = 0.5  # the part of them that had to read the originals


class Marks:
    """Of one table. `high` is the limit of the draws that copies hold; None while nobody has read a part."""

    def __init__(self, files: Iterable[ArchiveFile] = ()) -> None:
        found = Counter(copy.high for file in files for copy in file.copies)
        self.high: int | None = found.most_common(1)[0][0] if found else None
        self._missed: deque[bool] = deque(maxlen=_RECENT)

    def ask(self, fraction: float) -> bool:
        """A fraction was read; whether other copies follow from it.

        >>> marks = Marks()
        >>> marks.ask(0.5), marks.ask(0.5), marks.ask(0.1), marks.ask(0.3)
        (True, False, True, False)
        """
        wanted = limit(fraction)
        if wanted >= DRAWS:
            return False
        if self.high is not None:
            self._missed.append(wanted > self.high)
        often = len(self._missed) == _RECENT and sum(self._missed) > _MISSES * _RECENT
        if self.high is not None and wanted >= self.high and not (often and wanted > self.high):
            return False
        self.high = wanted
        self._missed.clear()
        return True
