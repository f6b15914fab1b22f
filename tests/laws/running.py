"""A pond with continuous queries and the naive evaluation of them, living through the same events.

Times are drawn in units: seconds of a BIGINT column, half seconds of a TIMESTAMP column.
"""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

import millpond
from millpond.clock import ManualClock
from tests.laws.naive import Answer, Course, Judge, Look, Query, Row, Source, Stream, Term, inputs
from tests.laws.questions import Words

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
HALF = dt.timedelta(milliseconds=500)
STREAMS = ("r", "s")

Event = tuple[Any, ...]


@dataclass(frozen=True)
class Setting:
    """The streams `r` and `s` and the pond they live in."""

    timestamps: bool = False
    lateness: tuple[int, int] = (0, 0)
    shards: int = 1
    shard_by_key: bool = False
    history: int | None = None


# -- what happens -----------------------------------------------------------------------------------------------------

STEPS = (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, -1, -1, -2, -4)
GAPS = (0, 0, 1, 1, 2, 2, 5, 25)
EVENTS = ("rows",) * 9 + ("tick",) * 5 + ("advance",) * 2 + ("archive",) * 2 + ("reopen",) * 2
CHANGES = ("insert", "insert", "delete")


def random_setting(random: Random) -> Setting:
    return Setting(
        timestamps=random.random() < 0.5,
        lateness=(random.choice([0, 0, 2, 6]), random.choice([0, 2, 6])),
        shards=random.choice([1, 4]),
        shard_by_key=random.random() < 0.5,
    )


def random_event(random: Random, kinds: Sequence[str] = EVENTS) -> Event:
    """Rows are (step of time, k, g, v): times wander over the whole life, both streams on the same course."""
    kind = random.choice(kinds)
    if kind == "rows":
        batch = [
            (random.choice(STEPS), random.choice([None, 0, 1, 1, 2]), random.choice([None, 0, 1]), random_value(random))
            for _ in range(random.choice([1, 1, 2, 3, 5, 8]))
        ]
        return ("rows", random.choice(["r", "r", "s"]), random.choice(GAPS), batch)
    if kind == "advance":
        return ("advance", random.choice(STREAMS), random.choice([-6, -3, 0, 1, 2, 6]))
    if kind == "insert":
        return ("insert", (random.choice([None, 0, 1, 1, 2]), random_value(random)))
    if kind == "delete":
        return ("delete", random.choice([0, 1, 2]))
    return (kind,)


def random_value(random: Random) -> int | None:
    return random.choice([None, -3, -2, -1, 0, 0, 1, 1, 2, 2, 3])


@dataclass
class Running:
    setting: Setting
    start: int = 0  # the first rows come around this time
    config: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="millpond-law-"))
        self.clock = ManualClock(1_767_225_600_000_000)
        self.words = Words(self.setting.timestamps)
        self.streams = {
            name: Stream(late, history=self.setting.history)
            for name, late in zip(STREAMS, self.setting.lateness, strict=True)
        }
        self.judge = Judge(self.streams)
        self.standard: list[Row] = []
        self.network: list[Query] = []  # queries that events name, each in its present words
        self.time = self.start
        self.count = 0
        self.db = self._open()
        self._create()

    def _open(self) -> millpond.Pond:
        # No limit of time: what is true does not depend on how busy the machine is.
        config = {
            "auto_archive": False,
            "engine": "duckdb",
            "block_rows": 32,
            "evaluation_time": dt.timedelta(0),
            **self.config,
        }
        return millpond.connect(self.folder / "pond", clock=self.clock, **config)

    def _create(self) -> None:
        s = self.setting
        kind = "TIMESTAMP" if s.timestamps else "BIGINT"
        shard = " SHARD BY k" if s.shard_by_key else ""
        kept = f"RANGE {self.words.interval(s.history)} " if s.history is not None else ""
        for name, stream in self.streams.items():
            self.db.sql(
                f"CREATE STREAMING TABLE {name} (id INT, k INT, g INT, v INT, t {kind}) TIMESTAMP BY t{shard} "
                f"{kept}LATENESS {self.words.interval(stream.lateness)} WITH (shards = {s.shards})"
            )
        self.db.sql("CREATE TABLE d (k INT, w INT)")

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.db.close()
        shutil.rmtree(self.folder)

    # -- events -----------------------------------------------------------------------------------------------------

    def live(self, event: Event) -> None:
        self.clock.advance(1)
        getattr(self, f"_{event[0]}")(*event[1:])

    @property
    def queries(self) -> list[Query]:
        """Those that there are, each in its present words."""
        return [life.query for life in self.judge.lives.values()]

    def add(self, query: Query, start: int | None = None) -> None:
        self.db.sql(self.words.create(query, start))
        self.judge.add(query, start)

    def _rows(self, name: str, gap: int, drawn: list[tuple[int, Any, Any, Any]]) -> None:
        self.time += gap
        batch = []
        for step, k, g, v in drawn:
            self.time += step
            batch.append({"id": self.count, "k": k, "g": g, "v": v, "t": self.time})
            self.count += 1
        late = self.streams[name].late
        for row in batch:
            self.streams[name].offer(row)
        receipt = self.db.append(name, [{**row, "t": self.moment(row["t"])} for row in batch])
        assert receipt.late == self.streams[name].late - late

    def _advance(self, name: str, ahead: int) -> None:
        self.streams[name].advance(self.time + ahead)
        self.db.advance(name, self.moment(self.time + ahead))
        self.time += max(ahead, 0)

    # -- events of tables: rows of streams and of the standard table change

    def _insert(self, row: tuple[Any, Any]) -> None:
        self.db.append("d", [dict(zip(("k", "w"), row, strict=True))])
        self.standard = [*self.standard, dict(zip(("k", "w"), row, strict=True))]

    def _delete(self, key: int) -> None:
        self.db.sql(f"DELETE FROM d WHERE k = {key}")
        self.standard = [row for row in self.standard if row["k"] != key]

    def _update(self, name: str, column: str, value: int, changed: str, to: int | None) -> None:
        """UPDATE of a stream; it evaluates first, like DELETE."""
        self.db.sql(f"UPDATE {name} SET {changed} = {'NULL' if to is None else to} WHERE {column} = {value}")
        self._look()
        self.streams[name].update(column, value, {changed: to})

    def _remove(self, name: str, column: str, value: int) -> None:
        self.db.sql(f"DELETE FROM {name} WHERE {column} = {value}")
        self._look()
        self.streams[name].delete(column, value)

    # -- events of queries. A name stands for all queries of the same question: "q" for "q", "q_i", "q_d"

    def _named(self, name: str) -> list[Query]:
        return [q for q in self.network if q.name == name or q.name.startswith(f"{name}_")]

    def _add(self, name: str, back: int | None) -> None:
        """It begins where time stands, or as far `back` as it was told."""
        if back is not None:
            self._tick()
        for query in self._named(name):
            if query.name in self.judge.lives or not all(
                n in self.streams or n in self.judge.lives for n in inputs(query.select)
            ):
                continue
            start, names = None, inputs(query.select)
            if back is not None and all(n in self.streams for n in names):
                begin = min((t for n in names if (t := self.streams[n].now) is not None), default=None)
                first = min((row["t"] for n in names for row in self.streams[n].rows), default=None)
                if begin is not None and first is not None and first <= begin - back:
                    start = begin - back
            self.add(query, start)

    def _lives(self, name: str) -> list[Query]:
        return [self.judge.lives[q.name].query for q in self._named(name) if q.name in self.judge.lives]

    def _pause(self, name: str) -> None:
        while self.db._workspace.rounds.has_left:  # what ticks left to later ones a paused query would not send
            self._tick()
        for query in self._lives(name):
            self.db.sql(f"PAUSE {self._kind(query)} {query.name}")
            self.judge.pause(query.name)

    def _resume(self, name: str) -> None:
        for query in self._lives(name):
            self.db.sql(f"RESUME {self._kind(query)} {query.name}")
            self.judge.resume(query.name)

    def _window(self, name: str, window: Term) -> None:
        """What is not over yet is read through another window."""
        for query in self._lives(name):
            source = query.select.sources[0]
            changed = Source(source.alias, source.table, window, source.join, source.on)
            select = replace(query.select, sources=(changed, *query.select.sources[1:]))
            self._alter(replace(query, select=select), f"WINDOW OF {source.alias} = {self.words.window(window)}")

    def _widen(self, name: str) -> None:
        for query in self._lives(name):
            source = query.select.sources[0]
            assert source.window is not None
            history = next((q.history for q in self.queries if q.name == source.table), None)
            self._window(query.name, wider(source.window, history))

    def _slide(self, name: str, slide: int | None) -> None:
        for query in self._lives(name):
            sample = "REALTIME" if slide is None else self.words.interval(slide)
            self._alter(replace(query, slide=slide, each_row=False), f"SAMPLE {sample}")

    def _alter(self, query: Query, text: str) -> None:
        self.db.sql(f"ALTER {self._kind(query)} {query.name} SET {text}")
        self.judge.alter(query)

    def _kind(self, query: Query) -> str:
        return "CONTINUOUS QUERY" if query.history is None else "STREAMING VIEW"

    def _tick(self) -> None:
        self.db.tick()
        self._look()

    def _archive(self) -> None:
        self.db.archive()  # which evaluates first
        self._look()

    def _reopen(self) -> None:
        self.db.close()
        self.db = self._open()
        self.judge.let_go()

    def _look(self) -> None:
        self.judge.look(Look({n: s.now for n, s in self.streams.items()}, {"d": self.standard}))

    def finish(self) -> None:
        """Time goes on until everything that came is complete, and out of the shorter windows."""
        for name, ahead in (("r", 9), ("s", 8)):
            self.live(("advance", name, ahead))
        self.live(("tick",))

    # -- comparing --------------------------------------------------------------------------------------------------

    def moment(self, units: int) -> Any:
        return EPOCH + units * HALF if self.setting.timestamps else units

    def units(self, value: Any) -> Any:
        return (value - EPOCH) // HALF if isinstance(value, dt.datetime) else value

    def fetched(self, name: str) -> list[tuple[Any, ...]]:
        """What a query has sent, as (columns ..., instant), once it is sure that numbers and instants are in order."""
        found = [tuple(self.units(v) for v in row) for row in self.db.resume(name).fetch().rows()]
        assert [row[-1] for row in found] == list(range(len(found))), "numbers have no gap"
        instants = [row[-2] for row in found]
        assert instants == sorted(instants), "instants never decrease"
        return [row[:-1] for row in found]

    def check(self) -> None:
        for life in self.judge.lives.values():
            self.check_query(life.query, life.course)

    def check_query(self, query: Query, course: Course) -> None:
        wanted = [(*row, a.instant) for a in course.answers for row in a.rows]
        found = self.fetched(query.name)
        if Counter(found) == Counter(wanted):
            if query.each_row:
                self._check_order(query, course.answers, found)
            return
        missing, surplus = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
        instant = min(row[-1] for row in (missing + surplus))
        raise AssertionError(
            f"{self.words.create(query)}\nfirst wrong at {instant}\n"
            f"expected {[r for r in wanted if r[-1] == instant]}\ngot {[r for r in found if r[-1] == instant]}"
        )

    def _check_order(self, query: Query, answers: Sequence[Answer], found: list[tuple[Any, ...]]) -> None:
        """What is sent at a row comes before what is sent at the next."""
        place = 0
        for answer in answers:
            here = Counter(row[:-1] for row in found[place : place + len(answer.rows)])
            assert here == Counter(answer.rows), f"{self.words.create(query)}\nout of order at {answer.instant}"
            place += len(answer.rows)


def wider(window: Term, most: int | None) -> Term:
    """A window that holds more; of a view that keeps `most` no more than that."""
    if window[0] in ("interval", "now"):
        length = 0 if window[0] == "now" else window[1]
        return ("interval", length + 6 if most is None else max(min(length + 6, most), length))
    if window[0] == "landmark":
        return window if most is not None and 2 * window[1] > most else ("landmark", 2 * window[1])
    if window[0] == "rows":
        return ("rows", window[1] + 3)
    return ("keyed", window[1], window[2] + 2, window[3])


# -- cases ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    setting: Setting
    queries: list[Query]
    story: list[Event]


def hold(law: Callable[[Case], None], case: Case) -> None:
    """The law holds for the case; if not, the smallest case found for which it does not is told."""
    try:
        law(case)
    except Exception as error:
        small, reason = smaller(law, case, error)
        raise AssertionError(f"{reason}\n\n{small!r}") from reason


def smaller(law: Callable[[Case], None], case: Case, error: Exception, seconds: float = 60.0) -> tuple[Case, Exception]:
    """Leave out what is not needed to fail, as long as there is time."""
    limit = time.monotonic() + seconds
    again = True
    while again:
        again = False
        for candidate in _parts(case):
            if time.monotonic() > limit:
                return case, error
            try:
                law(candidate)
            except Exception as found:
                if type(found) is type(error):
                    case, error, again = candidate, found, True
                    break
    return case, error


def _parts(case: Case) -> Iterator[Case]:
    for i in range(len(case.queries)):
        if len(case.queries) > 1:
            yield replace(case, queries=case.queries[:i] + case.queries[i + 1 :])
    size = max(len(case.story) // 2, 1)
    while size:
        for i in range(0, len(case.story), size):
            yield replace(case, story=case.story[:i] + case.story[i + size :])
        size //= 2
    for i, event in enumerate(case.story):
        if event[0] == "rows":
            for j in range(len(event[3])):
                fewer = (*event[:3], event[3][:j] + event[3][j + 1 :])
                yield replace(case, story=[*case.story[:i], fewer, *case.story[i + 1 :]])
    for i, query in enumerate(case.queries):
        select = query.select
        for plainer in (
            replace(select, where=None),
            replace(select, having=None),
            replace(select, distinct=False),
            *(
                replace(select, columns=select.columns[:n] + select.columns[n + 1 :])
                for n in range(len(select.columns))
            ),
        ):
            if plainer != select and plainer.columns:
                yield replace(case, queries=[*case.queries[:i], replace(query, select=plainer), *case.queries[i + 1 :]])
        if query.form != "rstream":
            yield replace(case, queries=[*case.queries[:i], replace(query, form="rstream"), *case.queries[i + 1 :]])
    for plain in (replace(case.setting, timestamps=False), replace(case.setting, shards=1, shard_by_key=False),
                  replace(case.setting, lateness=(0, 0)), replace(case.setting, history=None)):  # fmt: skip
        if plain != case.setting:
            yield replace(case, setting=plain)
