"""A crash is a pause, for continuous queries: the writer is killed at random moments and at the places around the sync of
results; a subscriber in another process, which keeps nothing but its position, sees each result once, in order, none
missing, and together they are what the naive evaluation says.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

import millpond
from millpond import failpoints
from tests.faults.continuous_writer import LATENESS, OPTIONS, batch, next_number, step
from tests.laws.naive import Look, Query, Select, Source, Stream, Term, evaluate
from tests.laws.questions import Asker, Words

PROGRAM = Path(__file__).with_name("continuous_writer.py")
SOURCE = Path(failpoints.__file__).parents[1]
LONGEST = 0.8  # seconds a writer is left to work, at most
PLACES = ("", "", "results.after_write", "results.after_sync", "log.after_sync", "archive.before_commits")
WORDS = Words(timestamps=False)

K: Term = ("col", "a", "k")
QUERIES = [
    Query(
        "crossings",
        Select((Source("a", "r", ("keyed", ("k",), 2, None)),),
               (("k", K), ("v", ("col", "a", "v")), ("p", ("prev", "a", "v", 1)), ("at", ("col", "a", "t"))),
               ("<>", ("col", "a", "v"), ("prev", "a", "v", 1))),
        "istream",
    ),
    Query(
        "w",
        Select((Source("a", "r", ("interval", 6)),),
               (("k", K), ("n", ("count*",)), ("x", ("sum", ("col", "a", "v")))), group=(K,)),
        slide=2, history=10,
    ),
    Query("jams", Select((Source("a", "w", ("interval", 4)),), (("k", K), ("most", ("max", ("col", "a", "n")))), group=(K,)),
          "istream", slide=2),
    Query(
        "pairs",
        Select((Source("a", "r", ("rows", 5)), Source("b", "s", ("keyed", ("k",), 1, 8), "inner", ("=", K, ("col", "b", "k")))),
               (("one", ("col", "a", "id")), ("two", ("col", "b", "id")))),
        "dstream", slide=3,
    ),
]  # fmt: skip


class Subscriber:
    """Comes and goes; keeps the positions, and here what it saw."""

    def __init__(self, names: list[str]) -> None:
        self.seen: dict[str, list[tuple[object, ...]]] = {name: [] for name in names}
        self.position = dict.fromkeys(names, -1)

    def look(self, db: millpond.Pond) -> None:
        for name, position in self.position.items():
            cursor = db.resume(name, after=position)
            rows = cursor.fetch().rows()
            assert [row[-1] for row in rows] == list(range(position + 1, position + 1 + len(rows))), name
            self.seen[name] += [row[:-1] for row in rows]
            self.position[name] = cursor.position


def create(folder: Path, queries: list[Query]) -> None:
    with millpond.connect(folder, **OPTIONS) as db:
        for name in ("r", "s"):
            db.sql(f"CREATE STREAMING TABLE {name} (id INT, k INT, g INT, v INT, t BIGINT) TIMESTAMP BY t SHARD BY k "
                   f"LATENESS INTERVAL {LATENESS} SECOND")  # fmt: skip
        for query in queries:
            db.sql(WORDS.create(query))
        for number in range(12):  # until every query has begun
            step(db, number)
        db.tick()


def crash(folder: Path, seed: int, subscriber: Subscriber) -> None:
    """A writer works until it is killed, the subscriber looks on."""
    random = Random(seed)
    place = random.choice(PLACES)
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    if place:
        environment["MILLPOND_FAILPOINTS"] = f"{place}=kill@{random.choice([1, 2, 5])}"
    command = [sys.executable, str(PROGRAM), str(seed), str(folder)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with millpond.connect(folder, **OPTIONS) as db:
            limit = time.monotonic() + random.random() * LONGEST
            while time.monotonic() < limit and writer.poll() is None:
                subscriber.look(db)
        writer.kill()
        _, said = writer.communicate(timeout=60)
    assert writer.returncode == -signal.SIGKILL, said
    if random.random() < 0.5:
        with millpond.connect(folder, **OPTIONS) as db:
            subscriber.look(db)


def compare(folder: Path, queries: list[Query], subscriber: Subscriber) -> int:
    """What was seen is what should have been sent; returns how many results that were."""
    with millpond.connect(folder, **OPTIONS) as db:
        count = next_number(db)
        db.tick()
        subscriber.look(db)
    streams = {"r": Stream(LATENESS), "s": Stream(LATENESS)}
    for number in range(count):
        table, rows, other, heartbeat = batch(number)
        streams[other].advance(heartbeat)
        for row in rows:
            streams[table].offer(row)
    # A crash may have come between the heartbeat of the next batch and its rows.
    *_, other, heartbeat = batch(count)
    with millpond.connect(folder, **OPTIONS) as db:
        for name, stream in streams.items():
            if db.now(name) != stream.now:
                assert name == other
                stream.advance(heartbeat)
            assert db.now(name) == stream.now
    expected = evaluate(queries, streams, [Look({n: s.now for n, s in streams.items()}, {})])
    for query in queries:
        wanted = [(*row, a.instant) for a in expected[query.name].answers for row in a.rows]
        seen = subscriber.seen[query.name]
        assert Counter(seen) == Counter(wanted), WORDS.create(query)
        assert [row[-1] for row in seen] == sorted(row[-1] for row in wanted)
    return sum(map(len, subscriber.seen.values()))


def rounds(folder: Path, seed: int, times: int) -> None:
    queries = [*QUERIES, *(q for q in Asker(Random(seed), standard=False).network(2) if q.history is None)]
    queries = [q for q in queries if q in QUERIES or all(s.table in ("r", "s") for s in q.select.sources)]
    create(folder, queries)
    subscriber = Subscriber([q.name for q in queries])
    for number in range(times):
        crash(folder, 100 * seed + number, subscriber)
    assert compare(folder, queries, subscriber) > 20


def test_three_kills(tmp_path: Path) -> None:
    rounds(tmp_path / "pond", 0, 3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 7))
def test_thirty_kills(tmp_path: Path, seed: int) -> None:
    rounds(tmp_path / "pond", seed, 5)
