"""A kind of source and a kind of sink, added through the public names alone and used in SQL."""

from __future__ import annotations

import importlib.metadata
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import millpond
from millpond import Pond, extending
from millpond.extending import Event, Opening, Option, RowSource, SinkKind, Source, SourceBatch, SourceKind
from millpond.schema import Schema
from millpond.sinks.registry import SINKS
from millpond.sources.registry import SOURCES
from millpond.testing import check_sink, check_source

PATIENCE = 60.0


def until(done: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE
    waiting = threading.Event()
    while not done():
        assert time.monotonic() < limit, "it did not come to that"
        waiting.wait(0.005)


# -- a kind of source ---------------------------------------------------------------------------------------------------


class Counting:
    """Counts from 0 to `end` in all columns; the position is the next number."""

    def __init__(self, source: Source, end: int) -> None:
        self._schema = extending.arrow_schema(source.columns)
        self._end = end
        self._next = 0

    def next_batch(self, most: int) -> SourceBatch | None:
        numbers = range(self._next, min(self._end, self._next + most))
        if not numbers:
            return None
        self._next = numbers.stop
        rows = pa.table({name: pa.array(numbers) for name in self._schema.names}).cast(self._schema)
        return SourceBatch(rows, position=self._next, places=lambda i: f"number {numbers[i]}")

    def seek(self, position: Any) -> None:
        self._next = position

    def close(self) -> None:
        pass


class CounterKind(SourceKind):
    name = "counter"
    location = "a name"
    formats: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "numbers": (
            Option("rows", "how many rows there are", int, "a whole number", required=True),
            Option("password", "what opens it", secret=True),
        )
    }
    privileged = False

    def open(self, source: Source, options: Mapping[str, Any], opening: Opening) -> RowSource:
        return Counting(source, options["rows"])


# -- a kind of sink -----------------------------------------------------------------------------------------------------

ARRIVED: dict[str, list[Event]] = {}


class Noting:
    """Notes rows under a name when it is flushed, like a sink that sends batches."""

    def __init__(self, target: str, batch: int) -> None:
        self.batch = batch
        self._arrived = ARRIVED.setdefault(target, [])
        self._sent: list[Event] = []
        self._fails = target == "stuck"

    def send(self, event: Event) -> None:
        if self._fails and event["n"] == 3:
            raise extending.SinkFailed("there is no 3")
        self._sent.append(dict(event))

    def flush(self) -> None:
        self._arrived += self._sent
        self._sent = []

    def close(self) -> None:
        pass


class NoteKind(SinkKind):
    name = "note"
    target = "a name"
    done = "noted under"
    options: ClassVar[tuple[Option, ...]] = (Option("batch", "rows at once", int, "a whole number", default=1),)

    def check(self, target: str, options: Mapping[str, Any]) -> None:
        if not target.isidentifier():
            raise extending.CatalogError(f'"{target}" is not a name')

    def open(self, target: str, options: Mapping[str, Any]) -> Noting:
        return Noting(target, options["batch"])


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kinds of this file, which end with each test; without those that examples in the documentation registered."""
    for registry in (SOURCES, SINKS):
        others = {name: kind for name, kind in registry._kinds.items() if name not in (CounterKind.name, NoteKind.name)}  # type: ignore[attr-defined]
        monkeypatch.setattr(registry, "_kinds", others)
    extending.register_source(CounterKind())
    extending.register_sink(NoteKind())


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Pond]:
    ARRIVED.clear()
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (n INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT n FROM r [NOW] SAMPLE REALTIME")
        yield db


def test_a_source_of_a_new_kind_feeds_a_table(db: Pond, tmp_path: Path) -> None:
    made = db.sql("CREATE SOURCE s (n INT, t BIGINT) FROM COUNTER 'one' WITH (rows = 50, password = 'sesame')")
    assert made.message == 'source "s" created'
    db.sql("INSERT INTO r SELECT * FROM s")
    until(lambda: db.status()["tables"]["r"]["accepted"] == 50)
    assert db.sql("SELECT MIN(n), MAX(n), COUNT(*) FROM r").rows() == [(0, 49, 50)]
    assert db.sql("SELECT kind, format, options FROM millpond.sources").rows() == [
        ("counter", "numbers", "rows = '50', password = '***'")
    ]


def test_a_feed_from_a_new_kind_goes_on_after_a_restart(tmp_path: Path) -> None:
    for count in (10, 10):
        with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
            if not db._workspace.catalog.sources:
                db.sql("CREATE STREAMING TABLE r (n INT, t BIGINT) TIMESTAMP BY t")
                db.sql("CREATE SOURCE s (n INT, t BIGINT) FROM COUNTER 'one' WITH (rows = 10)")
                db.sql("INSERT INTO r SELECT * FROM s")
            else:
                db._workspace.own()
                for feed in db._workspace.catalog.feeds.values():
                    db._workspace.feeds.start(feed)
            until(lambda: db.status()["tables"]["r"]["accepted"] == count)  # noqa: B023
    with millpond.connect(tmp_path / "pond") as db:
        assert db.sql("SELECT COUNT(*) FROM r").rows() == [(10,)]


@pytest.mark.parametrize("batch", [1, 4])
def test_a_sink_of_a_new_kind_gets_the_results(db: Pond, batch: int) -> None:
    made = db.sql(f"ON q DO NOTE 'here' WITH (batch = {batch})")
    assert made.message == 'from now on each result of "q" is noted under here'
    db.append("r", [(n, n) for n in range(10)])
    db.tick()
    until(lambda: len(ARRIVED.get("here", ())) == 9)
    assert [e["n"] for e in ARRIVED["here"]] == list(range(9))
    assert db.sql("SELECT `do`, target, state, sent, lag FROM millpond.triggers").rows() == [
        ("note", "here", "running", 9, 0)
    ]


def test_a_sink_of_a_new_kind_lasts(tmp_path: Path) -> None:
    ARRIVED.clear()
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (n INT, t BIGINT) TIMESTAMP BY t")
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT n FROM r [NOW] SAMPLE REALTIME")
        db.sql("ON q DO NOTE 'there' WITH (batch = 2)")
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.append("r", [(7, 1), (8, 2)])
        db.tick()
        until(lambda: [e["n"] for e in ARRIVED.get("there", ())] == [7])
        assert next(iter(db._workspace.catalog.triggers.values())).options == {"batch": "2"}


def test_a_batch_of_a_sink_is_sent_again_when_a_row_of_it_fails(db: Pond) -> None:
    """Nothing of a batch counts as sent before all of it is: the trigger goes on with its first row, and says why."""
    db.sql("ON q DO NOTE 'stuck' WITH (batch = 4)")
    db.append("r", [(n, n) for n in range(10)])
    db.tick()
    until(lambda: db.sql("SELECT problem FROM millpond.triggers").rows() == [("there is no 3",)])
    assert ARRIVED["stuck"] == []
    assert db.sql("SELECT state, sent FROM millpond.triggers").rows() == [("retrying", 0)]


# -- conformance --------------------------------------------------------------------------------------------------------


def test_check_source() -> None:
    source = Source("s", "counter", "one", Schema.of([("n", "INT")]), "numbers", {"rows": "12"})
    check_source(lambda: Counting(source, 12), 12)


@pytest.mark.parametrize("batch", [1, 3])
def test_check_sink(batch: int) -> None:
    ARRIVED.clear()
    check_sink(lambda: Noting("checked", batch), lambda: [e["id"] for e in ARRIVED["checked"]])


class Forgetful(Noting):
    def flush(self) -> None:
        self._sent = []


class Changing(Noting):
    def send(self, event: Event) -> None:
        event["sent"] = True
        super().send(event)


class Backwards(Noting):
    def flush(self) -> None:
        self._sent.reverse()
        super().flush()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Forgetful("bad", 1), "arrived"),
        (lambda: Changing("bad", 1), "an event was changed"),
        (lambda: Backwards("bad", 3), "arrived"),
        (lambda: Noting("bad", 0), "batch is 0"),
    ],
)
def test_check_sink_finds(make: Callable[[], Noting], message: str) -> None:
    ARRIVED.clear()
    with pytest.raises(AssertionError, match=message):
        check_sink(make, lambda: [e["id"] for e in ARRIVED["bad"]])


# -- what is refused ----------------------------------------------------------------------------------------------------


def refused(db: Pond, sql: str) -> str:
    with pytest.raises(millpond.MillpondError) as caught:
        db.sql(sql)
    return str(caught.value)


S = "CREATE SOURCE s (n INT, t BIGINT) FROM"


def test_unknown_kinds_show_their_place_and_the_nearest(db: Pond) -> None:
    assert refused(db, f"{S} COUNTR 'one'") == (
        'kind of source "COUNTR" does not exist\n'
        "line 1: CREATE SOURCE s (n INT, t BIGINT) FROM COUNTR 'one'\n"
        "                                               ^^^^^^\n"
        'Hint: Did you mean "COUNTER"?'
    )
    assert refused(db, "ON q DO POSTT 'http://x/'") == (
        'kind of sink "POSTT" does not exist\n'
        "line 1: ON q DO POSTT 'http://x/'\n"
        "                ^^^^^\n"
        'Hint: Did you mean "POST"?'
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (f"{S} COUNTER 'one'", 'option "rows" of source "s" is missing\nDetail: It is how many rows there are.\nHint: Add WITH (rows = \'...\').'),
        (f"{S} COUNTER 'one' WITH (rows = 'many')", 'option "rows" of source "s" is "many"\nHint: It can be a whole number.'),
        (f"{S} COUNTER 'one' WITH (row = 1)", 'option "row" does not exist for source "s" (counter, numbers)\nDetail: There is: password, rows.\nHint: Did you mean "rows"?'),
        (f"{S} COUNTER 'one' FORMAT csv WITH (rows = 1)", 'source "s" of kind counter cannot have format "csv"\nDetail: There is: numbers.'),
        ("ON q DO NOTE 'a b'", '"a b" is not a name'),
        ("ON q DO NOTE 'a' WITH (batch = 'x')", 'option "batch" of the trigger to "a" is "x"\nHint: It can be a whole number.'),
        ("ON q DO PYTHON 'builtins:id' WITH (batch = 1)", 'option "batch" does not exist for the trigger to "builtins:id" (python)\nDetail: It has no options.'),
        ("ON q DO POST 'http://h/' WITH (timeout = '2 days')", 'option "timeout" of the trigger to "http://h/" is "2 days"\nHint: It can be a duration of at most an hour.'),
    ],
)  # fmt: skip
def test_options_are_checked_when_they_are_written(db: Pond, statement: str, expected: str) -> None:
    assert refused(db, statement) == expected


def test_names_that_cannot_be_registered() -> None:
    class Named(NoteKind):
        name = "note"

    with pytest.raises(extending.CatalogError, match='kind of sink "note" is registered already'):
        extending.register_sink(Named())
    for wrong in ("nothing", "Note", "two words", ""):
        Named.name = wrong
        with pytest.raises(extending.CatalogError, match=f'"{wrong}" cannot be the name of a kind of sink'):
            extending.register_sink(Named())


# -- kinds of installed packages ----------------------------------------------------------------------------------------


class LateKind(CounterKind):
    name = "late"


LATE = LateKind()


def test_kinds_come_from_installed_packages(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        importlib.metadata.EntryPoint("late", f"{__name__}:LATE", "millpond.sources"),
        importlib.metadata.EntryPoint("broken", f"{__name__}:NONE", "millpond.sources"),
        importlib.metadata.EntryPoint("other", f"{__name__}:LATE", "millpond.sources"),
    ]

    def entry_points(group: str, name: str | None = None) -> list[importlib.metadata.EntryPoint]:
        return [e for e in entries if e.group == group and name in (None, e.name)]

    monkeypatch.setattr("millpond.extensions.entry_points", entry_points)
    assert "LATE" in refused(db, f"{S} NOWHERE_AT_ALL 'x'")
    db.sql(f"{S} LATE 'x' WITH (rows = 3)")
    assert refused(db, f"{S.replace(' s ', ' s2 ')} BROKEN 'x'").startswith(
        'kind of source "broken" cannot be loaded\nDetail: '
    )
    assert refused(db, f"{S.replace(' s ', ' s2 ')} OTHER 'x'").startswith('kind of source "other" calls itself "late"')


def test_a_source_whose_kind_is_not_installed_is_listed_and_told(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    db.sql(f"{S} COUNTER 'mqtt://me:sesame@host/x' WITH (rows = 3)")
    source = db._workspace.catalog.sources["s"]
    monkeypatch.setitem(
        db._workspace.catalog.sources,
        "s",
        millpond.catalog.Source("s", "gone", source.location, source.columns, "x", source.options),
    )  # type: ignore[arg-type]
    assert db.sql("SELECT kind, location, options FROM millpond.sources").rows() == [
        ("gone", "mqtt://me:***@host/x", "rows = '***'")
    ]
    assert 'kind of source "GONE" does not exist' in refused(db, "INSERT INTO r SELECT * FROM s")
