"""The entries of a table as files for workers: the first has all there were then, each other one what changed since."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from millpond.predicate.form import Predicate
from millpond.standing.work import write_entries

_MOST = 32  # files before they are written anew as one


class EntryFiles:
    """Written by the owner of the pond. Not thread-safe: its table's lock is held."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._paths: list[Path] = []
        self._entries: dict[int, Predicate] = {}
        self._came: dict[int, Predicate] = {}
        self._went: list[int] = []
        self._count = 0

    def note(self, came: Iterable[tuple[int, Predicate]] = (), went: Iterable[int] = ()) -> None:
        """Entries come and go."""
        for number, predicate in came:
            self._came[number] = self._entries[number] = predicate
        for number in went:
            del self._entries[number]
            if self._came.pop(number, None) is None:
                self._went.append(number)

    def current(self) -> tuple[str, ...]:
        """The files that say which entries there are now."""
        if self._came or self._went or not self._paths:
            anew = len(self._paths) >= _MOST
            path = self._folder / f"{self._name}-{self._count}.entries"
            write_entries(path, (self._entries if anew else self._came).items(), () if anew else self._went)
            self._count += 1
            if anew:
                self.close()
            self._paths.append(path)
            self._came, self._went = {}, []
        return tuple(map(str, self._paths))

    def close(self) -> None:
        for path in self._paths:
            path.unlink(missing_ok=True)
        self._paths = []
