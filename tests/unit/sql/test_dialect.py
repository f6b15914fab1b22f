"""Windows behind table names, places of nodes, and sqlglot's errors in our words."""

from __future__ import annotations

import copy
import logging
import pickle
from datetime import timedelta

import pytest
from sqlglot import exp, parse_one

from millpond.errors import Span, SqlError, SqlSyntaxError, UnsupportedSql
from millpond.sql.dialect import WINDOW, WINDOW_SPAN, Millpond, read_tree, span_of, tokenize
from millpond.windows.base import Window
from millpond.windows.interval import IntervalWindow
from millpond.windows.landmark import LandmarkWindow
from millpond.windows.newest import RowsWindow
from millpond.windows.now import NowWindow
from millpond.windows.since import SinceWindow
from millpond.windows.unbounded import UnboundedWindow

MINUTE = timedelta(minutes=1)


def tree(sql: str) -> exp.Expression:
    return read_tree(sql, tokenize(sql))


def windows(sql: str) -> dict[str, Window | None]:
    """The window of each table of a query, by alias or name."""
    return {t.alias_or_name: t.meta.get(WINDOW) for t in tree(sql).find_all(exp.Table)}


def message(sql: str) -> str:
    with pytest.raises(SqlError) as caught:
        tree(sql)
    assert caught.value.sql == sql
    return str(caught.value)


def slices(sql: str, kind: type[exp.Expr]) -> list[str]:
    """What each node of a kind was read from, in order of place."""
    spans = [span_of(node) for node in tree(sql).find_all(kind)]
    return [sql[s.start : s.end] for s in sorted((s for s in spans if s), key=lambda s: s.start)]


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("[INTERVAL '1' MINUTE]", IntervalWindow(MINUTE)),
        ("[INTERVAL 1 MINUTE]", IntervalWindow(MINUTE)),
        ("[INTERVAL '1 minute']", IntervalWindow(MINUTE)),
        ("[interval 3]", IntervalWindow(timedelta(seconds=3))),
        ("[INTERVAL '3']", IntervalWindow(timedelta(seconds=3))),
        ("[INTERVAL '1.5' seconds]", IntervalWindow(timedelta(seconds=1.5))),
        ("[ROWS 4]", RowsWindow(rows=4)),
        ("[rows 4]", RowsWindow(rows=4)),
        ("[vid ROWS 1]", RowsWindow(rows=1, columns=("vid",))),
        ("[`my vid`, xway ROWS 4]", RowsWindow(rows=4, columns=("my vid", "xway"))),
        (
            "[a, b ROWS 4 WITHIN INTERVAL '5' MINUTE]",
            RowsWindow(rows=4, columns=("a", "b"), interval=5 * MINUTE),
        ),
        ("[LANDMARK DAY]", LandmarkWindow(timedelta(days=1))),
        ("[landmark hour]", LandmarkWindow(timedelta(hours=1))),
        ("[LANDMARK INTERVAL '15' MINUTE]", LandmarkWindow(15 * MINUTE)),
        ("[NOW]", NowWindow()),
        ("[SINCE 600]", SinceWindow(600)),
        ("[SINCE -5]", SinceWindow(-5)),
        ("[SINCE '2026-01-01 00:00:00']", SinceWindow("2026-01-01 00:00:00")),
        ("[UNBOUNDED]", UnboundedWindow()),
        ("[ -- the last\n ROWS /* four */ 4 ]", RowsWindow(rows=4)),
        # a column may be called like a keyword
        ("[now ROWS 1]", RowsWindow(rows=1, columns=("now",))),
        ("[rows ROWS 1]", RowsWindow(rows=1, columns=("rows",))),
        ("[rows, interval ROWS 1]", RowsWindow(rows=1, columns=("rows", "interval"))),
        ("[interval, since ROWS 1]", RowsWindow(rows=1, columns=("interval", "since"))),
        ("[since ROWS 1]", RowsWindow(rows=1, columns=("since",))),
        ("[landmark, day ROWS 1]", RowsWindow(rows=1, columns=("landmark", "day"))),
        ("[`ROWS` ROWS 1]", RowsWindow(rows=1, columns=("ROWS",))),
    ],
)
def test_every_window(written: str, window: Window) -> None:
    assert windows(f"SELECT * FROM p {written}") == {"p": window}
    assert windows(f"SELECT * FROM p{written} AS s") == {"s": window}
    assert windows(f"SELECT * FROM p {written} s WHERE s.a = 1") == {"s": window}


def test_windows_in_every_position() -> None:
    one, two = RowsWindow(rows=1), RowsWindow(rows=2)
    assert windows("SELECT * FROM a [ROWS 1] JOIN b [ROWS 2] ON a.x = b.x") == {"a": one, "b": two}
    assert windows("SELECT * FROM a [ROWS 1] x, b [ROWS 2] AS y") == {"x": one, "y": two}
    assert windows("SELECT * FROM a LEFT JOIN b [ROWS 2] y USING (x)") == {"a": None, "y": two}
    assert windows("SELECT * FROM (a [ROWS 1] CROSS JOIN b [ROWS 2])") == {"a": one, "b": two}
    assert windows("SELECT * FROM (SELECT * FROM a [ROWS 1]) AS s") == {"a": one}
    assert windows("SELECT * FROM a [ROWS 1] UNION ALL SELECT * FROM b [ROWS 2]") == {"a": one, "b": two}
    assert windows("WITH a AS (SELECT * FROM b [ROWS 2]) SELECT * FROM a [ROWS 1]") == {"b": two, "a": one}
    assert windows("SELECT * FROM c WHERE x IN (SELECT x FROM a [ROWS 1])") == {"c": None, "a": one}
    assert windows("SELECT * FROM a [ROWS 1] LATERAL VIEW explode(xs) e AS x") == {"a": one}
    assert windows("SELECT * FROM a [ROWS 1] TABLESAMPLE (10 PERCENT) AS x") == {"x": one}
    assert windows("SELECT * FROM `a b` [ROWS 1]") == {"a b": one}
    assert windows("SELECT * FROM stream [ROWS 1]") == {"stream": one}


def test_window_before_a_column_alias_list() -> None:
    table = tree("SELECT s.b FROM p [ROWS 1] AS s (a, b)").find(exp.Table)
    assert table is not None
    assert table.meta[WINDOW] == RowsWindow(rows=1)
    assert table.alias == "s"
    assert table.alias_column_names == ["a", "b"]


def test_subscripts_stay_subscripts() -> None:
    read = tree("SELECT a[0], m['k'], f(x)[1], t.a[i + 1] FROM t [ROWS 1] WHERE a[0] = 1 AND b[c[2]] > 0 ORDER BY a[3]")
    assert len(list(read.find_all(exp.Bracket))) == 8
    assert [t.meta[WINDOW] for t in read.find_all(exp.Table)] == [RowsWindow(rows=1)]


def test_window_survives_copies() -> None:
    read = tree("SELECT * FROM p [vid ROWS 4 WITHIN INTERVAL '5' MINUTE] AS s")
    window = RowsWindow(rows=4, columns=("vid",), interval=5 * MINUTE)
    transformed = read.transform(lambda node: exp.column("z") if isinstance(node, exp.Star) else node)
    for again in (read.copy(), copy.deepcopy(read), pickle.loads(pickle.dumps(read)), transformed):
        table = again.find(exp.Table)
        assert table is not None
        assert table is not read.find(exp.Table)
        assert table.meta[WINDOW] == window
        assert table.meta[WINDOW_SPAN] == read.find(exp.Table).meta[WINDOW_SPAN]  # type: ignore[union-attr]


def test_place_of_a_window() -> None:
    sql = "SELECT 1;\nSELECT *\nFROM p [vid ROWS 4] AS s"
    tokens = tokenize(sql)
    table = read_tree(sql, tokens[3:]).find(exp.Table)
    assert table is not None
    span = table.meta[WINDOW_SPAN]
    assert sql[span.start : span.end] == "[vid ROWS 4]"


def test_dialect_is_known_to_sqlglot_by_name() -> None:
    read = parse_one("SELECT * FROM p [NOW]", read="millpond")
    assert read.sql("millpond") == read.sql(Millpond) == "SELECT * FROM p"  # windows are not written


def test_valid_overlaps_period() -> None:
    overlaps = tree("SELECT * FROM s WHERE VALID(s) OVERLAPS PERIOD(600, 1200)").find(exp.Overlaps)
    assert overlaps is not None
    assert isinstance(overlaps.this, exp.Anonymous)
    assert isinstance(overlaps.expression, exp.Anonymous)
    assert (overlaps.this.name, overlaps.expression.name) == ("VALID", "PERIOD")
    assert [e.name for e in overlaps.expression.expressions] == ["600", "1200"]


@pytest.mark.parametrize("call", ["ARRAY(NULL, b)", "STRUCT(NULL, b)", "MAP(NULL, b)"])
def test_null_as_the_first_of_an_array_is_no_type(call: str) -> None:
    """sqlglot took `array(NULL` for a type, and then missed its end."""
    assert tree(f"SELECT {call} FROM t").selects[0].find(exp.Null) is not None


@pytest.mark.parametrize("word", ["UNION", "UNION ALL", "EXCEPT", "INTERSECT"])
def test_a_set_operation_behind_with_cube_is_no_call(word: str) -> None:
    read = tree(f"SELECT count(*) FROM t GROUP BY a WITH CUBE {word} (SELECT 1)")
    assert isinstance(read, exp.SetOperation)


def test_unknown_functions_are_left_alone() -> None:
    assert slices("SELECT PREV(a, 2), near(x) FROM t", exp.Anonymous) == ["PREV", "near"]


def test_places() -> None:
    sql = "SELECT a, t.b,\n  `q r`, db.t.`c`,\n  foo(a)\nFROM db.t AS t\nJOIN `u v` [ROWS 1] w ON t.x = w.x"
    assert slices(sql, exp.Column) == ["a", "t.b", "`q r`", "db.t.`c`", "a", "t.x", "w.x"]
    assert slices(sql, exp.Table) == ["db.t", "`u v`"]
    assert slices(sql, exp.Anonymous) == ["foo"]
    assert slices(sql, exp.EQ) == ["t.x = w.x"]
    assert slices("SELECT 'a', 12, COUNT(*), SUM(x + 1) FROM t", exp.Literal) == ["'a'", "12", "1"]
    assert slices("SELECT 'a', 12, COUNT(*), SUM(x + 1) FROM t", exp.Func) == ["COUNT", "SUM"]
    assert slices("SELECT a AS b, c d FROM t", exp.Alias) == ["a AS b", "c d"]


def test_places_in_the_second_statement() -> None:
    sql = "SELECT a\nFROM t; -- one;\n\nSELECT bcd\nFROM u"
    tokens = tokenize(sql)
    second = read_tree(sql, tokens[5:])
    column = second.find(exp.Column)
    assert column is not None
    assert span_of(column) == Span(sql.index("bcd"), sql.index("bcd") + 3)


def test_places_survive_copies() -> None:
    sql = "SELECT a FROM t"
    column = tree(sql).copy().find(exp.Column)
    assert column is not None
    assert span_of(column) == Span(7, 8)


def test_no_place_for_what_was_not_read() -> None:
    assert span_of(exp.column("a", "t")) is None


def test_place_of_a_deep_tree() -> None:
    sql = "SELECT " + " + ".join(["a"] * 5000) + " FROM t"
    add = tree(sql).find(exp.Add)
    assert add is not None
    assert span_of(add) == Span(7, sql.index(" FROM"))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[ROW 4]", 'expected "," or ROWS, but found number 4|Hint: Did you mean "ROWS"?'),
        ("[INTERVL '1' MINUTE]", """expected "," or ROWS, but found text '1'|Hint: Did you mean "INTERVAL"?"""),
        ("[UNBOUND]", 'expected "," or ROWS, but found "]"|Hint: Did you mean "UNBOUNDED"?'),
        ("[ROWS x]", 'expected a number of rows, but found "x"'),
        ("[ROWS 1.5]", "expected a number of rows, but found number 1.5"),
        ("[ROWS 4 4]", 'expected "]", but found number 4'),
        ("[ROWS 0]", "window of 0 rows has no rows"),
        ("[ROWS -2]", "window of -2 rows has no rows"),
        ("[ROWS 9999999999999999999]", "expected a number of rows, but found number 9999999999999999999"),
        ("[a, ROWS 4]", 'expected "," or ROWS, but found number 4|Hint: Did you mean "ROWS"?'),
        ("[a.b ROWS 4]", 'column name "a" has more than one part|Hint: Use one name: a pond has no schemas.'),
        ("[INTERVAL MINUTE]", """expected a length of time such as '5' MINUTE, but found "MINUTE\""""),
        ("[INTERVAL 1 MONTH]", 'interval unit "month" cannot be used for a window or period|'
         "Detail: Months and years have no fixed length.|"
         "Hint: Use one of MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK."),
        ("[INTERVAL 1 MINUET]", 'interval unit "minuet" cannot be used for a window or period|'
         'Hint: Did you mean "MINUTE"?'),
        ("[INTERVAL -1 MINUTE]", 'interval "-1 MINUTE" is negative'),
        ("[INTERVAL 'x' MINUTE]", 'interval "x MINUTE" is not a length of time'),
        ("[INTERVAL 'soon']", """"soon" is not a length of time|"""
         "Hint: Write a number and a unit, for example '10 seconds'."),
        ("[INTERVAL '1' HOUR '30' MINUTE]", """expected "]", but found text '30'"""),
        ("[INTERVAL '" + "9" * 5000 + "']", "interval is too long"),
        ("[SINCE 1.5]", "expected a whole number or a text after SINCE, but found number 1.5"),
        ("[SINCE]", 'expected a whole number or a text after SINCE, but found "]"'),
        ("[NOW 1]", 'expected "," or ROWS, but found number 1|Hint: Did you mean "NOW"?'),
        ("[ROWS 4 WITHIN INTERVAL 5]", 'expected "]", but found "WITHIN"|'
         "Hint: WITHIN needs columns: [vid ROWS 4 WITHIN INTERVAL '5' MINUTE]."),
        ("[LANDMARK]", 'expected MINUTE, HOUR, DAY or INTERVAL after LANDMARK, but found "]"'),
        ("[LANDMARK DAYS]", 'expected MINUTE, HOUR, DAY or INTERVAL after LANDMARK, but found "DAYS"|'
         'Hint: Did you mean "DAY"?'),
        ("[LANDMARK MONTH]", "LANDMARK MONTH is not supported|"
         "Detail: Landmarks are the multiples of one length, and not every MONTH has the same.|"
         "Hint: Write LANDMARK DAY, HOUR or MINUTE, or LANDMARK INTERVAL '7' DAY."),
        ("[LANDMARK INTERVAL 0]", "landmarks need time between them"),
        ("[0]", "expected a window, but found number 0|"
         "Hint: Write [NOW], [UNBOUNDED], [INTERVAL '1' MINUTE BEFORE NOW], [INTERVAL '1' MINUTE], [LANDMARK DAY], [SINCE 600], [BEGIN NOW - INTERVAL '1' MINUTE END NOW], [ROWS 4] or [vid ROWS 4]."),
        ("[ROWS 4", 'expected "]", but found the end of the statement'),
    ],
)  # fmt: skip
def test_wrong_windows(written: str, expected: str) -> None:
    for sql in (f"SELECT * FROM t {written}", f"SELECT * FROM u, t {written}", f"SELECT * FROM u JOIN t {written}"):
        first, place, carets, *rest = message(sql).split("\n")
        assert [first, *rest] == expected.split("|")
        assert place == f"line 1: {sql}" or (place.endswith("...") and len(sql) > 200)
        assert set(carets.strip()) == {"^"}


@pytest.mark.parametrize("sql", ["SELECT * FROM t s [ROWS 4]", "SELECT * FROM (SELECT 1) [ROWS 4]",
                                 "SELECT * FROM t [ROWS 4] [ROWS 4]"])  # fmt: skip
def test_misplaced_windows(sql: str) -> None:
    place = sql.rindex("[")
    assert message(sql) == (
        f"window is in the wrong place\nline 1: {sql}\n{' ' * (8 + place)}^\n"
        "Hint: Write a window once, directly behind a table's name and before its alias: t [ROWS 4] AS a."
    )


@pytest.mark.parametrize(
    ("sql", "underlined", "expected"),
    [
        ("SELECT a FRM t", "t", 'expected a clause or the end of the statement, but found "t"|'
         'Hint: Did you mean "FROM" instead of "FRM"?'),
        ("SELECT a FROM t WERE b = 1", "b", 'expected a clause or the end of the statement, but found "b"|'
         'Hint: Did you mean "WHERE" instead of "WERE"?'),
        ("SELECT a FROM t LIMT 3", "3", "expected a clause or the end of the statement, but found number 3|"
         'Hint: Did you mean "LIMIT" instead of "LIMT"?'),
        ("select a frm t", "t", 'expected a clause or the end of the statement, but found "t"|'
         'Hint: Did you mean "FROM" instead of "frm"?'),
        ("SELECT a FROM t GRUP BY a", "BY a", 'expected a clause or the end of the statement, but found "BY"|'
         'Hint: Did you mean "GROUP BY" instead of "GRUP"?'),
        # Names that are a little like a keyword are names.
        ("SELECT vid spd seg FROM t", "seg FROM t", 'expected a clause or the end of the statement, but found "seg"'),
        ("SELECT vid lim uni FROM t", "uni FROM t", 'expected a clause or the end of the statement, but found "uni"'),
        ("SELECT 1 x y", "y", 'expected a clause or the end of the statement, but found "y"'),
        ("SELECT (1", "", 'expected ")", but found the end of the statement'),
        ("SELECT f(1 FROM t", "FROM", 'expected ")", but found "FROM"'),
        ("SELECT 1 +", "", "expected an expression, but found the end of the statement"),
        ("SELECT a FROM t WHERE a = = 1", "= 1", 'expected an expression, but found "="'),
        ("SELECT a,, b", ", b", 'expected an expression, but found ","'),
        ("SELECT a, FROM t", "FROM", 'expected an expression, but found "FROM"'),
        ("SELECT a FROM", "", "expected a table name, but found the end of the statement"),
        ("SELECT a FROM t JOIN WHERE", "WHERE", 'expected a table name, but found "WHERE"'),
        ("SELECT CAST(a AS foo)", "foo", 'expected TYPE after CAST, but found "foo"'),
        ("WITH x AS SELECT 1", "SELECT", 'expected "(", but found "SELECT"'),
        ("SELECT a[0", "", 'expected "]", but found the end of the statement'),
        ("WITH x AS (DROP FOO) SELECT 1", "DROP", 'expected a query, but found "DROP"'),
    ],
)  # fmt: skip
def test_wrong_queries(sql: str, underlined: str, expected: str) -> None:
    first, place, carets, *rest = message(sql).split("\n")
    assert [first, *rest] == expected.split("|")
    assert place == f"line 1: {sql}"
    assert carets.index("^") - len("line 1: ") == (sql.rindex(underlined) if underlined else len(sql))


def test_exact_message_on_a_later_line() -> None:
    assert message("SELECT a\nFROM t\nWHERE a = = 1") == (
        'expected an expression, but found "="\nline 3: WHERE a = = 1\n                  ^'
    )


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 'abc", "text is never closed\nline 1: SELECT 'abc\n               ^^^^"),
        ('SELECT "abc', 'text is never closed\nline 1: SELECT "abc\n               ^^^^'),
        ("SELECT r'abc", "text is never closed\nline 1: SELECT r'abc\n               ^^^^^"),
        ("SELECT `abc", "quoted name is never closed\nline 1: SELECT `abc\n               ^^^^"),
        ("SELECT 1 /* abc", "comment is never closed\nline 1: SELECT 1 /* abc\n                 ^^^^^^"),
        ("SELECT 1,\n 'a'; 'b", "text is never closed\nline 2:  'a'; 'b\n              ^^"),
        ("SELECT x'zz'", "literal cannot be read\nline 1: SELECT x'zz'\n               ^^^^^"),
    ],
)
def test_what_is_never_closed(sql: str, expected: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        tokenize(sql)
    assert str(caught.value) == expected


@pytest.mark.parametrize("sql", ["SELECT " + "(" * 5000 + "1" + ")" * 5000, "SELECT " + "f(" * 2000])
def test_nested_too_deeply(sql: str) -> None:
    with pytest.raises(UnsupportedSql, match="nested too deeply"):
        tree(sql)


def test_a_bug_of_sqlglot_is_a_syntax_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def trip(*_: object) -> None:
        raise AttributeError("half-built tree")

    monkeypatch.setattr("millpond.sql.dialect.MillpondParser.parse", trip)
    with pytest.raises(SqlSyntaxError, match="statement cannot be read") as caught:
        tree("SELECT 1")
    assert caught.value.span == Span(0, 8)


def test_a_number_that_is_none() -> None:
    with pytest.raises(SqlSyntaxError, match="number cannot be read") as caught:
        tree("SELECT 1eBD")
    assert caught.value.span == Span(7, 11)


def test_nothing_to_read() -> None:
    with pytest.raises(SqlSyntaxError, match="expected a query, but found the end of the statement"):
        read_tree("", [])


def test_sqlglot_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        tree("SELECT /*+ , what? */ a FROM t")
        message("WITH x AS (DROP FOO) SELECT 1")
    assert not caplog.records
