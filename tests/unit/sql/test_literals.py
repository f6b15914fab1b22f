"""Long lists of literals mean the same folded and not, and cost no tree."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

import millpond
from millpond.sql import literals, statements
from millpond.sql.literals import FEWEST, LiteralRows, each_literal, list_of
from millpond.sql.parser import parse

INTS = ", ".join(map(str, range(FEWEST)))
TEXTS = ", ".join(f"'v{i}'" for i in range(FEWEST))
ROWS = ", ".join(f"({i}, 'v{i}')" for i in range(FEWEST))


def unfolded(sql: str, monkeypatch: pytest.MonkeyPatch) -> list[statements.Statement]:
    with monkeypatch.context() as patch:
        patch.setattr("millpond.sql.parser.fold", lambda _: None)
        return parse(sql)


def nodes(sql: str) -> int:
    [statement] = parse(sql)
    query: exp.Expr = statement.query  # type: ignore[attr-defined]
    return sum(1 for _ in query.walk())


@pytest.mark.parametrize(
    "values", [INTS, TEXTS, INTS.replace(", ", "\n,"), TEXTS.replace("v7'", "it''s'"), f"-5, {INTS}"]
)
def test_a_long_in_is_one_node(values: str) -> None:
    sql = f"SELECT a FROM t WHERE a IN ({values}) AND b = 1"
    assert nodes(sql) == nodes("SELECT a FROM t WHERE a IN (1) AND b = 1")
    [statement] = parse(sql)
    assert isinstance(statement, statements.Select)
    assert statement.query.find(exp.In) is not None
    assert values in statement.query.sql("spark")


def test_the_size_of_a_tree_does_not_grow_with_the_list() -> None:
    short, long = (", ".join(map(str, range(n))) for n in (FEWEST, 50 * FEWEST))
    assert nodes(f"SELECT a FROM t WHERE a IN ({short})") == nodes(f"SELECT a FROM t WHERE a IN ({long})")
    short, long = (", ".join(f"({i}, 'x')" for i in range(n)) for n in (FEWEST, 50 * FEWEST))
    assert nodes(f"INSERT INTO t VALUES {short}") == nodes(f"INSERT INTO t VALUES {long}")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT 'a IN ({INTS})' AS a",  # in a text
        f'SELECT "a IN ({INTS})" AS a',
        f"SELECT a AS `b IN ({INTS})` FROM t",  # in a name
        f"SELECT 1 AS a -- a IN ({INTS})",  # in a comment
        f"SELECT 1 AS a /* a IN ({INTS}) */",
        f"SELECT r'\\' AS a, 'x IN ({INTS}) AS b, r' AS c",  # a backslash that escapes nothing
        f"SELECT a FROM t WHERE a IN ({INTS}, b)",  # not only literals
        f"SELECT a FROM t WHERE a IN ({INTS}, 1.5)",
        f"SELECT a FROM t WHERE a IN ({INTS}, '1')",
        f"SELECT a FROM t WHERE a IN ({INTS}, NULL)",
        f"SELECT a FROM t WHERE a IN ({INTS}, 9223372036854775808)",
        f"SELECT a FROM t WHERE a IN ({TEXTS}, 'a\\'b')",
        f"SELECT a FROM t WHERE a IN ({TEXTS}, 'a' 'b')",
        f"INSERT INTO t VALUES {ROWS}, (a, 'b')",
        f"INSERT INTO t VALUES {ROWS}, (1, 'b', 2)",
        f"INSERT INTO t VALUES {ROWS}, (1 + 1, 'b')",
        f"INSERT INTO t VALUES {ROWS}, ('x', 1)",  # a common type is not ours to judge
        f"SELECT * FROM VALUES {ROWS}, (a, 'b') AS v(a, b)",
        f"SELECT * FROM VALUES {ROWS}, ('x', 1) AS v(a, b)",
        f"SELECT * FROM VALUES {ROWS}, (1, 'a\x1fb') AS v(a, b)",
        f"SELECT a FROM t WHERE {' OR '.join(f'a = {i}' for i in range(FEWEST + 1))}",  # one too few between two ORs
        f"SELECT a FROM t WHERE {' AND '.join(f'a = {i}' for i in range(2 * FEWEST))}",
        f"SELECT a FROM t WHERE {' OR '.join(f'a + a = {i}' for i in range(2 * FEWEST))}",
        f"SELECT a FROM t WHERE {' OR '.join(f'a = {i} + 1' for i in range(2 * FEWEST))}",
        f"SELECT a FROM t WHERE {' OR '.join(f'a = {i} AND b = 1' for i in range(2 * FEWEST))}",
        f"INSERT INTO t VALUES {ROWS}, (1, DATE '2026-02-30')",
    ],
)
def test_what_is_not_a_list_of_literals_is_not_folded(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def trees(found: list[statements.Statement]) -> list[exp.Expr]:
        return [statement.query for statement in found]  # type: ignore[attr-defined]

    assert trees(parse(sql)) == trees(unfolded(sql, monkeypatch))


@pytest.mark.parametrize("name", ["a", "t.a", "`a b`", "A"])
@pytest.mark.parametrize("values", [[str(i) for i in range(FEWEST + 2)], [f"'v{i}'" for i in range(FEWEST + 2)]])
def test_a_long_chain_of_equalities_is_an_in(name: str, values: list[str]) -> None:
    first, *middle, last = values
    chain = " OR ".join(f"{name} = {value}" for value in values)
    instead = f"{name} = {first} OR {name} IN ({', '.join(middle)}) OR {name} = {last}"
    for around in (
        "SELECT a FROM t WHERE {}",
        "SELECT a FROM t WHERE b AND {} AND c",
        "SELECT NOT {} AND c AS x FROM t",
    ):
        [found], [expected] = parse(around.format(chain)), parse(around.format(instead))
        assert isinstance(found, statements.Select)
        assert isinstance(expected, statements.Select)
        assert found.query == expected.query


@pytest.mark.parametrize(
    "sql",
    [
        "VALUES {}",
        "SELECT * FROM VALUES {}",
        "SELECT * FROM (VALUES {}) AS v(a, b)",
        "SELECT a FROM VALUES {} AS v(a, b)",
    ],
)
def test_the_rows_of_a_long_values_cost_no_tree(sql: str) -> None:
    long = ", ".join(f"({i}, 'v{i}')" for i in range(50 * FEWEST))
    assert nodes(sql.format(long)) == nodes(sql.format(ROWS))
    assert nodes(sql.format(long)) < 30


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a FROM t WHERE a IN ({INTS}",
        f"SELECT a FROM t WHERE a IN ({INTS}))",
        f"SELECT a FRM t WHERE a IN ({INTS}) AND AND b",
        f"INSERT INTO t VALUES {ROWS} x y",
        f"INSERT INTO t VALUES {ROWS},",
        f"SELECT a FROM t WHERE a IN ({INTS}); SELEC 1",
    ],
)
def test_errors_are_those_of_the_whole_text(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(millpond.SqlError) as folded:
        parse(sql)
    with pytest.raises(millpond.SqlError) as whole:
        unfolded(sql, monkeypatch)
    assert str(folded.value) == str(whole.value)
    assert folded.value.span == whole.value.span


def test_a_mark_of_ones_own_is_nothing_special() -> None:
    [statement] = parse(f"SELECT '\ue000' AS a, b FROM t WHERE b IN ({INTS})")
    assert isinstance(statement, statements.Select)
    assert statement.query.expressions[0].this.this == "\ue000"


def test_a_pivot_over_a_long_list_is_read_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    sql = f"SELECT * FROM t PIVOT (SUM(a) FOR b IN ({INTS}))"
    [one], [other] = parse(sql), unfolded(sql, monkeypatch)
    assert isinstance(one, statements.Select)
    assert isinstance(other, statements.Select)
    assert one.query == other.query


def test_places_after_a_list_are_right() -> None:
    sql = f"SELECT a FROM t WHERE a IN ({INTS}) AND nowhere = 1"
    [statement] = parse(sql)
    assert isinstance(statement, statements.Select)
    column = next(c for c in statement.query.find_all(exp.Column) if c.name == "nowhere")
    assert sql[column.this.meta["start"] : column.this.meta["end"] + 1] == "nowhere"


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=FEWEST, max_size=FEWEST + 5))
@settings(max_examples=20, deadline=None)
def test_numbers_come_out_as_they_went_in(values: list[int]) -> None:
    [statement] = parse(f"SELECT a FROM t WHERE a IN ({','.join(map(str, values))})")
    assert isinstance(statement, statements.Select)
    node = statement.query.find(exp.In)
    assert node is not None
    folded = list_of(node)
    assert folded is not None
    assert literals.values_of(folded) == values
    assert len(each_literal(node)) == len(values)


@given(st.lists(st.text("ab',;()- \n\x1f\u00e9"), min_size=FEWEST, max_size=FEWEST + 5))
@settings(max_examples=20, deadline=None)
def test_texts_come_out_as_they_went_in(values: list[str]) -> None:
    listed = ",".join("'" + v.replace("'", "''") + "'" for v in values)
    [statement] = parse(f"SELECT a FROM t WHERE a IN ({listed})")
    assert isinstance(statement, statements.Select)
    node = statement.query.find(exp.In)
    assert node is not None
    folded = list_of(node)
    assert folded is not None
    assert literals.values_of(folded) == values
    assert [each.this for each in each_literal(node)] == values


def test_rows_come_out_column_by_column() -> None:
    [statement] = parse(f"INSERT INTO t (a, b) VALUES {ROWS}, (-7, null), (3000000000, 'it''s')")
    assert isinstance(statement, statements.Insert)
    assert isinstance(statement.rows, LiteralRows)
    assert statement.rows.texts(0)[-2:] == ["-7", "3000000000"]
    assert statement.rows.texts(1)[-2:] == [None, "it's"]
    assert statement.rows.sample().sql("spark").count("(") < 10


def test_several_statements_are_folded_each() -> None:
    found = parse(f"INSERT INTO t VALUES {ROWS}; INSERT INTO t VALUES {ROWS}; SELECT 1 AS a")
    assert [type(s).__name__ for s in found] == ["Insert", "Insert", "Select"]
    assert all(isinstance(s, statements.Insert) and s.rows is not None for s in found[:2])


# -- the same answers ---------------------------------------------------------------------------------------------------


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        pond.sql(
            "CREATE TABLE t (a INT, b STRING, c DOUBLE, d DECIMAL(20, 4), e DATE, f TIMESTAMP, g BOOLEAN, h BIGINT)"
        )
        yield pond


COLUMNS = {
    "a": ["1", "-2147483647", "NULL", "2147483647"],
    "b": ["'x'", "''", "NULL", "'it''s'", "'a, (b)'"],
    "c": ["1.5", "-0.25", "NULL", "3", "12345.678"],
    "d": ["1.5", "NULL", "-12345678901.1234", "0.0001"],
    "e": ["DATE '2026-01-31'", "NULL", "date'1969-12-31'"],
    "f": ["TIMESTAMP '2026-01-31 12:00:00.5'", "NULL", "TIMESTAMP'1969-12-31 23:59:59'"],
    "g": ["TRUE", "false", "NULL"],
    "h": ["1", "3000000000", "-999999999999999999", "NULL"],
}


def test_a_long_insert_inserts_what_short_ones_do(db: millpond.Pond) -> None:
    rows = [[values[i % len(values)] for values in COLUMNS.values()] for i in range(2 * FEWEST)]
    listed = [f"({', '.join(row)})" for row in rows]
    db.sql(f"INSERT INTO t VALUES {', '.join(listed)}")
    long = db.sql("SELECT * FROM t").rows()
    db.sql("DELETE FROM t")
    for part in range(0, len(listed), 20):
        db.sql(f"INSERT INTO t VALUES {', '.join(listed[part : part + 20])}")
    assert sorted(long, key=repr) == sorted(db.sql("SELECT * FROM t").rows(), key=repr)
    assert len(long) == 2 * FEWEST
    assert long[0] == (1, "x", 1.5, Decimal("1.5000"), dt.date(2026, 1, 31),
                       dt.datetime(2026, 1, 31, 12, 0, 0, 500000, tzinfo=dt.UTC), True, 1)  # fmt: skip


def test_a_long_values_gives_what_short_ones_do(tmp_path: Path) -> None:
    rows = [f"({', '.join(values[i % len(values)] for values in COLUMNS.values())})" for i in range(2 * FEWEST)]
    names = ", ".join(COLUMNS)
    parts = [f"SELECT * FROM VALUES {', '.join(rows[i : i + 20])} AS v({names})" for i in range(0, len(rows), 20)]
    with millpond.connect(tmp_path / "pond", engine="duckdb", auto_archive=False) as pond:
        long = pond.sql(f"SELECT * FROM VALUES {', '.join(rows)} AS v({names})")
        short = pond.sql(" UNION ALL ".join(parts))
        assert long.rows() == short.rows()
        assert long.arrow().schema == short.arrow().schema
        assert pond.sql(f"SELECT count(*) AS n FROM VALUES {', '.join(rows)}").rows() == [(len(rows),)]
        joined = f"SELECT v.a FROM VALUES {', '.join(rows)} AS v({names}) JOIN (VALUES (1)) AS w(a) ON v.a = w.a"
        assert set(pond.sql(joined).rows()) == {(1,)}


def test_a_long_values_in_other_statements(db: millpond.Pond) -> None:
    rows = ", ".join(f"({i}, 'v{i}')" for i in range(3 * FEWEST))
    db.sql(f"INSERT INTO t (a, b) SELECT * FROM VALUES {rows} AS v(a, b) WHERE a < 5")
    db.sql(f"CREATE TABLE u AS SELECT * FROM VALUES {rows} AS v(a, b)")
    assert db.sql("SELECT count(*) AS n FROM t JOIN u ON t.a = u.a AND t.b = u.b").rows() == [(5,)]
    nulls = ", ".join(["(1, NULL)"] * FEWEST)
    db.sql(f"INSERT INTO t (a, f) SELECT * FROM VALUES {nulls} AS v(a, b)")
    assert db.sql("SELECT count(*) AS n FROM t").rows() == [(5 + FEWEST,)]


def test_a_continuous_query_with_a_long_values(db: millpond.Pond) -> None:
    rows = ", ".join(f"({i}, 'v{i}')" for i in range(FEWEST))
    db.sql("CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t")
    query = f"SELECT s.v, n.b FROM s [NOW] JOIN (SELECT * FROM VALUES {rows} AS w(a, b)) n ON n.a = s.v"
    db.sql(f"CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS {query} SAMPLE REALTIME")
    db.append("s", [(7, 1), (1_000_000, 1), (8, 2)])
    db.advance("s", 10)
    db.tick()
    assert db.sql("SELECT v, b FROM q ORDER BY v").rows() == [(7, "v7"), (8, "v8")]


@pytest.mark.parametrize(
    ("column", "value"), [("a", "'no number'"), ("a", "3000000000"), ("a", "1.5"), ("e", "'nonsense'")]
)
def test_a_long_insert_refuses_what_short_ones_refuse(db: millpond.Pond, column: str, value: str) -> None:
    errors = []
    for count in (3, 2 * FEWEST):
        with pytest.raises(millpond.MillpondError) as caught:
            db.sql(f"INSERT INTO t ({column}) VALUES {', '.join([f'({value})'] * count)}")
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1])
    assert errors[0].primary == errors[1].primary


def test_a_column_of_nulls_takes_the_type_of_its_column(db: millpond.Pond) -> None:
    db.sql(f"INSERT INTO t (a, f) VALUES {', '.join(['(1, NULL)'] * FEWEST)}")
    assert db.sql("SELECT count(*) AS n, count(f) AS f FROM t").rows() == [(FEWEST, 0)]


def test_too_many_values_are_told(db: millpond.Pond) -> None:
    with pytest.raises(millpond.SqlError, match="2 values are offered for 1 column"):
        db.sql(f"INSERT INTO t (a) VALUES {', '.join(['(1, 2)'] * FEWEST)}")


def test_bad_rows_of_a_long_insert_are_rejected_one_by_one(db: millpond.Pond) -> None:
    db.sql("CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t")
    rows = [f"({3_000_000_000 if i == 5 else i}, {i})" for i in range(FEWEST)]
    with pytest.warns(millpond.RowsRejected):
        told = db.sql(f"INSERT INTO s VALUES {', '.join(rows)}").message
    assert told.startswith(f"{FEWEST - 1} rows inserted, 1 rejected")


@pytest.mark.parametrize("count", [FEWEST + 10, 1500])  # the second is one text to DuckDB
@pytest.mark.parametrize("negated", ["", "NOT "])
def test_a_long_in_finds_what_many_comparisons_do(db: millpond.Pond, count: int, negated: str) -> None:
    db.sql("INSERT INTO t (a, b) VALUES (-5, 'v-5'), (0, 'v0'), (109, 'v109'), (1700, 'v1700'), (NULL, NULL)")
    db.sql("UPDATE t SET c = a, d = a, h = a")
    numbers = ", ".join(map(str, range(count)))
    texts = ", ".join(f"'v{i}'" for i in range(count))
    expected = [r for (r,) in db.sql(f"SELECT b FROM t WHERE {negated}(a >= 0 AND a < {count})").rows()]
    for column, listed in (("a", numbers), ("h", numbers), ("c", numbers), ("d", numbers), ("b", texts)):
        found = db.sql(f"SELECT b FROM t WHERE {column} {negated}IN ({listed})").rows()
        assert [r for (r,) in found] == expected, column
    assert db.sql(f"SELECT a {negated}IN ({numbers}) AS x FROM t WHERE a IS NULL").rows() == [(None,)]


def test_a_text_with_the_separator_is_found(db: millpond.Pond) -> None:
    db.sql("INSERT INTO t (b) VALUES ('a\x1fb'), ('a')")
    texts = ", ".join([*(f"'v{i}'" for i in range(1500)), "'a\x1fb'"])
    assert db.sql(f"SELECT b FROM t WHERE b IN ({texts})").rows() == [("a\x1fb",)]


def test_a_long_in_of_a_streaming_table_uses_the_index(db: millpond.Pond) -> None:
    db.sql("CREATE STREAMING TABLE s (v INT, t BIGINT) TIMESTAMP BY t")
    db.sql("CREATE INDEX ON s (v)")
    db.append("s", [(i, i) for i in range(1000)])
    db.archive()
    numbers = ", ".join(map(str, range(5000, 5200)))
    assert db.sql(f"SELECT * FROM s WHERE v IN ({numbers}, 7)").rows() == [(7, 7)]
    plan = "\n".join(line for (line,) in db.sql(f"EXPLAIN SELECT * FROM s WHERE v IN ({numbers})").rows())
    assert "0 of 1 file " in plan


def test_a_continuous_query_with_a_long_in(db: millpond.Pond) -> None:
    db.sql("CREATE STREAMING TABLE s (v INT, w STRING, t BIGINT) TIMESTAMP BY t")
    numbers = ", ".join(map(str, range(0, 400, 2)))
    texts = ", ".join(f"'w{i}'" for i in range(0, 400, 2))
    for name, condition in (("q", f"v IN ({numbers})"), ("n", f"v NOT IN ({numbers})"), ("w", f"w IN ({texts})")):
        db.sql(
            f"CREATE CONTINUOUS QUERY {name} AS SELECT ISTREAM v FROM s [NOW] WHERE {condition} SAMPLE INTERVAL '1' SECOND"
        )
    db.append("s", [(i, f"w{i}", i) for i in range(10)])
    db.advance("s", 20)
    db.tick()
    found = {name: [row[0] for row in db.resume(name).fetch()] for name in "qnw"}
    assert found == {"q": [0, 2, 4, 6, 8], "n": [1, 3, 5, 7, 9], "w": [0, 2, 4, 6, 8]}
