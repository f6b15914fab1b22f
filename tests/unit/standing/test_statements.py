"""Standing queries through the front door: statements, handles, what is told when something is wrong."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import millpond
from millpond.errors import CatalogError, CorruptBlock, MillpondError, SqlError, TypeMismatch
from millpond.standing.kept import rows

SLIDING = "BEGIN NOW - INTERVAL '10' MINUTE END NOW"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[millpond.Pond]:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        pond.sql(
            "CREATE STREAMING TABLE quotes (symbol STRING, price DOUBLE, volume INT, t BIGINT) TIMESTAMP BY t "
            "RANGE INTERVAL '1' HOUR"
        )
        pond.append("quotes", [("A", 10.0, 100, 100), ("B", 30.0, 200, 400), ("C", 15.0, 300, 650)])
        yield pond


def test_a_query_is_created_asked_shown_and_dropped(db: millpond.Pond) -> None:
    db.sql(f"CREATE STANDING QUERY cheap AS SELECT symbol FROM quotes WHERE price < 20 {SLIDING}")
    assert db.sql("INVOKE cheap").rows() == [("C",), ("A",)]
    assert db.sql("INVOKE Cheap AS OF 640").rows() == [("A",)]
    assert db.sql("INVOKE 1").rows() == [("C",), ("A",)]
    ((number, name, keep, state, text),) = db.sql("SHOW STANDING QUERIES").rows()
    assert (number, name, keep, state) == (1, "cheap", "auto", "kept")
    assert text == f"SELECT symbol FROM quotes WHERE price < 20 {SLIDING}"
    assert ("answered from its matches alone",) in db.sql("EXPLAIN STANDING QUERY cheap").rows()
    db.sql("DROP STANDING QUERY cheap; DROP STANDING QUERY IF EXISTS cheap")
    assert db.sql("SELECT count(*) FROM millpond.standing_queries").rows() == [(0,)]


def test_a_query_that_exists_is_not_created_again(db: millpond.Pond) -> None:
    create = "CREATE STANDING QUERY IF NOT EXISTS q AS SELECT symbol FROM quotes"
    db.sql(create)
    assert db.sql(create).message == 'standing query "q" exists already'


def test_show_tells_of_a_query_whose_table_is_gone(db: millpond.Pond) -> None:
    db.sql("CREATE STREAMING TABLE brief (a INT, t BIGINT) TIMESTAMP BY t")
    handle = db.register("SELECT a FROM brief WHERE a = 1 BEGIN NOW - INTERVAL '1' HOUR END NOW")
    shown = f"SELECT state, why FROM millpond.standing_queries WHERE id = {handle.id}"
    handle.invoke()
    assert db.sql(shown).rows() == [("kept", None)]
    db.sql("DROP TABLE brief")
    assert db.sql(shown).rows() == [("nothing", 'table "brief" is gone: It was dropped.')]
    db.sql("CREATE STREAMING TABLE brief (a INT, t BIGINT) TIMESTAMP BY t")
    told = 'table "brief" is gone: It was dropped, and another of that name was made.'
    assert db.sql(shown).rows() == [("nothing", told)]


def test_columns_may_be_called_begin_and_end(db: millpond.Pond) -> None:
    db.sql("CREATE STREAMING TABLE spans (begin INT, `end` INT, t BIGINT) TIMESTAMP BY t")
    db.append("spans", [(1, 2, 100), (3, 4, 200)])
    asked = "SELECT begin, CASE WHEN begin > 1 THEN 0 END AS c FROM spans ORDER BY begin"
    assert db.register(asked).invoke().rows() == [(1, None), (3, 0)]
    assert db.register(f"{asked} BEGIN 150 END 900").invoke().rows() == [(3, 0)]


def test_the_answer_is_that_of_one_prefix(db: millpond.Pond) -> None:
    handle = db.register(f"SELECT symbol FROM quotes WHERE price < 20 {SLIDING}")
    answer = handle.invoke()
    assert (answer.as_of, answer.position) == ({"quotes": 650}, {"quotes": 3})
    assert repr(answer).endswith("(2 rows; quotes as of 650 after 3 rows)")


def test_answers_are_of_one_prefix_while_rows_come(tmp_path: Path) -> None:
    """Each append has two rows that match. An answer never has one without the other, and has exactly those it says."""
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        handles = [
            db.register("SELECT v FROM r WHERE v > 0 END NOW", keep=keep) for keep in ("partial", "complete", "nothing")
        ]
        stop = threading.Event()
        problems: list[str] = []

        def ask() -> None:
            while not stop.is_set():
                for handle in handles:
                    answer = handle.invoke()
                    if len(answer) != answer.position["r"] or len(answer) % 2:
                        problems.append(f"{len(answer)} of {answer.position}")

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for time in range(300):
            db.append("r", [(1, time), (2, time)])
            if time % 20 == 0:
                db.tick()
            if time % 70 == 0:
                db.archive()
        stop.set()
        for thread in threads:
            thread.join()
        assert problems == []


def test_another_process_asks_the_same_query(db: millpond.Pond) -> None:
    handle = db.register(f"SELECT symbol FROM quotes WHERE price < ? {SLIDING}", [20])
    with millpond.connect(db.folder, auto_archive=False) as reader:
        assert reader.registered(handle.id).invoke().rows() == [("C",), ("A",)]
        db.append("quotes", [("D", 1.0, 1, 660)])
        assert reader.registered(handle.id).invoke().rows() == [("D",), ("C",), ("A",)]
        assert reader.sql("SELECT state FROM millpond.standing_queries").rows() == [("nothing",)]
        handle.drop()
        with pytest.raises(millpond.UnknownName, match="It was dropped"):
            reader.registered(handle.id)


def test_queries_survive_a_restart(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond") as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        number = db.register("SELECT v FROM r WHERE v > 1 END NOW", name="large").id
        many = db.register_many("SELECT v FROM r WHERE v = ?", [(v,) for v in range(50)])
        db.append("r", [(1, 10), (2, 20)])
    with millpond.connect(tmp_path / "pond") as db:
        assert db.registered(number).invoke().rows() == [(2,)]
        assert db.registered("large").id == number
        assert db.registered(many[1].id).invoke().rows() == [(1,)]


def test_changes_are_told_since_the_last_visit(db: millpond.Pond) -> None:
    handle = db.register(f"SELECT symbol, price FROM quotes WHERE price < 20 {SLIDING}")
    assert handle.changes().rows() == [("+", "C", 15.0), ("+", "A", 10.0)]
    assert handle.changes().rows() == []
    visit = handle.invoke().visit
    db.append("quotes", [("D", 5.0, 1, 1200)])
    expected = [("-", "A", 10.0), ("+", "D", 5.0)]
    assert db.registered(handle.id).changes(since=visit).rows() == expected
    assert handle.changes().rows() == expected
    with pytest.raises(TypeMismatch, match="'yesterday' is no earlier visit"):
        handle.changes(since="yesterday")


def test_a_visit_that_is_still_to_come_is_refused(db: millpond.Pond) -> None:
    """Such as one from before the pond was restored: nothing would seem to have changed since."""
    db.sql("CREATE STREAMING TABLE brief (a INT, t BIGINT) TIMESTAMP BY t")
    db.append("brief", [(1, 1)])
    handle = db.register("SELECT a FROM brief WHERE a = 1 BEGIN NOW - INTERVAL '1' HOUR END NOW")
    ((folder, (time, position)),) = json.loads(handle.invoke().visit).items()
    assert handle.changes(since=json.dumps({folder: [time, position]})).rows() == []
    with pytest.raises(millpond.MillpondError) as caught:
        handle.changes(since=json.dumps({folder: [time, position + 2]}))
    assert str(caught.value) == (
        'the visit is ahead of table "brief"\n'
        "Detail: It is of 3 rows, and the table has taken 1 row.\n"
        "Hint: If the pond was restored from an older copy, ask anew with invoke()."
    )
    with pytest.raises(millpond.MillpondError, match="is no earlier visit"):
        handle.changes(since=json.dumps({folder: [time, -1]}))


def test_a_registered_query_meets_rows_that_were_archived(db: millpond.Pond) -> None:
    db.archive()
    handle = db.register(f"SELECT symbol FROM quotes WHERE price < 20 {SLIDING}")
    assert handle.invoke().rows() == [("C",), ("A",)]
    assert handle.invoke().way == "plain", "what was found in the archive is kept"
    db.append("quotes", [("D", 1.0, 1, 660)])
    db.tick()
    assert handle.invoke().rows() == [("D",), ("C",), ("A",)]


@pytest.mark.parametrize("window", [SLIDING, "BEGIN NOW - 2 ROWS END NOW", "BEGIN NOW - 3 ROWS END NOW - 1 ROWS"])
@pytest.mark.parametrize("group", ["", "GROUP BY symbol"])
def test_aggregates_are_answered_from_a_tree(db: millpond.Pond, window: str, group: str) -> None:
    items = "symbol, " if group else ""
    text = f"SELECT {items}COUNT(*) AS n, SUM(volume) AS v, MIN(price) AS low FROM quotes WHERE price < 40 {group} {window}"
    handle, naive = db.register(text), db.register(text, keep="nothing")
    for time in (650, 700, 1400):  # the last one is seen by no tick
        answer = handle.invoke()
        assert answer.way == "aggregate"
        assert sorted(answer.rows()) == sorted(naive.invoke().rows())
        db.tick()
        db.append("quotes", [("A", 5.0, time, time), ("D", 6.0, 1, time)])


def test_rows_that_were_dropped_are_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_WHOLE", 16)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        handle = db.register("SELECT t FROM r WHERE v < 3 BEGIN NOW - INTERVAL '20' SECOND END NOW", keep="partial")
        for first in range(0, 200, 20):
            db.append("r", [(i % 10, i) for i in range(first, first + 20)])
            db.tick()
        assert [t for (t,) in handle.invoke().rows()] == [t for t in range(199, 178, -1) if t % 10 < 3]
        assert [t for (t,) in handle.invoke(as_of=60).rows()] == [t for t in range(60, 39, -1) if t % 10 < 3]


@pytest.mark.parametrize("ends", ["", " - 5 ROWS"])
def test_rows_that_no_window_counts_are_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    monkeypatch.setattr(rows, "_WHOLE", 16)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t LATENESS INTERVAL '3' SECOND")
        handles = [db.register(f"SELECT t FROM r WHERE v < 3 BEGIN NOW - {n} ROWS END NOW{ends}") for n in (50, 10, 30)]
        for first in range(0, 1000, 20):
            db.append("r", [(i % 10, i) for i in range(first, first + 20)])
            db.tick()
        (kept,) = db._workspace.standing.kept.values()
        assert kept.state.rows.size < 120
        last = 996 - (5 if ends else 0)
        for handle, count in zip(handles, (50, 10, 30), strict=True):
            answer = handle.invoke()
            assert answer.way == "plain"
            assert [t for (t,) in answer.rows()] == [t for t in range(last, 996 - count, -1) if t % 10 < 3]
            earlier = handle.invoke(as_of=600).rows()
            assert [t for (t,) in earlier] == [t for t in range(last - 396, 600 - count, -1) if t % 10 < 3]


@pytest.mark.parametrize("begin", ["30 ROWS", "INTERVAL '29' SECOND"])
def test_a_window_that_comes_between_a_tick_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: str
) -> None:
    """What it is first filled with reaches back further than rows are held a moment later."""
    monkeypatch.setattr(rows, "_WHOLE", 16)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        asked = f"SELECT t FROM r WHERE v < 5 BEGIN NOW - {begin} END NOW"
        db.register(asked, keep="complete")
        table = db._workspace.stream("r")
        for first in range(0, 500, 100):
            db.append("r", [(i % 10, i) for i in range(first, first + 100)])
            (kept,) = db._workspace.standing.kept.values()
            kept.take_in(table.prefix())
            late = db.register(asked, keep="complete")
            kept.expire(table.now)
            expected = [t for t in range(first + 99, first + 69, -1) if t % 10 < 5]
            assert [t for (t,) in late.invoke().rows()] == expected
            db.tick()
            assert [t for (t,) in late.invoke().rows()] == expected


def test_nothing_is_kept_of_a_query_that_keeps_most_rows(db: millpond.Pond) -> None:
    db.append("quotes", [("X", float(i % 10), i, 700 + i) for i in range(1500)])
    db.tick()
    handle = db.register("SELECT volume FROM quotes WHERE price < 9 END NOW")
    entry = next(iter(db._workspace.standing.kept.values())).state.entries.get(0)
    assert entry is not None
    assert not entry.kept
    assert len(handle.invoke()) == 1350


def test_many_are_dropped_at_once(db: millpond.Pond) -> None:
    handles = db.register_many("SELECT volume FROM quotes WHERE volume = ? END NOW", [(v,) for v in range(3000)])
    assert handles[300].invoke().rows() == [(300,)]
    db.drop_many(handles[:2900])
    assert db.sql("SELECT count(*) FROM millpond.standing_queries").rows() == [(100,)]
    with pytest.raises(millpond.UnknownName, match="It was dropped"):
        db.drop_many(handles[2899:])
    assert handles[2999].invoke().rows() == [], "nothing is dropped if one of them is unknown"
    db.drop_many(handles[2900:])
    assert db._workspace.standing.bytes == 0


def test_dropping_gives_the_memory_back(db: millpond.Pond) -> None:
    handles = [db.register(f"SELECT volume FROM quotes WHERE volume = {v} END NOW") for v in range(100)]
    db.append("quotes", [("X", 1.0, i % 100, 700 + i) for i in range(20_000)])
    db.tick()
    assert db._workspace.standing.bytes > 500_000
    for handle in handles:
        handle.drop()
    assert db._workspace.standing.bytes == 0


def test_the_bound_on_memory_holds(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False, standing_memory=300_000) as db:
        db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
        handles = [db.register(f"SELECT v, t FROM r WHERE v = {v} END NOW") for v in range(50)]
        for first in range(0, 100_000, 10_000):
            db.append("r", [(i % 50, i) for i in range(first, first + 10_000)])
            db.tick()
            assert db._workspace.standing.bytes <= 300_000
        for v in (0, 49, 17):
            assert len(handles[v].invoke()) == 2000
        assert {state for (state,) in db.sql("SELECT state FROM millpond.standing_queries").rows()} == {
            "kept",
            "swapped out",
        }


def test_only_as_many_are_swapped_out_as_must_be(tmp_path: Path) -> None:
    full = 0
    for name in ("enough", "too little"):
        memory = int(0.9 * full) or 1 << 30
        with millpond.connect(tmp_path / name, auto_archive=False, standing_memory=memory) as db:
            db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
            db.register_many("SELECT t FROM r WHERE v >= ? END NOW", [(v,) for v in range(1024)])
            db.append("r", [(i % 1024, i) for i in range(20_000)])
            db.tick()
            kept = db._workspace.standing.bytes
            states = [state for (state,) in db.sql("SELECT state FROM millpond.standing_queries ORDER BY id").rows()]
            assert states == (["swapped out"] * 256 if full else ["kept"] * 256) + ["kept"] * 768
            assert 0.5 * full < kept <= memory
            full = kept


def test_asking_does_not_wait_while_another_is_made_durable(db: millpond.Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = db.register(f"SELECT symbol FROM quotes WHERE price < 20 {SLIDING}")
    db._workspace.standing._let_go([handle.id])  # so that it is taken up again when it is asked
    syncing, asked, sync = threading.Event(), threading.Event(), os.fsync

    def slow(file: int) -> None:
        syncing.set()
        assert asked.wait(20), "the question waits for the disk"
        sync(file)

    monkeypatch.setattr(os, "fsync", slow)
    registering = threading.Thread(target=lambda: db.register("SELECT volume FROM quotes"))
    registering.start()
    assert syncing.wait(20)
    assert handle.invoke().rows() == [("C",), ("A",)]
    asked.set()
    registering.join()
    assert db.registered(handle.id + 1).invoke().rows() == [(300,), (200,), (100,)]


def test_nothing_is_kept_of_a_query_that_is_dropped_while_it_is_asked(db: millpond.Pond) -> None:
    handle = db.register(f"SELECT symbol FROM quotes WHERE price < 20 {SLIDING}")
    standing = db._workspace.standing
    bound = standing.serving(handle._query, None).bound  # type: ignore[arg-type]
    handle.drop()
    standing.serving(handle._query, bound)  # by a thread that had looked it up before
    db.tick()
    assert standing.bytes == 0


@pytest.mark.parametrize("where", ["", "WHERE price < 20 "])
def test_dropped_queries_leave_nothing_behind(db: millpond.Pond, where: str) -> None:
    keeper = db.register(f"SELECT volume FROM quotes {SLIDING}")
    keeper.invoke()
    (kept,) = db._workspace.standing.kept.values()
    for _ in range(3):
        db.register(f"SELECT symbol FROM quotes {where}{SLIDING}", keep="complete").drop()
        db.register(f"SELECT COUNT(*) AS n FROM quotes {where}{SLIDING}").drop()
        db.tick()
    sizes = [kept._entries, kept._by_predicate, kept._users, kept._windows, kept._trees, kept._dropped, kept._broad]
    assert [len(each) for each in sizes] == [1, 1, 1, 0, 0, 0, 0]


# -- bad input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INVOKE nope", 'standing query "nope" does not exist'),
        ("INVOKE 77", 'standing query "77" does not exist'),
        ("DROP STANDING QUERY nope", 'standing query "nope" does not exist'),
        (
            "CREATE STANDING QUERY q AS SELECT * FROM quotes BEGIN NOW END NOW - INTERVAL '1' MINUTE",
            "the window ends before it begins: BEGIN NOW END NOW - INTERVAL '60.000000' SECOND",
        ),
        ("CREATE STANDING QUERY q AS SELECT * FROM quotes BEGIN 20 END 10", "the window ends before it begins: BEGIN 20 END 10"),
        ("CREATE STANDING QUERY q AS SELECT * FROM quotes BEGIN NOW - 5 ROWS END NOW - 5 ROWS", "the window ends before it begins"),
        ("CREATE STANDING QUERY q AS SELECT * FROM quotes BEGIN NOW - 5 ROWS END 10", "one end of the window counts rows"),
        ("CREATE STANDING QUERY q AS SELECT * FROM quotes BEGIN NOW - INTERVAL '-1' MINUTE", 'interval "-1 MINUTE" is negative'),
        ("CREATE STANDING QUERY q AS SELECT * FROM quotes BEGIN NOW - -1 ROWS", "BEGIN is ahead of NOW"),
        ("CREATE STANDING QUERY q AS SELECT * FROM quotes BEGIN", "expected NOW or a time after BEGIN"),
        ("CREATE STANDING QUERY q AS SELECT * FROM quotes BEGIN ROW -1", "rows are numbered from 0"),
        (
            "CREATE STANDING QUERY q AS SELECT * FROM quotes BEGIN NOW - INTERVAL '2' HOUR END NOW",
            'the window of "quotes" is longer than "quotes" keeps its rows',
        ),
        ("CREATE STANDING QUERY q AS SELECT 1 AS x BEGIN 1 END 2", "BEGIN and END are of no stream"),
        ("CREATE STANDING QUERY q KEEP SOME AS SELECT 1", "expected AUTO, PARTIAL, COMPLETE or NOTHING after KEEP"),
        ("CREATE STANDING QUERY q AS DROP TABLE quotes", "expected a query after AS"),
        ("CREATE STANDING QUERY q AS SELECT prize FROM quotes", 'column "prize" does not exist in table "quotes"'),
        ("SELECT * FROM quotes [BEGIN 'soon']", "soon"),
        (
            "CREATE CONTINUOUS QUERY c AS SELECT symbol FROM quotes [BEGIN 1 END 2] SAMPLE REALTIME",
            "a continuous query cannot have the window",
        ),
    ],
)  # fmt: skip
def test_wrong_statements_are_told(db: millpond.Pond, statement: str, message: str) -> None:
    with pytest.raises(MillpondError) as told:
        db.sql(statement)
    assert message in str(told.value)


def test_a_window_from_before_retention_is_told(db: millpond.Pond) -> None:
    handle = db.register("SELECT symbol FROM quotes WHERE price < 20 BEGIN 0 END NOW")
    assert handle.invoke().rows() == [("C",), ("A",)]
    db.append("quotes", [("D", 1.0, 1, 3700)])
    with pytest.raises(SqlError, match='table "quotes" no longer has all rows that are needed as of 3700'):
        handle.invoke()


def test_a_time_ahead_of_the_table_is_told(db: millpond.Pond) -> None:
    handle = db.register(f"SELECT symbol FROM quotes {SLIDING}")
    with pytest.raises(SqlError, match='AS OF 651 is ahead of table "quotes"'):
        handle.invoke(as_of=651)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("DROP STREAMING TABLE quotes", "It was dropped."),
        ("ALTER STREAMING TABLE quotes RENAME TO prices", 'It is called "prices" now.'),
        (
            "DROP STREAMING TABLE quotes; CREATE STREAMING TABLE quotes (symbol STRING, price DOUBLE, t BIGINT) TIMESTAMP BY t",
            "It was dropped, and another of that name was made.",
        ),
    ],
)
def test_a_handle_whose_table_is_gone_says_so(db: millpond.Pond, change: str, told: str) -> None:
    handle = db.register("SELECT symbol FROM quotes WHERE price < 20", name="cheap")
    db.sql(change)
    with pytest.raises(CatalogError) as error:
        handle.invoke()
    assert error.value.primary == 'standing query "cheap" reads table "quotes", which is gone'
    assert error.value.detail == told


def test_wrong_arguments_are_told(db: millpond.Pond) -> None:
    with pytest.raises(CatalogError, match="what is kept of a standing query cannot be 'all'"):
        db.register("SELECT symbol FROM quotes", keep="all")
    with pytest.raises(TypeMismatch, match="the values of a query are a list or a tuple, not 'A'"):
        db.register_many("SELECT symbol FROM quotes WHERE symbol = ?", ["A"])  # type: ignore[list-item]
    with pytest.raises(TypeMismatch, match="is no time"):
        db.register("SELECT symbol FROM quotes").invoke(as_of=1.5)


def test_damage_of_the_registry_harms_nothing_else(db: millpond.Pond) -> None:
    db.register("SELECT symbol FROM quotes", name="q")
    path = db.folder / "standing" / "queries.journal"
    path.write_bytes(path.read_bytes().replace(b"symbol", b"volume"))
    with millpond.connect(db.folder) as reader:
        assert reader.sql("SELECT count(*) FROM quotes").rows() == [(3,)]
        with pytest.raises(CorruptBlock, match="the journal of standing queries is damaged"):
            reader.sql("INVOKE q")


def test_a_column_added_later_is_seen(db: millpond.Pond) -> None:
    handle = db.register(f"SELECT * FROM quotes WHERE price < 20 {SLIDING}")
    assert handle.invoke().columns == ["symbol", "price", "volume"]
    db.sql("ALTER STREAMING TABLE quotes ADD COLUMN venue STRING")
    db.append("quotes", [("E", 2.0, 1, 660, "X")])
    assert handle.invoke().rows()[0] == ("E", 2.0, 1, "X")


BY_PRICE = "SELECT symbol FROM quotes WHERE price < ?"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda db: db.register(BY_PRICE, [1], name=5), "the name of a standing query is a text, not 5"),
        (lambda db: db.register(BY_PRICE, [1], name=""), "the name of a standing query is a text, not ''"),
        (lambda db: db.register(BY_PRICE, [10**5000]), "parameter cannot be <int>"),
        (lambda db: db.register(BY_PRICE, [1], name="\ud800"), "half of a surrogate pair is no text"),
        (lambda db: db.register("SELECT symbol FROM quotes WHERE symbol = ?", ["\ud800"]), "half of a surrogate pair"),
        (lambda db: db.register("SELECT symbol FROM quotes WHERE symbol = '\ud800'"), "half of a surrogate pair"),
        (
            lambda db: db.register_many("SELECT symbol FROM quotes WHERE symbol = ?", [["a"], ["\ud800"]]),
            "half of a surrogate",
        ),
        (lambda db: db.register_many(BY_PRICE, 5), "many queries take a list of lists of values, not 5"),
        (lambda db: db.register_many(BY_PRICE, [[1], {"a": 1}]), "the values of a query are a list or a tuple"),
        (lambda db: db.register_many(BY_PRICE, [[1], [1, 2]]), "2 parameters are given, and the statement has 1"),
        (lambda db: db.register_many(BY_PRICE + " ORDER BY 1 LIMIT 1", [[1], [{"date": "x"}]]), "parameter cannot be"),
        (lambda db: db.register_many(BY_PRICE + " ORDER BY 1 LIMIT 1", [[1], [object()]]), "parameter cannot be"),
        (lambda db: db.registered(None), "None is no standing query"),
        (lambda db: db.registered(1.0), r"1\.0 is no standing query"),
        (lambda db: db.registered(10**5000), 'standing query "<int>" does not exist'),
        (lambda db: db.registered("../queries.journal"), "does not exist"),
        (lambda db: db.register(BY_PRICE, [1]).changes(since="[" * 100_000), "is no earlier visit"),
        (lambda db: db.register(BY_PRICE, [1]).changes(since="{}"), "the visit is of another query"),
        (lambda db: db.register(BY_PRICE, [1]).changes(since='{"quotes-0": [5, 1e999]}'), "is no earlier visit"),
        (lambda db: db.register(BY_PRICE, [1]).changes(since=f'{{"quotes-0": [{10**40}, 1]}}'), "is no earlier visit"),
    ],
)
def test_what_is_wrong_with_an_argument_is_said(
    db: millpond.Pond, ask: Callable[[millpond.Pond], object], message: str
) -> None:
    before = db.sql("SELECT count(*) FROM millpond.standing_queries WHERE name IS NOT NULL").rows()
    with pytest.raises(MillpondError, match=message):
        ask(db)
    assert db.sql("SELECT count(*) FROM millpond.standing_queries WHERE name IS NOT NULL").rows() == before
    assert db.sql("SELECT count(*) FROM quotes").rows() == [(3,)]


@pytest.mark.parametrize(
    "name", ["a.b", "it's", 'say "so"', "x\ny", "../../queries", "日本", "7", "\\", "nul\x00", " "]
)
def test_any_text_is_a_name(db: millpond.Pond, name: str) -> None:
    handle = db.register("SELECT symbol FROM quotes WHERE symbol = ?", [name], name=name)
    assert db.registered(name).id == handle.id
    assert db.registered(name).invoke().rows() == []
    assert (name,) in db.sql("SELECT name FROM millpond.standing_queries").rows()
    if "\x00" not in name:
        assert db.sql(f"INVOKE `{name}`").rows() == []
    db.registered(name).drop()
    assert len(db.sql("SHOW STANDING QUERIES")) == 0


@pytest.mark.parametrize("window", ["BEGIN NOW - INTERVAL '9' SECOND END NOW", "BEGIN NOW - 10 ROWS END NOW"])
@pytest.mark.parametrize("many", [False, True])
def test_windows_are_applied_at_ticks_if_all_is_kept(db: millpond.Pond, window: str, many: bool) -> None:
    text = f"SELECT volume FROM quotes WHERE volume < ? {window}"
    handle = db.register_many(text, [(5,)], keep="complete")[0] if many else db.register(text, [5], keep="complete")
    for first in range(1000, 1100, 20):
        db.append("quotes", [("X", 1.0, i % 10, i) for i in range(first, first + 20)])
        db.tick()
        assert handle.invoke().rows() == [(v,) for v in (4, 3, 2, 1, 0)]
        ((kept,),) = [list(table.state.windows.values()) for table in db._workspace.standing.kept.values()]
        assert len(kept) <= (5 if first > 1000 else 10), "what has left the window is not held"


def test_a_window_of_no_rows_over_no_rows_failed_the_tick(db: millpond.Pond) -> None:
    db.sql("CREATE STREAMING TABLE fresh (volume INT, t BIGINT) TIMESTAMP BY t")
    handle = db.register("SELECT volume FROM fresh WHERE volume < 9 BEGIN NOW - 0 ROWS END NOW", keep="partial")
    db.advance("fresh", 1000)
    db.tick()
    assert handle.invoke().rows() == []
    for time in (1001, 1002):
        db.append("fresh", [(5, time)])
        db.tick()
        assert handle.invoke().rows() == []


def test_queries_are_asked_while_ticks_pass(db: millpond.Pond) -> None:
    handles = db.register_many("SELECT volume FROM quotes WHERE volume = ? END NOW", [(v,) for v in range(300)])
    problems: list[BaseException] = []
    stop = threading.Event()

    def ask() -> None:
        try:
            while not stop.is_set():
                for handle in handles:
                    handle.invoke()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for time in range(700, 900):
        db.append("quotes", [("X", 1.0, 1, time)])
        db.tick()
    stop.set()
    for thread in threads:
        thread.join()
    assert problems == []
