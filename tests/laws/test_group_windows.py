"""Law 1 for group windows: each window is sent once, at its end, with the rows that the same SELECT, asked once, gives for it;
however rows, batches, ticks, shards, archiving and restarts fall.

The judge is plain Python over the list of accepted rows. The second judge is the one-time query itself.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

import millpond
from millpond.clock import ManualClock
from tests.laws.naive import Row, Stream
from tests.laws.running import GAPS, STEPS

FIRST = int(os.environ.get("MILLPOND_SEED", "0"))
CASES = 8
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Asked:
    """A query by windows of time. Lengths are seconds; a session has its gap as `size`."""

    kind: str
    size: int
    slide: int
    offset: int
    keyed: bool
    positive: bool  # only rows with v > 0 count
    several: bool  # only groups of more than one row are sent
    function: bool  # as a table function in FROM, not as a call in GROUP BY

    def select(self, table: str) -> str:
        key = "k, " if self.keyed else ""
        where = " WHERE v > 0" if self.positive else ""
        having = " HAVING COUNT(*) > 1" if self.several else ""
        values = "COUNT(*) AS n, SUM(v) AS s"
        if self.function:
            words = f"window_start AS a, window_end AS b, {values}"
            return (
                f"SELECT {key}{words} FROM {self._table(table)}{where} GROUP BY {key}window_start, window_end{having}"
            )
        name = "session_window" if self.kind == "session" else "window"
        words = f"{name}.start AS a, {name}.end AS b, {values}"
        return f"SELECT {key}{words} FROM {table}{where} GROUP BY {key}{self._call()}{having}"

    def _call(self) -> str:
        if self.kind == "session":
            return f"session_window(t, '{self.size} seconds')"
        lengths = [self.size, self.slide, self.offset] if self.kind == "hop" else [self.size]
        listed = ", ".join(f"'{n} seconds'" for n in lengths)
        return f"window(t, {listed})"

    def _table(self, table: str) -> str:
        if self.kind == "session":
            by = " PARTITION BY k" if self.keyed else ""
            return f"SESSION(TABLE {table}{by}, DESCRIPTOR(t), INTERVAL '{self.size}' SECOND)"
        if self.kind == "tumble":
            return f"TUMBLE(TABLE {table}, DESCRIPTOR(t), INTERVAL '{self.size}' SECOND)"
        lengths = ", ".join(f"INTERVAL '{n}' SECOND" for n in (self.slide, self.size, self.offset))
        return f"HOP(TABLE {table}, DESCRIPTOR(t), {lengths})"

    def windows(self, rows: list[Row]) -> dict[tuple[Any, ...], list[Row]]:
        """The rows of each window and key."""
        found = defaultdict(list)
        before = not self.function  # a table function sees all rows of its table, a GROUP BY those of the WHERE
        counted = [r for r in rows if not self.positive or (r["v"] is not None and r["v"] > 0)]
        if self.kind == "session":
            by_key = defaultdict(list)
            for row in counted if before else rows:
                by_key[row["k"] if self.keyed else None].append(row)
            for key, some in by_key.items():
                some.sort(key=lambda r: r["t"])
                start = 0
                for place in range(1, len(some) + 1):
                    if place == len(some) or some[place]["t"] > some[place - 1]["t"] + self.size:
                        session = some[start:place]
                        ends = (session[0]["t"], session[-1]["t"] + self.size)
                        found[(key, *ends) if self.keyed else ends] += [r for r in session if r in counted]
                        start = place
            return {w: some for w, some in found.items() if some}
        for row in counted:
            first = row["t"] - (row["t"] - self.offset) % self.slide
            for start in range(first, row["t"] - self.size, -self.slide):
                found[(row["k"], start, start + self.size) if self.keyed else (start, start + self.size)].append(row)
        return found

    def closed(self, rows: list[Row], now: int | None) -> Counter[tuple[Any, ...]]:
        """What is sent once time is complete below `now`, the end of the window last."""
        sent: Counter[tuple[Any, ...]] = Counter()
        for window, some in self.windows(rows).items():
            is_closed = now is not None and (window[-1] < now if self.kind == "session" else window[-1] <= now)
            if is_closed and (len(some) > 1 or not self.several):
                values = [r["v"] for r in some if r["v"] is not None]
                sent[(*window, len(some), sum(values) if values else None, window[-1])] += 1
        return sent


def random_question(random: Random) -> Asked:
    kind = random.choice(KINDS)
    slide = random.choice([1, 2, 3, 5])
    size = slide * random.randint(1, 4) + (random.randrange(slide) if kind == "hop" else 0)
    offset = random.randrange(-slide + 1, slide) if kind == "hop" else 0
    return Asked(
        "tumble" if kind == "hop" and size == slide and not offset else kind,
        size,
        slide if kind == "hop" else size,
        max(offset, 0) if random.random() < 0.5 else offset,
        *(random.random() < p for p in (0.5, 0.3, 0.3, 0.5)),
    )


KINDS = ("tumble", "hop", "hop", "session", "session")


def lives(random: Random) -> None:
    timestamps, lateness, shards = random.random() < 0.5, random.choice([0, 0, 3]), random.choice([1, 3])
    keyed = random.random() < 0.5
    asked = [random_question(random) for _ in range(4)]
    asked = [a if a.offset >= 0 or not a.function else Asked(**{**a.__dict__, "function": False}) for a in asked]
    folder, clock = Path(tempfile.mkdtemp(prefix="millpond-law-")), ManualClock(1_767_225_600_000_000)

    def open_pond() -> millpond.Pond:
        return millpond.connect(folder / "pond", clock=clock, auto_archive=False, engine="duckdb", block_rows=32)

    def time(n: int) -> Any:
        return EPOCH + dt.timedelta(seconds=n) if timestamps else n

    db = open_pond()
    try:
        by = " SHARD BY k" if keyed else ""
        db.sql(
            f"CREATE STREAMING TABLE r (k INT, v INT, t {'TIMESTAMP' if timestamps else 'BIGINT'}) TIMESTAMP BY t{by} "
            f"LATENESS INTERVAL '{lateness}' SECOND AHEAD UNBOUNDED WITH (shards = {shards})"
        )
        for number, one in enumerate(asked):
            db.sql(f"CREATE CONTINUOUS QUERY q{number} RANGE UNBOUNDED AS {one.select('r')}")
        stream, now = Stream(lateness), 100
        for _ in range(random.randint(5, 25)):
            clock.advance(1)
            event = random.choice(("rows",) * 6 + ("tick", "tick", "advance", "archive", "reopen"))
            if event == "rows":
                now += random.choice(GAPS)
                batch = []
                for _ in range(random.choice([1, 1, 2, 5, 9])):
                    now += random.choice(STEPS)
                    batch.append({"k": random.choice([None, 0, 1, 2]), "v": random.choice([None, -1, 1, 2]), "t": now})
                for row in batch:
                    stream.offer(row)
                db.append("r", [(r["k"], r["v"], time(r["t"])) for r in batch])
            elif event == "advance" and stream.now is not None:
                stream.advance(stream.now + random.choice([0, 1, 4]))
                db.advance("r", time(stream.now))
            elif event == "archive":
                db.archive()
            elif event == "reopen":
                db.close()
                db = open_pond()
            else:
                db.tick()
        db.tick()
        for number, one in enumerate(asked):
            got = Counter(tuple(map(plain, row)) for row in db.sql(f"SELECT * FROM q{number}"))
            wanted = one.closed(stream.rows, stream.now)
            assert got == wanted, (one.select("r"), got - wanted, wanted - got)
            once = Counter(tuple(map(plain, row)) for row in db.sql(one.select("r")))
            everything = one.closed(stream.rows, 1 << 60)
            wanted = Counter({row[:-1]: n for row, n in everything.items()})
            assert once == wanted, (one.select("r"), once - wanted, wanted - once)
    finally:
        db.close()
        shutil.rmtree(folder)


def plain(value: Any) -> Any:
    return int((value.replace(tzinfo=dt.UTC) - EPOCH).total_seconds()) if isinstance(value, dt.datetime) else value


@pytest.mark.parametrize("part", range(2))
def test_each_window_is_sent_once(part: int) -> None:
    for seed in range(FIRST + part, FIRST + CASES, 2):
        try:
            lives(Random(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_each_window_is_sent_once_long() -> None:
    for seed in range(FIRST + CASES, FIRST + 400):
        try:
            lives(Random(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
