"""Reductions by windows: what is read of them, how long they last, and what users are told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import millpond

SELECTED = "SELECT symbol, AVG(price), MAX(size) FROM ticks GROUP BY symbol EVERY INTERVAL '1' HOUR"
EAGER = f"CREATE REDUCTION hourly ON ticks AS {SELECTED}"
LAZY = f"CREATE REDUCTION hourly ON ticks AS {SELECTED} LAZY"
ASKED = (
    "SELECT symbol, COUNT(*) AS n, AVG(price) AS price, MAX(size) AS size FROM ticks{} GROUP BY symbol ORDER BY symbol"
)
START = datetime(2026, 1, 1)


def rows(count: int, seconds: int = 0) -> list[tuple[str, float, int, datetime]]:
    """Ten a minute, from so many seconds after the start."""
    return [
        ("ABC"[i % 3], float(i % 101), i % 7, START + timedelta(seconds=seconds + 6 * i)) for i in range(count)
    ]  # fmt: skip


@pytest.fixture
def db(tmp_path: Path) -> Iterator[millpond.Pond]:
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=1) as db:
        db.sql(
            "CREATE STREAMING TABLE ticks (symbol STRING, price DOUBLE, size INT, t TIMESTAMP) TIMESTAMP BY t AHEAD UNBOUNDED"
        )
        for first in (0, 5400):  # nine hours, and most of one
            db.append("ticks", rows(6000)[first : first + 5400])
            db.archive()
        yield db


def read(db: millpond.Pond, sql: str) -> millpond.Reduction:
    found = db.sql(sql).reduction
    assert found is not None
    return found


def test_windows_are_read_in_place_of_rows(db: millpond.Pond) -> None:
    exact = db.sql(ASKED.format("")).rows()
    db.sql(EAGER)
    db.tick()
    db.append("ticks", rows(50, 36_000))  # of which no window is over
    exact = db.sql(ASKED.format("")).rows()
    found = db.sql(ASKED.format(" REDUCE USING hourly"))
    assert found.rows() == exact
    told = found.reduction
    assert told is not None
    assert told.exact
    assert (told.method, told.interval, told.notes) == ("windows of 1 hour (hourly)", None, ())
    assert (told.rows, told.rows_in_all) == (27 + 600 + 50, 6050)  # windows, the hour that is not over, and the tail
    assert "the answer is exact" in str(told)
    assert "windows of 1 hour (hourly)" in repr(found)


def test_a_lazy_one_computes_a_window_once(db: millpond.Pond) -> None:
    message = db.sql(LAZY).message
    assert message == 'reduction "hourly" created: its windows are kept when they are asked for'
    assert db.sql("SELECT kept_rows, sent_to FROM millpond.reductions").rows() == [(0, None)]
    of_a_part = " REDUCE USING hourly WHERE t < '2026-01-01 02:30:00'"
    assert db.sql(ASKED.format(of_a_part)).rows() == db.sql(ASKED.format(" WHERE t < '2026-01-01 02:30:00'")).rows()
    assert db.sql("SELECT kept_rows, kept_stretches FROM millpond.reductions").rows() == [(6, 1)]
    assert db.sql(ASKED.format(" REDUCE USING hourly")).rows() == db.sql(ASKED.format("")).rows()
    assert db.sql("SELECT kept_rows, kept_stretches FROM millpond.reductions").rows() == [(27, 1)]
    before = read(db, ASKED.format(" REDUCE USING hourly"))
    db.sql("DELETE FROM ticks WHERE symbol = 'A' AND t >= '2026-01-01 03:10:00' AND t < '2026-01-01 03:20:00'")
    assert db.sql("SELECT kept_stretches FROM millpond.reductions").rows() == [(2,)]
    assert db.sql(ASKED.format(" REDUCE USING hourly")).rows() == db.sql(ASKED.format("")).rows()
    assert db.sql("SELECT kept_rows, kept_stretches FROM millpond.reductions").rows() == [(27, 1)]
    assert read(db, ASKED.format(" REDUCE USING hourly")).rows <= before.rows


@pytest.mark.parametrize("create", [EAGER, LAZY])
def test_windows_last(tmp_path: Path, create: str) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql(
            "CREATE STREAMING TABLE ticks (symbol STRING, price DOUBLE, size INT, t TIMESTAMP) TIMESTAMP BY t AHEAD UNBOUNDED"
        )
        db.append("ticks", rows(6000))
        db.sql(create)
        db.tick()
        exact, (before,) = db.sql(ASKED.format("")).rows(), [read(db, ASKED.format(" REDUCE USING hourly"))]
        assert db.sql(ASKED.format(" REDUCE USING hourly")).rows() == exact
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        found = db.sql(ASKED.format(" REDUCE USING hourly"))
        assert found.rows() == exact
        assert found.reduction is not None
        assert found.reduction.rows == before.rows
        assert found.reduction.notes == before.notes


def test_a_process_that_does_not_write_keeps_no_windows(db: millpond.Pond, tmp_path: Path) -> None:
    db.sql(LAZY)
    with millpond.connect(tmp_path / "pond", auto_archive=False) as reader:
        found = reader.sql(ASKED.format(" REDUCE USING hourly"))
        assert found.rows() == db.sql(ASKED.format("")).rows()
        assert found.reduction is not None
        assert "windows that are missing were not kept: this process does not write the pond" in found.reduction.notes
        db.sql(ASKED.format(" REDUCE USING hourly"))  # keeps them
        again = reader.sql(ASKED.format(" REDUCE USING hourly"))
        assert again.rows() == found.rows()
        assert again.reduction is not None
        assert not any("were not kept" in note for note in again.reduction.notes)


@pytest.mark.parametrize("create", [EAGER, LAZY])
def test_windows_outlive_the_rows(tmp_path: Path, create: str) -> None:
    """And what is left of a table's rows is not taken for all of them."""
    with millpond.connect(tmp_path / "pond", auto_archive=False, shards=1) as db:
        db.sql(
            "CREATE STREAMING TABLE ticks (symbol STRING, price DOUBLE, size INT, t TIMESTAMP) TIMESTAMP BY t "
            "RANGE INTERVAL '10' HOUR AHEAD UNBOUNDED"
        )
        db.sql(create)
        db.append("ticks", rows(3000))  # five hours
        db.tick()
        (counted,) = db.sql("SELECT COUNT(*) FROM ticks REDUCE USING hourly").rows()
        assert counted == (3000,)
        db.append("ticks", rows(3000, 4 * 86_400))
        for _ in range(3):
            db.tick()
            db.archive()
        assert db.sql("SELECT COUNT(*) FROM ticks").rows() == [(3000,)]
        found = db.sql("SELECT COUNT(*) FROM ticks REDUCE USING hourly")
        whole_hours = 600 * ((3000 * 6 - 6) // 3600)  # what was over when a lazy one was asked
        assert found.rows() == [(6000 if create == EAGER else 3000 + whole_hours,)]
        told = found.reduction
        assert told is not None
        assert any('are of rows that "ticks" no longer keeps' in note for note in told.notes)
        assert told.exact == (create == EAGER)
        if create == LAZY:
            assert any('are left out as far as "ticks" no longer keeps them' in note for note in told.notes)


def test_as_of_and_explain(db: millpond.Pond) -> None:
    db.sql(EAGER)
    db.tick()
    of_then = " AS OF '2026-01-01 05:30:00'"
    assert db.sql(ASKED.format(" REDUCE USING hourly") + of_then).rows() == db.sql(ASKED.format("") + of_then).rows()
    lines = [line for (line,) in db.sql(f"EXPLAIN ANALYZE {ASKED.format(' REDUCE USING hourly')}").rows()]
    assert "reduction hourly: windows of 1 hour (hourly)" in lines
    assert any(line.startswith("  rows: from ") for line in lines)
    assert sum(line.startswith("read ") for line in lines) == 2


def test_windows_can_be_selected_and_shown(db: millpond.Pond) -> None:
    db.sql(EAGER)
    db.tick()
    columns = ["symbol", "window_start", "rows", "price_count", "price_sum", "size_max", "instant"]
    assert db.sql("SELECT * FROM hourly").columns == columns
    assert len(db.sql("SELECT * FROM hourly")) == 27
    (shown,) = db.sql("SHOW REDUCTIONS").rows()
    selected = "SELECT symbol, AVG(price), MAX(size) FROM ticks GROUP BY symbol"
    assert shown == ("hourly", "ticks", "1 hour", "eager", "symbol", "2026-01-01 09:00:00", None, selected)
    db.sql("DROP REDUCTION hourly")
    assert db.sql("SHOW REDUCTIONS").rows() == []
    assert db.sql("SHOW CONTINUOUS QUERIES").rows() == []
    assert db.sql("DROP REDUCTION IF EXISTS hourly").message == 'there is no reduction "hourly"'
    assert db.sql(EAGER).message == 'reduction "hourly" created: a continuous query keeps its windows'
    assert db.sql(EAGER.replace("REDUCTION", "REDUCTION IF NOT EXISTS")).message == '"hourly" exists already'


def test_a_row_of_an_open_window_is_in_it_when_it_is_sent(db: millpond.Pond) -> None:
    db.sql(EAGER)
    db.tick()
    db.sql("UPDATE ticks SET price = 5000 WHERE t >= '2026-01-01 09:58:00'")
    db.append("ticks", rows(700, 36_000))
    db.tick()
    assert db.sql("SELECT changed_stretches FROM millpond.reductions").rows() == [(0,)]
    assert db.sql(ASKED.format(" REDUCE USING hourly")).rows() == db.sql(ASKED.format("")).rows()


def test_what_windows_do_not_look_at_does_not_change_them(db: millpond.Pond) -> None:
    db.sql(
        "CREATE REDUCTION counts ON ticks AS SELECT symbol, COUNT(*) FROM ticks WHERE price > 3 GROUP BY symbol EVERY INTERVAL '1' HOUR"
    )
    db.tick()
    db.sql("UPDATE ticks SET size = 1 WHERE t < '2026-01-01 04:00:00'")
    assert db.sql("SELECT changed_stretches FROM millpond.reductions").rows() == [(0,)]
    db.sql("UPDATE ticks SET price = 1 WHERE t < '2026-01-01 04:00:00'")
    assert db.sql("SELECT changed_stretches FROM millpond.reductions").rows() == [(1,)]
    asked = "SELECT COUNT(*) FROM ticks{} WHERE price > 3"
    assert db.sql(asked.format(" REDUCE USING counts")).rows() == db.sql(asked.format("")).rows()
    assert db.sql("SELECT changed_stretches FROM millpond.reductions").rows() == [(0,)]


REFUSED_DEFINITIONS = [
    ("SELECT symbol, MEDIAN(price) FROM ticks GROUP BY symbol", "it selects its keys and COUNT, SUM, AVG, MIN and MAX"),
    ("SELECT symbol, COUNT(DISTINCT size) FROM ticks GROUP BY symbol", "it selects its keys and COUNT"),
    ("SELECT t, COUNT(*) FROM ticks GROUP BY t", "it is grouped by time by EVERY alone"),
    ("SELECT size % 2, COUNT(*) FROM ticks GROUP BY size % 2", "its keys are columns, and this is more"),
    (
        "SELECT symbol, COUNT(*) FROM ticks [INTERVAL '1' DAY] GROUP BY symbol",
        "its windows are said by EVERY, not in brackets",
    ),
    ("SELECT symbol, COUNT(*) FROM ticks GROUP BY symbol ORDER BY symbol", "it has ORDER BY"),
    ("SELECT COUNT(*) FROM ticks a JOIN ticks b ON a.size = b.size", "it has a join"),
    ("SELECT symbol, COUNT(*) FROM ticks GROUP BY CUBE (symbol)", "its GROUP BY is more than a list"),
]


@pytest.mark.parametrize(("select", "reason"), REFUSED_DEFINITIONS)
def test_what_cannot_be_a_reduction(db: millpond.Pond, select: str, reason: str) -> None:
    with pytest.raises(millpond.UnsupportedSql) as error:
        db.sql(f"CREATE REDUCTION r ON ticks AS {select} EVERY INTERVAL '1' HOUR")
    assert error.value.primary.startswith(f"this cannot be a reduction: {reason}")
    assert (
        error.value.hint
        == "Write SELECT key, ..., AVG(x), ... FROM t [WHERE ...] GROUP BY key, ... EVERY INTERVAL '1' HOUR."
    )


MESSAGES = [
    ("CREATE REDUCTION r ON ticks AS SELECT COUNT(*) FROM ticks", "expected EVERY at the end of a reduction"),
    (f"CREATE REDUCTION r ON ticks AS {SELECTED} SOON", 'expected LAZY or the end of the statement, but found "SOON"'),
    ("CREATE REDUCTION r ON ticks AS SELECT COUNT(*) FROM ticks EVERY INTERVAL 0", "the windows of a reduction are longer than nothing"),
    ("CREATE REDUCTION r ON ticks AS SELECT COUNT(*) FROM others EVERY INTERVAL 5",
     'reduction "r" is on "ticks" and selects from another table'),
    ("CREATE REDUCTION r ON late AS SELECT COUNT(*) FROM late EVERY INTERVAL 5", 'table "late" keeps late rows and cannot have a reduction'),
    (EAGER.replace("hourly", "by_age"), 'reduction "by_age" exists already'),
    (EAGER, 'reduction "hourly" exists already'),
    (LAZY.replace("hourly", "lazy"), 'reduction "lazy" exists already'),
    ("CREATE STANDARD TABLE lazy (a INT)", 'reduction "lazy" exists already'),
    ("DROP REDUCTION nothing", 'reduction "nothing" does not exist'),
    ("DROP STREAMING TABLE ticks", 'reduction "hourly" is of "ticks"'),
    ("ALTER STREAMING TABLE ticks RENAME TO trades", 'reduction "hourly" is of "ticks"'),
    ("ALTER STREAMING TABLE ticks SET (late = 'keep')", 'table "ticks" has reduction "hourly" and cannot keep late rows'),
    ("DROP CONTINUOUS QUERY hourly", 'continuous query "hourly" belongs to reduction "hourly" and cannot be changed'),
    ("PAUSE CONTINUOUS QUERY hourly", 'continuous query "hourly" belongs to reduction "hourly" and cannot be changed'),
    ("ALTER CONTINUOUS QUERY hourly SET RANGE INTERVAL '1' DAY",
     'continuous query "hourly" belongs to reduction "hourly" and cannot be changed'),
    ("SELECT COUNT(*) FROM ticks REDUCE USING hourly(3)", 'reduction "hourly" has windows and takes no arguments'),
    ("SELECT COUNT(*) FROM ticks REDUCE USING by_age", 'reduction "by_age" takes its arguments in parentheses'),
    ("SELECT COUNT(*) FROM ticks REDUCE USING hurly", 'reduction "hurly" does not exist'),
    ("SELECT COUNT(*) FROM ticks REDUCE USING hourly WITHIN 3 PERCENT", "a query has REDUCE or WITHIN, not both"),
    ("SELECT COUNT(*) FROM others REDUCE USING hourly", 'reduction "hourly" is of "ticks", not of "others"'),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "message"), MESSAGES)
def test_messages(db: millpond.Pond, sql: str, message: str) -> None:
    db.sql("CREATE STREAMING TABLE late (a INT, t BIGINT) TIMESTAMP BY t WITH (late = 'keep')")
    db.sql("CREATE STREAMING TABLE others (a INT, t BIGINT) TIMESTAMP BY t")
    db.sql(EAGER)
    db.sql(LAZY.replace("hourly", "lazy"))
    with pytest.raises(millpond.MillpondError) as error:
        db.sql(sql)
    assert error.value.primary == message
    assert error.value.detail or error.value.hint or error.value.span


def test_a_function_cannot_have_its_name(db: millpond.Pond) -> None:
    db.sql(LAZY)
    with pytest.raises(millpond.CatalogError, match='reduction "hourly" exists already'):
        db.create_reduction("hourly", lambda _portion: 1.0)


REFUSED_QUESTIONS = [
    ("SELECT price FROM ticks REDUCE USING hourly", "it asks for rows, and windows hold aggregates"),
    ("SELECT SUM(size) FROM ticks REDUCE USING hourly", "it keeps nothing that SUM(size) is made of"),
    ("SELECT COUNT(DISTINCT symbol) FROM ticks REDUCE USING hourly", "it keeps nothing that COUNT(DISTINCT symbol) is made of"),
    ("SELECT COUNT(*) FILTER (WHERE symbol = 'A') FROM ticks REDUCE USING hourly",
     "it keeps nothing that COUNT(*) FILTER(WHERE symbol = 'A') is made of"),
    ("SELECT size, COUNT(*) FROM ticks REDUCE USING hourly GROUP BY size", "it is grouped by size, which is not a key of it"),
    ("SELECT COUNT(*) FROM ticks REDUCE USING hourly WHERE size > 3", "it has a condition on size, which is not a key of it"),
    ("SELECT minute(t), COUNT(*) FROM ticks REDUCE USING hourly GROUP BY minute(t)",
     "it is grouped by MINUTE(t), which may change within a window"),
    ("SELECT window.start, COUNT(*) FROM ticks REDUCE USING hourly GROUP BY window(t, '90 minutes')", "it is grouped by "),
    ("SELECT COUNT(*) FROM ticks REDUCE USING hourly WHERE t <> '2026-01-01'", "it has a condition on t <> "),
    ("SELECT COUNT(*) FROM ticks [INTERVAL '1' DAY] REDUCE USING hourly", "its table has a window in brackets"),
    ("SELECT COUNT(*) OVER () FROM ticks REDUCE USING hourly", "it has functions OVER a window"),
    ("SELECT COUNT(*) FROM ticks REDUCE USING hourly a JOIN ticks b ON a.size = b.size", "it has a join"),
    ("SELECT COUNT(*) FROM ticks REDUCE USING dear", "it has only rows with price > 50, and the query asks for others"),
    ("SELECT symbol, COUNT(*) FROM ticks REDUCE USING hourly GROUP BY CUBE(symbol)", "its GROUP BY is more than a list"),
    ("SELECT COUNT(*), twice(1) FROM ticks REDUCE USING hourly", "it calls a function in Python: twice"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "reason"), REFUSED_QUESTIONS)
def test_what_windows_cannot_answer(db: millpond.Pond, sql: str, reason: str) -> None:
    db.sql(LAZY)
    db.sql("CREATE REDUCTION dear ON ticks AS SELECT COUNT(*) FROM ticks WHERE price > 50 EVERY INTERVAL '1' HOUR LAZY")
    db.create_function("twice", lambda x: 2 * x, arguments=["INT"], returns="INT")
    with pytest.raises(millpond.UnsupportedSql) as error:
        db.sql(sql)
    name = "dear" if "dear" in sql else "hourly"
    assert error.value.primary.startswith(f'reduction "{name}" cannot answer this: {reason}')
    assert error.value.hint


def test_time_is_compared_with_times(tmp_path: Path) -> None:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as db:
        db.sql("CREATE STREAMING TABLE n (a INT, t BIGINT) TIMESTAMP BY t")
        db.append("n", [(i % 3, i) for i in range(100)])
        db.sql("CREATE REDUCTION tens ON n AS SELECT a, COUNT(*) FROM n GROUP BY a EVERY INTERVAL 10 LAZY")
        for condition in (
            "t >= 9.5 AND t < 30.5",
            "t = 7",
            "35 > t",
            "t > CAST(NULL AS BIGINT)",
            "t BETWEEN 10 AND 29",
            "t > NOW() - 30",
            "t <= 1e1",
        ):
            asked = f"SELECT a, COUNT(*) FROM n{{}} WHERE {condition} GROUP BY a ORDER BY a"
            assert db.sql(asked.format(" REDUCE USING tens")).rows() == db.sql(asked.format("")).rows(), condition
        with pytest.raises(millpond.UnsupportedSql) as error:
            db.sql("SELECT COUNT(*) FROM n REDUCE USING tens WHERE t > 'five'")
        assert (
            error.value.primary
            == 'reduction "tens" cannot answer this: time is compared with what is no time of its own'
        )
