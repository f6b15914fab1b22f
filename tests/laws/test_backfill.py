"""Back-fill is exact: a query added to a running stream sends, from its first instant on, what it would have sent had it
been there from the start; so does one whose window was made wider, and one that is to begin in the past.

Standard tables stay as they are here: what they were before is nobody's history.
"""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

import pytest

from tests.laws.naive import Answer, Course, Query, Source, Term, inputs
from tests.laws.questions import Asker
from tests.laws.running import Case, Event, Running, hold, random_event, random_setting

FIRST = int(os.environ.get("MILLPOND_SEED", "0"))
QUICK = 32  # cases that are tried always
PART = 50  # cases of one test of the others


def make(seed: int) -> Case:
    """The story has the moments at which queries come ("add", its place in the list, how far back FROM reaches or None) and
    are altered ("widen", its place)."""
    random = Random(f"backfill {seed}")
    setting = random_setting(random)
    queries = Asker(random, whole=not setting.timestamps).network()
    story: list[Event] = [random_event(random, ("insert",)) for _ in range(random.randint(0, 5))]
    story += [random_event(random) for _ in range(random.randint(8, 20))]
    for number, query in enumerate(queries):
        if query.history is not None:  # a view is there from the start; its readers come later
            story.insert(0, ("add", number, None))
            continue
        place = random.randint(1, len(story))
        story.insert(place, ("add", number, random.choice([None, None, 0, 1, 4, 15])))
        if random.random() < 0.4:
            story.insert(random.randint(place + 1, len(story)), ("widen", number))
    if seed % 5 == 0 and any(len(inputs(q.select)) > 1 for q in queries):
        story = one_silent(random, story)
    return Case(setting, queries, story)


def one_silent(random: Random, story: list[Event]) -> list[Event]:
    """One stream has no time until the last query has come; then its first rows may be from before it came."""
    silent, other = random.choice([("r", "s"), ("s", "r")])
    last = max(i for i, event in enumerate(story) if event[0] == "add")
    early = [(e[0], other, *e[2:]) if e[0] in ("rows", "advance") else e for e in story[:last]]
    back = random_event(random, ("rows",))[3]
    return [*early, story[last], ("rows", silent, -random.choice([0, 3, 8, 15]), back), *story[last + 1 :]]


def wider(window: Term, most: int | None) -> Term:
    if window[0] in ("interval", "now"):
        length = 0 if window[0] == "now" else window[1]
        return ("interval", length + 6 if most is None else max(min(length + 6, most), length))
    if window[0] == "landmark":
        return window if most is not None and 2 * window[1] > most else ("landmark", 2 * window[1])
    if window[0] == "rows":
        return ("rows", window[1] + 3)
    return ("keyed", window[1], window[2] + 2, window[3])


class Growing(Running):
    """Queries come and are altered while the streams flow. Each has chapters: from this time on it reads so."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.network: list[Query] = []
        self.chapters: dict[str, list[tuple[int | None, Query]]] = {}
        self.since: dict[str, int] = {}  # of queries that had no instant before they came

    def times(self, query: Query) -> list[int | None]:
        """How far time is for each input of a query."""
        views = self.expected()
        return [self.streams[n].now if n in self.streams else views[n].complete[-1] for n in inputs(query.select)]

    def had_rows(self, query: Query, time: int) -> bool:
        """Whether an input of a query has had a row before a time."""
        views = self.expected()
        times = [
            t
            for n in inputs(query.select)
            for t in ([row["t"] for row in self.streams[n].rows] if n in self.streams else
                      [answer.instant for answer in views[n].answers if answer.rows])
        ]  # fmt: skip
        return any(t < time for t in times)

    def _add(self, number: int, back: int | None) -> None:
        """A query begins at the least of its inputs' times, or as far `back` as it was told. An input that has no time yet
        does not count; but it means that no instant was ever over, so nothing was there before. If no row was before that
        time, it begins with the first there is: None."""
        query = self.network[number]
        self._tick()
        times = self.times(query)
        begin = min((t for t in times if t is not None), default=None)
        start = None
        if begin is not None and back is not None:
            names = inputs(query.select)
            first = min((row["t"] for n in names if n in self.streams for row in self.streams[n].rows), default=None)
            if first is not None and first <= begin - back and "w" not in names:
                begin = start = begin - back
        if begin is not None and start is None and not self.had_rows(query, begin):
            begin = None
        if begin is not None and None in times:
            self.since[query.name] = begin
        self.add(query, start)
        self.chapters[query.name] = [(begin, query)]

    def _widen(self, number: int) -> None:
        """What is not over yet is read through the wider window."""
        if self.network[number].name not in self.chapters or self.network[number].history is not None:
            return
        begin, query = self.chapters[self.network[number].name][-1]
        source = query.select.sources[0]
        assert source.window is not None
        history = next((q.history for q in self.queries if q.name == source.table), None)
        window = wider(source.window, history)
        if window == source.window:
            return
        self._tick()
        self.db.sql(f"ALTER CONTINUOUS QUERY {query.name} SET WINDOW OF {source.alias} = {self.words.window(window)}")
        changed = Source(source.alias, source.table, window, source.join, source.on)
        query = replace(query, select=replace(query.select, sources=(changed, *query.select.sources[1:])))
        times = [t for t in self.times(query) if t is not None]
        over = min(times) if len(times) == len(inputs(query.select)) else None
        if begin is not None:
            over = begin if over is None else max(begin, over)
        self.chapters[query.name].append((over, query))

    def check(self) -> None:
        """Each chapter is a part of what its query would have sent from the start to the end."""
        for name, chapters in self.chapters.items():
            views = [q for q in self.queries if q.history is not None and q.name != name]
            answers: list[Answer] = []
            for number, (begin, query) in enumerate(chapters):
                end = chapters[number + 1][0] if number + 1 < len(chapters) else None
                course = self.expected([*views, query], self.since)[name]
                answers += [
                    a for a in course.answers
                    if (begin is None or a.instant >= begin) and (number + 1 == len(chapters) or (end is not None and a.instant < end))
                ]  # fmt: skip
            self.check_query(chapters[-1][1], Course(answers, [], ()))


def answers_hold(case: Case) -> None:
    with Growing(case.setting) as pond:
        pond.network = case.queries
        for event in case.story:
            pond.live(event)
        pond.finish()
        pond.check()


@pytest.mark.parametrize("quarter", range(4))  # so that both cores have some
def test_backfill_is_exact(quarter: int) -> None:
    for seed in range(FIRST + quarter, FIRST + QUICK, 4):
        hold(answers_hold, make(seed))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(10))
def test_backfill_is_exact_long(part: int) -> None:
    for seed in range(FIRST + QUICK + part * PART, FIRST + QUICK + (part + 1) * PART):
        hold(answers_hold, make(seed))
