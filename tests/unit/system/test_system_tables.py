"""System tables: each can be selected and joined, SHOW and status tell the same, and what cannot be done is said."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

import millpond
from millpond.clock import ManualClock
from millpond.network.engine.watch import Underway
from millpond.network.run.ticks import MOST_TICKS, TickLog
from millpond.pond import Pond
from millpond.query.system_names import SCHEMA
from millpond.sql.parser import parse
from millpond.statements.show import SHOWN
from millpond.system.reference import markdown
from millpond.system.registry import definitions

NAMES = list(definitions())
DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Pond]:
    with filled(tmp_path) as db:
        yield db


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pond]:
    """The same, for tests that change nothing."""
    with filled(tmp_path_factory.mktemp("read_only")) as db:
        yield db


@contextmanager
def filled(folder: Path) -> Iterator[Pond]:
    (folder / "in").mkdir()
    with millpond.connect(folder / "pond", auto_archive=False) as db:
        db.sql(
            f"""
            CREATE STREAMING TABLE r (vid INT, seg INT, t BIGINT) TIMESTAMP BY t SHARD BY vid WITH (shards = 2);
            CREATE STREAMING TABLE log (line STRING);
            CREATE INDEX by_seg ON r (seg);
            CREATE STANDARD TABLE names (seg INT, name STRING);
            CREATE CONTINUOUS QUERY cars AS SELECT seg, COUNT(*) AS n FROM r [INTERVAL 10] GROUP BY seg SAMPLE INTERVAL 10;
            CREATE STREAMING VIEW fast RANGE INTERVAL '1' HOUR AS SELECT vid FROM r [NOW] WHERE seg > 5 SAMPLE REALTIME;
            CREATE SOURCE s (vid INT, seg INT, t BIGINT) FROM FILES '{folder / "in"}' WITH (header = 'true');
            INSERT INTO r SELECT * FROM s;
            CREATE REDUCTION by_minute ON r AS SELECT seg, COUNT(*) FROM r GROUP BY seg EVERY INTERVAL 60 LAZY;
            CREATE STANDING QUERY slow AS SELECT vid FROM r WHERE seg < 5 END NOW;
            ON cars DO PYTHON 'builtins:id'
            """
        )
        db.create_function("twice", lambda x: 2 * x, arguments=["INT"], returns="INT")
        db.append("r", [(1, 3, 1), (2, 9, 12), (3, 9, 25)])
        db.tick()
        limit = time.monotonic() + 20
        while db._workspace.triggers.states()[0].lag:  # so that two looks at it tell the same
            assert time.monotonic() < limit
        yield db


@pytest.mark.parametrize("name", NAMES)
def test_each_is_selected_whole(read_only: Pond, name: str) -> None:
    definition = definitions()[name]
    found = read_only.sql(f"SELECT * FROM {SCHEMA}.{name}")
    assert found.columns == [c.name for c in definition.columns]
    assert len(found) > 0
    each = ", ".join(f"x.`{c.name}`" for c in definition.columns)
    assert len(read_only.sql(f"SELECT {each} FROM {SCHEMA}.{name} AS x")) == len(found)


@pytest.mark.parametrize("name", NAMES)
def test_each_is_joined(read_only: Pond, name: str) -> None:
    found = read_only.sql(
        f"SELECT c.name FROM millpond.columns AS c LEFT JOIN {SCHEMA}.{name} AS x ON c.table = 'no' WHERE c.table = '{SCHEMA}.{name}'"
        " ORDER BY c.position"
    )
    assert [row[0] for row in found] == [c.name for c in definitions()[name].columns]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_read_by_another_process(read_only: Pond, name: str) -> None:
    with millpond.connect(read_only._workspace.folder) as reader:
        found = reader.sql(f"SELECT * FROM {SCHEMA}.{name}")
        assert found.columns == [c.name for c in definitions()[name].columns]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_described(read_only: Pond, name: str) -> None:
    found = read_only.sql(f"DESCRIBE {SCHEMA}.{name}").rows()
    assert found == [(c.name, str(c.type), c.description) for c in definitions()[name].columns]


def test_the_reference_page_is_up_to_date() -> None:
    assert (DOCS / "system-tables.md").read_text() == markdown(), "run `make docs`"


@pytest.mark.parametrize("kind", list(SHOWN))
def test_show_is_a_projection(read_only: Pond, kind: str) -> None:
    shown = SHOWN[kind]
    found = read_only.sql(f"SHOW {kind}")
    assert found.columns == list(shown.columns)
    where = " AND ".join(f"{n} IN ({', '.join(map(repr, v))})" for n, v in shown.where.items()) or "true"
    assert (
        found.rows()
        == read_only.sql(f"SELECT {', '.join(shown.columns)} FROM millpond.{shown.table} WHERE {where}").rows()
    )


def test_status_tells_the_same(db: Pond) -> None:
    status = db.status()
    for row in db.sql("SELECT * FROM millpond.tables WHERE kind = 'streaming table'").arrow().to_pylist():
        assert status["tables"][row.pop("name")] == row
    for row in db.sql("SELECT * FROM millpond.queries").arrow().to_pylist():
        assert status["queries"][row.pop("name")] == row
    assert status["standard_tables"] == ["names"]
    assert status["pipeline"] is None


def test_costs_tell_where_queries_are_evaluated_and_how_often(db: Pond) -> None:
    """`cars` is counted in the shards and added up in the pond's process; `fast` is a filter in the shards."""
    found = db.sql("SELECT * FROM millpond.costs").arrow().to_pylist()
    places = {(row["query"], row["table"], row["shard"]) for row in found}
    assert places == {("cars", None, None)} | {(name, "r", shard) for name in ("cars", "fast") for shard in (0, 1)}
    totals = db.sql(
        "SELECT query, table IS NULL, SUM(rows_in), SUM(rows_out), SUM(evaluations) > 0, SUM(seconds) > 0 "
        "FROM millpond.costs GROUP BY 1, 2 ORDER BY 1, 2"
    )
    assert totals.rows() == [  # of the three rows, time has passed two
        ("cars", False, 2, 2, True, True),
        ("cars", True, 2, 2, True, True),
        ("fast", False, 2, 1, True, True),
    ]
    db.sql("DROP STREAMING VIEW fast")
    assert db.sql("SELECT DISTINCT query FROM millpond.costs").rows() == [("cars",)]


def test_joins_aggregates_and_ctes(db: Pond) -> None:
    assert db.sql(
        "WITH q AS (SELECT name, reads FROM millpond.queries) "
        "SELECT t.name, COUNT(q.name) AS n, MAX(t.watermark_seconds) AS w "
        "FROM millpond.tables AS t LEFT JOIN q ON q.reads = t.name WHERE t.kind LIKE 'streaming%' GROUP BY t.name ORDER BY 1"
    ).rows() == [("log", 0, None), ("r", 2, 25.0)]
    assert db.sql("SELECT names.name FROM names, millpond.settings").rows() == []
    assert db.sql("SELECT millpond.settings.value FROM millpond.settings WHERE settings.name = 'engine'").rows() == [
        ("auto",)
    ]
    assert db.sql("SELECT COUNT(*) FROM r WHERE seg IN (SELECT rows FROM millpond.tables WHERE name = 'r')").rows() == [
        (1,)
    ]


def test_rows_of_a_system_table_can_be_kept(db: Pond) -> None:
    db.sql("CREATE TABLE kept AS SELECT name, rows FROM millpond.tables")
    db.sql("INSERT INTO kept SELECT name, sent FROM millpond.queries")
    assert db.sql("SELECT * FROM kept ORDER BY name").rows() == [
        ("cars", 2),
        ("fast", 1),
        ("log", 0),
        ("names", 0),
        ("r", 3),
    ]


def test_one_statement_sees_one_state(db: Pond) -> None:
    """A table is made once for a statement: rows that arrive between two uses of it show in both or in neither."""
    seen = []
    before = db._workspace.streams

    def streams() -> dict[str, object]:
        seen.append(db.append("r", [(9, 9, 30 + len(seen))]))
        return before()  # type: ignore[return-value]

    db._workspace.streams = streams  # type: ignore[method-assign,assignment]
    found = db.sql(
        "SELECT a.rows, b.rows FROM millpond.tables a JOIN millpond.tables b ON a.name = b.name WHERE a.name = 'r'"
    )
    assert found.rows() == [(4, 4)]


def test_watermark_frontier_and_lag(db: Pond) -> None:
    assert db.sql(
        "SELECT name, watermark, watermark_seconds FROM millpond.tables WHERE kind = 'streaming table'"
    ).rows() == [
        ("r", "25", 25.0),
        ("log", None, None),
    ]
    frontiers = "SELECT name, frontier, frontier_seconds, lag_seconds FROM millpond.queries ORDER BY name"
    assert db.sql(frontiers).rows() == [("cars", "25", 25.0, 0.0), ("fast", "25", 25.0, 0.0)]
    db.append("r", [(1, 1, 40)])
    assert db.sql(frontiers).rows() == [("cars", "25", 25.0, 15.0), ("fast", "25", 25.0, 15.0)]


def test_a_timestamp_is_a_text_and_a_number(db: Pond) -> None:
    db.advance("log", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    found = db.sql("SELECT watermark, watermark_seconds FROM millpond.tables WHERE name = 'log'").rows()
    assert found == [("2026-01-02 03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp())]


def test_ticks_tell_rows_and_results(db: Pond) -> None:
    db.append("r", [(1, 1, 50)])
    db.tick()
    found = db.sql("SELECT * FROM millpond.ticks").arrow().to_pylist()
    assert [(t["rows"], t["results"]) for t in found] == [(3, 3), (1, 2)]
    for tick in found:
        phases = sum(tick[f"{p}_seconds"] for p in ("plan", "shards", "whole", "commit"))
        assert tick["seconds"] == pytest.approx(phases)


def test_ticks_are_bounded() -> None:
    log = TickLog(ManualClock())
    for number in range(MOST_TICKS + 5):
        log.begin()
        log.end(number, 0, 0, 0.0)
    assert [t.number for t in log.recent()] == list(range(5, MOST_TICKS + 5))


def test_who_is_being_evaluated(db: Pond, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = [Underway("cars", 1_000_000, "a"), Underway("cars", 2_000_000, "b")]  # in two shards
    monkeypatch.setattr("millpond.system.queries.underway", lambda *_: begun)
    found = db.sql("SELECT name, evaluating_since FROM millpond.queries ORDER BY name").rows()
    assert found == [("cars", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)), ("fast", None)]


def test_what_only_the_owner_knows_is_null_elsewhere(db: Pond, tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond") as reader:
        feeds = reader.sql("SELECT name, state, accepted, problem FROM millpond.feeds").rows()
        assert feeds == [("r_from_s", None, None, None)]
        assert reader.sql("SELECT owned, written, pipeline FROM millpond.pond").rows() == [(False, True, None)]
        assert len(reader.sql("SELECT * FROM millpond.ticks")) == 0
        assert reader.sql("SELECT sent, frontier FROM millpond.queries WHERE name = 'cars'").rows() == [(2, "25")]


def test_states_of_queries(db: Pond) -> None:
    db.sql("PAUSE CONTINUOUS QUERY cars")
    assert db.sql("SELECT name, state FROM millpond.queries ORDER BY 1").rows() == [
        ("cars", "paused"),
        ("fast", "running"),
    ]


def refused(db: Pond, sql: str) -> str:
    with pytest.raises(millpond.MillpondError) as caught:
        db.sql(sql)
    error = caught.value
    return "|".join(filter(None, (error.primary, error.detail, error.hint)))


ONE_TIME = (
    'system table "millpond.tables" can only be read by a one-time query'
    "|It shows the pond as it is when a statement is planned; no rows arrive in it.|Ask it with SELECT."
)


def test_continuous_queries_cannot_read_them(db: Pond) -> None:
    made = "CREATE CONTINUOUS QUERY q AS SELECT r.vid FROM r [NOW] JOIN millpond.tables t ON t.rows = r.vid SAMPLE REALTIME"
    assert refused(db, made) == ONE_TIME


def test_feeds_cannot_read_them(db: Pond) -> None:
    made = "INSERT INTO r SELECT s.vid, s.seg, s.t FROM s JOIN millpond.tables t ON t.rows = s.vid"
    assert refused(db, made) == ONE_TIME


def test_unknown_names_give_the_nearest(db: Pond) -> None:
    assert refused(db, "SELECT * FROM millpond.querys") == (
        'system table "millpond.querys" does not exist|Did you mean "millpond.queries"?'
    )
    assert refused(db, "DESCRIBE millpond.querys") == (
        'system table "millpond.querys" does not exist|Did you mean "millpond.queries"?'
    )
    assert refused(db, "SELECT nmae FROM millpond.queries") == (
        'column "nmae" does not exist in table "millpond.queries"|Did you mean "name"?'
    )
    assert refused(db, "SELECT * FROM other.queries") == (
        'schema "other" does not exist|Tables of a pond have plain names; those of schema millpond describe the pond.'
    )


def test_they_have_no_windows_and_no_row_numbers(db: Pond) -> None:
    assert refused(db, "SELECT * FROM millpond.tables [ROWS 3]") == (
        '"millpond.tables" has no windows|Only streaming tables have.'
    )
    assert refused(db, "SELECT _seq FROM millpond.pond").startswith('column "_seq" does not exist')


def test_explain_names_them(db: Pond) -> None:
    lines = [row[0] for row in db.sql("EXPLAIN SELECT * FROM millpond.settings AS x")]
    assert lines[1].startswith("x: system table millpond.settings, ")


def test_they_cannot_be_changed(db: Pond) -> None:
    for text in ("DELETE FROM millpond.tables", "INSERT INTO millpond.tables VALUES (1)", "DROP TABLE millpond.tables"):
        with pytest.raises(millpond.MillpondError):
            parse(text)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE `{name}` (a INT)",
        "CREATE TABLE `{name}` AS SELECT 1 AS a",
        "CREATE STREAMING TABLE `{name}` (a INT)",
        "CREATE SOURCE `{name}` (a INT) FROM FILES '/tmp/nowhere'",
        "CREATE CONTINUOUS QUERY `{name}` AS SELECT a FROM s [NOW] SAMPLE REALTIME",
        "CREATE STREAMING VIEW `{name}` AS SELECT a FROM s [NOW] SAMPLE REALTIME",
        "ALTER TABLE s RENAME TO `{name}`",
    ],
)
def test_a_name_with_a_dot_is_refused(db: Pond, sql: str) -> None:
    """It was taken for a system table."""
    db.sql("CREATE STREAMING TABLE IF NOT EXISTS s (a INT)")
    assert refused(db, sql.format(name="millpond.queries")).startswith('name "millpond.queries" has a dot|')
    assert refused(db, "CREATE FUNCTION `a.b` (x INT) RETURNS INT AS PYTHON 'math:floor'").startswith(
        '"a.b" cannot be the name of a function'
    )


def test_a_quoted_name_is_not_that_of_a_system_table(db: Pond) -> None:
    assert refused(db, "DESCRIBE `millpond.queries`").startswith('table "millpond.queries" does not exist')
