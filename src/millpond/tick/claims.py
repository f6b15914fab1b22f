"""Which partition of a tick does which of its shards.

A worker remembers the windows of the shards it had, and Spark does not let anybody choose the worker of a partition. So the
partitions of a tick meet before they begin: each writes down, in a folder of the tick, in which worker it finds itself, and
waits until all have. Then each works out the same distribution: shards stay with the worker that had them, of a table at most
a fair share, and the others go to whoever has least.

Where there are fewer free slots than partitions, some begin only when others have ended. Whoever has waited in vain goes on
alone: it takes the shards its worker had. What is left is taken by whoever sees that all have begun.

Invariant. Every shard is done exactly once, by whoever made the note with its number; a partition that is run again finds
the notes of its first run, and does the same shards again.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_PATIENCE = 0.25  # seconds
_LOOK = 0.001


@dataclass(frozen=True)
class Wanted:
    """A shard to be done: the number of its task, its table, and the worker that had it last."""

    number: int
    table: str
    owner: str


def distribute(shards: Sequence[Wanted], workers: Sequence[str]) -> dict[int, int]:
    """For each task the place of the worker that does it."""
    room = {table: -(-size // len(workers)) for table, size in Counter(s.table for s in shards).items()}
    given: dict[int, int] = {}
    there: Counter[tuple[str, int]] = Counter()
    load: Counter[int] = Counter()

    def give(shard: Wanted, place: int) -> None:
        given[shard.number] = place
        there[shard.table, place] += 1
        load[place] += 1

    for shard in shards:
        if shard.owner in workers:
            place = workers.index(shard.owner)
            if there[shard.table, place] < room[shard.table]:
                give(shard, place)
    for shard in shards:
        if shard.number not in given:
            give(shard, min(range(len(workers)), key=lambda p: (there[shard.table, p], load[p], p)))
    return given


class Claims:
    """What the partition at `place`, one of `count`, is to do."""

    def __init__(self, folder: Path, place: int, count: int, worker: str, *, patience: float = _PATIENCE) -> None:
        self._folder = folder
        self._place, self._count = place, count
        self._worker = worker
        self._patience = patience

    def take(self, shards: Sequence[Wanted]) -> Iterator[int]:
        """The numbers of the tasks to do, as the time for each has come."""
        self._folder.mkdir(exist_ok=True)
        first = self._write(f"begun-{self._place}", self._worker)  # of a partition that is run again: its first worker
        workers = self._meet()
        if workers:
            given = distribute(shards, workers)
            mine = [s for s in shards if given[s.number] == self._place]
        else:
            self._write(f"alone-{self._place}", self._worker)
            room = {t: -(-n // self._count) for t, n in Counter(s.table for s in shards).items()}
            mine = []
            for shard in shards:
                if shard.owner == first and room[shard.table]:
                    room[shard.table] -= 1
                    mine.append(shard)
        yield from [s.number for s in mine if self._claim(s.number)]
        # Somebody went on alone, and may have left something, or have ended already.
        if self._begun() and any((self._folder / f"alone-{p}").is_symlink() for p in range(self._count)):
            for shard in shards:
                if shard not in mine and self._claim(shard.number):
                    yield shard.number

    def _begun(self) -> list[str]:
        """The workers of all partitions, if all have begun."""
        try:
            return [os.readlink(self._folder / f"begun-{place}") for place in range(self._count)]
        except FileNotFoundError:
            return []

    def _meet(self) -> list[str]:
        end = time.monotonic() + self._patience
        while not (workers := self._begun()) and time.monotonic() < end:
            time.sleep(_LOOK)
        return workers

    def _claim(self, number: int) -> bool:
        return self._write(str(number), str(self._place)) == str(self._place)

    def _write(self, name: str, content: str) -> str:
        """Write a note unless there is one; what it says. A link is made with its content at once, or not at all."""
        path = self._folder / name
        try:
            os.symlink(content, path)
        except FileExistsError:
            return os.readlink(path)
        return content
