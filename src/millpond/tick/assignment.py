"""Which worker does which shard: it stays where it is, of a table at most a fair share, and others go to whoever has least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


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
