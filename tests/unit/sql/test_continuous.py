"""Statements about continuous queries: every form, every refusal with its words and its place."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlglot import exp

from millpond.errors import Span, SqlError, SqlSyntaxError, UnsupportedSql
from millpond.sql import statements as st
from millpond.sql.dialect import WINDOW, WINDOW_SPAN, read_tree, tokenize
from millpond.sql.parser import parse
from millpond.windows.interval import IntervalWindow
from millpond.windows.landmark import LandmarkWindow
from millpond.windows.newest import RowsWindow
from millpond.windows.now import NowWindow

NOWHERE = Span(0, 0)
Q = "CREATE CONTINUOUS QUERY q"
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def one(text: str) -> st.Statement:
    (statement,) = parse(text)
    return statement


def bare(text: str) -> st.Statement:
    return replace(one(text), sql="", span=NOWHERE)


def created(text: str) -> st.CreateQuery:
    statement = one(text)
    assert isinstance(statement, st.CreateQuery)
    return statement


def body(text: str) -> st.Continuous:
    return created(f"{Q} AS {text}").body


# CREATE


def test_a_continuous_query() -> None:
    text = f"{Q} AS SELECT vid FROM r [INTERVAL 4] WHERE spd = 0 SAMPLE INTERVAL 2"
    found = created(text)
    assert (found.name, found.view, found.history, found.start, found.if_not_exists) == ("q", False, None, None, False)
    assert found.body.text == "SELECT vid FROM r [INTERVAL 4] WHERE spd = 0"
    assert (found.body.stream_operator, found.body.slide) == ("rstream", 2 * SECOND)
    assert isinstance(found.body.query, exp.Select)
    assert text[found.span.start : found.span.end] == text


def test_a_streaming_view() -> None:
    found = created("create streaming view V range interval '5' minute as select a from r [now] sample realtime")
    assert (found.name, found.view, found.history) == ("V", True, 5 * MINUTE)
    assert found.body.slide is None


@pytest.mark.parametrize(
    ("clauses", "history", "start"),
    [
        ("", None, None),
        ("RANGE INTERVAL 5", 5 * SECOND, None),
        ("FROM 600", None, 600),
        ("FROM -600", None, -600),
        ("FROM '2026-01-01 12:00'", None, "2026-01-01 12:00"),
        ("RANGE INTERVAL 5 FROM 600", 5 * SECOND, 600),
        ("RANGE INTERVAL '5' MINUTE FROM 600", 5 * MINUTE, 600),
        ("FROM 600 RANGE INTERVAL '5 minutes'", 5 * MINUTE, 600),
    ],
)
def test_clauses_before_as_in_any_order(clauses: str, history: timedelta | None, start: int | str | None) -> None:
    found = created(f"{Q} {clauses} AS SELECT a FROM r [NOW] SAMPLE REALTIME")
    assert (found.history, found.start) == (history, start)


def test_if_not_exists() -> None:
    assert created("CREATE CONTINUOUS QUERY IF NOT EXISTS q AS SELECT a FROM r [NOW] SAMPLE REALTIME").if_not_exists
    assert created("CREATE STREAMING VIEW IF NOT EXISTS q AS SELECT a FROM r [NOW] SAMPLE REALTIME").if_not_exists


@pytest.mark.parametrize(
    ("clause", "slide", "each_row"),
    [
        ("SAMPLE REALTIME", None, False),
        ("sample realtime", None, False),
        ("SAMPLE EACH ROW", None, True),
        ("sample each row", None, True),
        ("SAMPLE INTERVAL '1' MINUTE", MINUTE, False),
        ("SAMPLE INTERVAL 2", 2 * SECOND, False),
        ("SAMPLE INTERVAL '500 ms'", SECOND / 2, False),
    ],
)
def test_sample(clause: str, slide: timedelta | None, each_row: bool) -> None:
    found = body(f"SELECT a FROM r [NOW] {clause}")
    assert (found.slide, found.each_row) == (slide, each_row)


@pytest.mark.parametrize("form", ["ISTREAM", "DSTREAM", "RSTREAM", "istream"])
@pytest.mark.parametrize(
    "rest",
    ["a FROM r [NOW]", "* FROM r [NOW]", "*, a FROM r [NOW]", "DISTINCT a FROM r [NOW]", "1 AS x FROM r [NOW]",
     "'x' AS x FROM r [NOW]", "-a AS x FROM r [NOW]", "(a + 1) AS x FROM r [NOW]", "NOT a AS x FROM r [NOW]",
     "`a` FROM r [NOW]", "COUNT(*) AS n FROM r [NOW] GROUP BY a", "r.* FROM r [NOW]", "CASE WHEN a THEN 1 END FROM r [NOW]"],
)  # fmt: skip
def test_what_is_sent(form: str, rest: str) -> None:
    found = body(f"SELECT {form} {rest} SAMPLE REALTIME")
    assert found.stream_operator == form.lower()
    assert found.text == f"SELECT {' ' * len(form)} {rest}"
    assert found.query == read_tree(found.text, tokenize(found.text))


@pytest.mark.parametrize(
    "text",
    ["SELECT istream FROM r [NOW]", "SELECT istream, a FROM r [NOW]", "SELECT istream AS a FROM r [NOW]",
     "SELECT istream.a FROM istream [NOW]", "SELECT istream + 1 FROM r [NOW]", "SELECT istream * 2 FROM r [NOW]",
     "SELECT istream IS NULL FROM r [NOW]", "SELECT `istream` a FROM r [NOW]", "SELECT istream = 1 FROM r [NOW]"],
)  # fmt: skip
def test_a_column_may_be_called_so(text: str) -> None:
    found = body(f"{text} SAMPLE REALTIME")
    assert (found.stream_operator, found.text) == ("rstream", text)


def test_what_is_sent_is_said_in_the_query_itself_not_in_its_parts() -> None:
    text = "WITH x AS (SELECT a FROM r [NOW]) SELECT ISTREAM a FROM x UNION ALL SELECT b FROM s [NOW]"
    found = body(f"{text} SAMPLE REALTIME")
    assert found.stream_operator == "istream"
    assert found.text == text.replace("ISTREAM", "       ")
    assert isinstance(found.query, exp.Union)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sample.a FROM r [NOW] sample",
        "SELECT sample FROM r [NOW]",
        "SELECT a FROM sample [NOW] WHERE sample.a > 1",
    ],
)
def test_a_name_may_be_sample(text: str) -> None:
    assert body(f"{text} SAMPLE INTERVAL 2") == body(f"{text}\nSAMPLE INTERVAL 2")
    assert body(f"{text} SAMPLE INTERVAL 2").text == text


def test_windows_are_where_the_text_says() -> None:
    """ALTER writes another window into the text: the places in it must be its own."""
    text = f"SELECT 1; {Q} AS SELECT ISTREAM s.a FROM r [vid ROWS 2] s, r [NOW] SAMPLE REALTIME"
    statement = parse(text)[1]
    assert isinstance(statement, st.CreateQuery)
    written = statement.body.text
    spans = [t.meta[WINDOW_SPAN] for t in read_tree(written, tokenize(written)).find_all(exp.Table)]
    assert sorted(written[s.start : s.end] for s in spans) == ["[NOW]", "[vid ROWS 2]"]
    assert statement.sql[statement.span.start : statement.span.end].startswith(Q)


def test_the_trees_of_statement_and_text_are_one() -> None:
    found = body(
        "SELECT a, PREV(b, 2), NOW() FROM r [a ROWS 3 WITHIN INTERVAL 9] -- comment\n, s [ROWS 1] SAMPLE REALTIME"
    )
    again = read_tree(found.text, tokenize(found.text))
    assert found.query == again
    windows = [[t.meta[WINDOW] for t in tree.find_all(exp.Table)] for tree in (found.query, again)]
    assert windows[0] == windows[1]


# The other statements

WINDOW_5 = IntervalWindow(5 * MINUTE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALTER CONTINUOUS QUERY q SET WINDOW OF s = INTERVAL '5' MINUTE",
         st.AlterQuery("", NOWHERE, "q", window=("s", WINDOW_5))),
        ("ALTER CONTINUOUS QUERY q SET WINDOW OF s = [INTERVAL '5' MINUTE]",
         st.AlterQuery("", NOWHERE, "q", window=("s", WINDOW_5))),
        ("ALTER CONTINUOUS QUERY q SET WINDOW OF s = [ROWS 4]",
         st.AlterQuery("", NOWHERE, "q", window=("s", RowsWindow(rows=4)))),
        ("ALTER STREAMING VIEW v SET WINDOW OF s = [a, b ROWS 4 WITHIN INTERVAL '5' MINUTE]",
         st.AlterQuery("", NOWHERE, "v", window=("s", RowsWindow(4, ("a", "b"), 5 * MINUTE)), view=True)),
        ("ALTER CONTINUOUS QUERY q SET WINDOW OF s = [LANDMARK MINUTE]",
         st.AlterQuery("", NOWHERE, "q", window=("s", LandmarkWindow(MINUTE)))),
        ("ALTER CONTINUOUS QUERY q SET WINDOW OF s = [NOW]",
         st.AlterQuery("", NOWHERE, "q", window=("s", NowWindow()))),
        ("ALTER CONTINUOUS QUERY q SET SAMPLE INTERVAL 2", st.AlterQuery("", NOWHERE, "q", sample=(2 * SECOND, False))),
        ("ALTER CONTINUOUS QUERY q SET SAMPLE REALTIME", st.AlterQuery("", NOWHERE, "q", sample=(None, False))),
        ("ALTER CONTINUOUS QUERY q SET SAMPLE EACH ROW", st.AlterQuery("", NOWHERE, "q", sample=(None, True))),
        ("ALTER STREAMING VIEW v SET RANGE INTERVAL '5' MINUTE", st.AlterQuery("", NOWHERE, "v", history=5 * MINUTE, view=True)),
        ("PAUSE CONTINUOUS QUERY q", st.PauseQuery("", NOWHERE, "q", True)),
        ("RESUME CONTINUOUS QUERY q", st.PauseQuery("", NOWHERE, "q", False)),
        ("PAUSE STREAMING VIEW v", st.PauseQuery("", NOWHERE, "v", True, view=True)),
        ("RESUME STREAMING VIEW v", st.PauseQuery("", NOWHERE, "v", False, view=True)),
        ("DROP CONTINUOUS QUERY q", st.Drop("", NOWHERE, "continuous query", "q")),
        ("DROP CONTINUOUS QUERY IF EXISTS q", st.Drop("", NOWHERE, "continuous query", "q", if_exists=True)),
        ("DROP STREAMING VIEW v", st.Drop("", NOWHERE, "streaming view", "v")),
        ("DROP STREAMING VIEW IF EXISTS v", st.Drop("", NOWHERE, "streaming view", "v", if_exists=True)),
        ("SHOW CONTINUOUS QUERIES", st.Show("", NOWHERE, "continuous queries")),
        ("SHOW STREAMING VIEWS", st.Show("", NOWHERE, "streaming views")),
        ("SHOW STATE", st.Show("", NOWHERE, "state")),
        ("SHOW TRIGGERS", st.Show("", NOWHERE, "triggers")),
        ("EXPLAIN CONTINUOUS QUERY q", st.ExplainQuery("", NOWHERE, "q")),
        ("EXPLAIN STREAMING VIEW v", st.ExplainQuery("", NOWHERE, "v", view=True)),
        ("ON q DO POST 'http://x/y'", st.CreateTrigger("", NOWHERE, "q", "post", "http://x/y")),
        ("ON q DO PYTHON 'a.b:c'", st.CreateTrigger("", NOWHERE, "q", "python", "a.b:c")),
        ("ON q DO Kafka 'h:1' WITH (topic = 't')", st.CreateTrigger("", NOWHERE, "q", "kafka", "h:1", {"topic": "t"})),
        ("ON q DO NOTHING", st.DropTrigger("", NOWHERE, "q")),
    ],
)  # fmt: skip
def test_statement(text: str, expected: st.Statement) -> None:
    assert bare(text) == expected
    statement = one(text)
    assert text[statement.span.start : statement.span.end] == text


# Refusals

A = "ALTER CONTINUOUS QUERY q SET"
HINT = "Hint: Write SAMPLE INTERVAL '1' MINUTE, SAMPLE REALTIME or SAMPLE EACH ROW."
END = "but found the end of the statement"


@pytest.mark.parametrize(
    ("text", "underlined", "expected"),
    [
        # CREATE
        ("CREATE CONTINUOUS", "", f"expected QUERY after CREATE CONTINUOUS, {END}"),
        ("CREATE CONTINUOUS QUERRY q", "QUERRY", 'expected QUERY after CREATE CONTINUOUS, but found "QUERRY"|'
         'Hint: Did you mean "QUERY"?'),
        ("CREATE CONTINUOUS QUERY", "", f"expected a query name, {END}"),
        ("CREATE STREAMING VIEW 5", "5", "expected a view name, but found number 5"),
        (Q, "", f"expected RANGE, FROM, OVERLOAD or AS after the query's name, {END}"),
        (f"{Q} SELECT a", "SELECT", 'expected RANGE, FROM, OVERLOAD or AS after the query\'s name, but found "SELECT"'),
        (f"{Q} RANG INTERVAL 5 AS", "RANG", 'expected RANGE, FROM, OVERLOAD or AS after the query\'s name, but found "RANG"|'
         'Hint: Did you mean "RANGE"?'),
        (f"{Q} RANGE 5 AS", "5", "expected INTERVAL, but found number 5"),
        (f"{Q} RANGE INTERVAL 0 AS", "INTERVAL 0", "results cannot be kept for 0 seconds|"
         "Hint: Leave RANGE out to keep those of the last instant."),
        (f"{Q} RANGE INTERVAL 5 RANGE INTERVAL 6 AS", "RANGE", "clause RANGE is given twice"),
        (f"{Q} FROM 5 FROM 6 AS", "FROM", "clause FROM is given twice"),
        (f"{Q} FROM now AS", "now", 'expected a time: a whole number or a text, but found "now"'),
        (f"{Q} FROM 1.5 AS", "1.5", "expected a time: a whole number or a text, but found number 1.5"),
        (f"{Q} AS", "", f"expected a query after AS, {END}"),
        (f"{Q} AS SELET a", "SELET", 'expected a query after AS, but found "SELET"|Hint: Did you mean "SELECT"?'),
        (f"{Q} AS SELECT a FROM r [NOW]", "", f"expected SAMPLE at the end of a continuous query, {END}|{HINT}"),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE", "", f"expected INTERVAL, REALTIME or EACH ROW after SAMPLE, {END}"),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE 5", "5", "expected INTERVAL, REALTIME or EACH ROW after SAMPLE, but found number 5"),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE REALTIM", "REALTIM",
         'expected INTERVAL, REALTIME or EACH ROW after SAMPLE, but found "REALTIM"|Hint: Did you mean "REALTIME"?'),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE EACH", "", f"expected ROW after EACH, {END}"),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE EACH TIME", "TIME", 'expected ROW after EACH, but found "TIME"'),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE INTERVAL 0", "INTERVAL 0", "a query cannot be sampled every 0 seconds"),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE INTERVAL -1", "INTERVAL -1", 'interval "-1 SECOND" is negative'),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE INTERVAL 1 MONTH", "INTERVAL 1 MONTH",
         'interval unit "month" cannot be used for a window or period|Detail: Months and years have no fixed length.|'
         "Hint: Use one of MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK."),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE REALTIME x", "x", 'expected the end of the statement, but found "x"'),
        (f"{Q} AS SELECT a FROM r [NOW] SAMPLE REALTIME WHERE a = 1", "WHERE",
         'expected the end of the statement, but found "WHERE"'),
        (f"{Q} AS (SELECT a FROM r [NOW] SAMPLE REALTIME)", ")", 'expected the end of the statement, but found ")"'),
        (f"{Q} AS SELECT ISTREAM FROM r [NEW] SAMPLE REALTIME", "]", 'expected "," or ROWS, but found "]"|'
         'Hint: Did you mean "NOW"?'),
        # ALTER
        ("ALTER CONTINUOUS q", "q", 'expected QUERY after ALTER CONTINUOUS, but found "q"'),
        ("ALTER CONTINUOUS QUERY q", "", f"expected SET after the query's name, {END}"),
        ("ALTER STREAMING VIEW v ADD", "ADD", 'expected SET after the view\'s name, but found "ADD"'),
        (f"{A} WINDO", "WINDO", 'expected WINDOW, SAMPLE, RANGE or OVERLOAD after SET, but found "WINDO"|'
         'Hint: Did you mean "WINDOW"?'),
        (f"{A} WINDOW s = [NOW]", "s = [NOW]", 'expected OF after WINDOW, but found "s"'),
        (f"{A} WINDOW OF s [NOW]", "[", 'expected "=" after the table\'s name, but found "["'),
        (f"{A} WINDOW OF s = 5", "5", "expected INTERVAL, but found number 5"),
        (f"{A} WINDOW OF s = [NOW] x", "x", 'expected the end of the statement, but found "x"'),
        (f"{A} SAMPLE 5", "5", "expected INTERVAL, REALTIME or EACH ROW after SET SAMPLE, but found number 5"),
        (f"{A} SAMPLE INTERVAL 0", "INTERVAL 0", "a query cannot be sampled every 0 seconds"),
        (f"{A} RANGE INTERVAL 0", "INTERVAL 0", "results cannot be kept for 0 seconds|"
         "Hint: Leave RANGE out to keep those of the last instant."),
        (f"{A} RANGE ALWAYS", "ALWAYS", 'expected INTERVAL, but found "ALWAYS"'),
        # PAUSE, DROP, SHOW, EXPLAIN, ON
        ("PAUSE q", "q", 'expected CONTINUOUS or STREAMING after PAUSE, but found "q"'),
        ("RESUME CONTINUOUS q", "q", 'expected QUERY after RESUME CONTINUOUS, but found "q"'),
        ("PAUSE STREAMING TABLE t", "TABLE", 'expected VIEW after PAUSE STREAMING, but found "TABLE"'),
        ("PAUSE CONTINUOUS QUERY", "", f"expected a query name, {END}"),
        ("DROP CONTINUOUS QUERIES", "QUERIES", 'expected QUERY after DROP CONTINUOUS, but found "QUERIES"|'
         'Hint: Did you mean "QUERY"?'),
        ("DROP STREAMING VIEW", "", f"expected a view name, {END}"),
        ("SHOW CONTINUOUS QUERY", "QUERY", 'expected QUERIES after SHOW CONTINUOUS, but found "QUERY"|'
         'Hint: Did you mean "QUERIES"?'),
        ("SHOW STREAMING VIEW", "VIEW", 'expected TABLES or VIEWS after SHOW STREAMING, but found "VIEW"|'
         'Hint: Did you mean "VIEWS"?'),
        ("DROP STREAMING VIEWS v", "VIEWS", 'expected TABLE or VIEW after DROP STREAMING, but found "VIEWS"|'
         'Hint: Did you mean "VIEW"?'),
        ("ALTER STREAMING VEIW v", "VEIW", 'expected TABLE or VIEW after ALTER STREAMING, but found "VEIW"|'
         'Hint: Did you mean "VIEW"?'),
        ("EXPLAIN CONTINUOUS QUERY", "", f"expected a query name, {END}"),
        ("EXPLAIN STREAMING TABLE t", "TABLE", 'expected VIEW after EXPLAIN STREAMING, but found "TABLE"'),
        ("ON q POST 'x'", "POST", 'expected DO after the query\'s name, but found "POST"'),
        ("ON q DO 'x'", "'x'", "expected a kind of sink after DO, such as POST, or NOTHING, but found text 'x'"),
        ("ON q DO POST x", "x", 'expected the target after POST, as a text, but found "x"'),
    ],
)  # fmt: skip
def test_syntax_errors(text: str, underlined: str, expected: str) -> None:
    check(text, SqlSyntaxError, underlined, expected)


SENT = "stands behind the first SELECT of a continuous query"


@pytest.mark.parametrize(
    ("text", "underlined", "expected"),
    [
        ("CREATE VIEW v AS SELECT 1", "VIEW", "CREATE VIEW is not supported|"
         "Hint: Write CREATE CONTINUOUS QUERY or CREATE STREAMING VIEW."),
        ("CREATE QUERY v AS SELECT 1", "QUERY", "CREATE QUERY is not supported|"
         "Hint: Write CREATE CONTINUOUS QUERY or CREATE STREAMING VIEW."),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1", "MATERIALIZED", "CREATE MATERIALIZED VIEW is not supported|"
         "Hint: Write CREATE CONTINUOUS QUERY or CREATE STREAMING VIEW."),
        ("DROP VIEW v", "VIEW", "DROP VIEW is not supported|"
         "Hint: Write DROP CONTINUOUS QUERY or DROP STREAMING VIEW."),
        ("ALTER QUERY v SET", "QUERY", "ALTER QUERY is not supported|"
         "Hint: Write ALTER CONTINUOUS QUERY or ALTER STREAMING VIEW."),
        ("EXPLAIN ANALYZE CONTINUOUS QUERY q", "ANALYZE", "EXPLAIN ANALYZE of a continuous query is not supported|"
         "Hint: EXPLAIN CONTINUOUS QUERY tells where it stands, SHOW STATE what it holds."),
        ("KILL q", "KILL", "KILL is not supported|Hint: Python does it: db.subscribe(<query>), and close() ends it."),
        ("SUBSCRIBE q", "SUBSCRIBE", "SUBSCRIBE is not supported|"
         "Hint: Python does it: db.subscribe(<query>), and close() ends it."),
        ("ISTREAM (SELECT 1)", "ISTREAM", f"ISTREAM {SENT}"),
        ("SELECT ISTREAM a FROM t", "ISTREAM", f"ISTREAM {SENT}"),
        ("SELECT RSTREAM * FROM t", "RSTREAM", f"RSTREAM {SENT}"),
        (f"{Q} AS SELECT DISTINCT ISTREAM a FROM t [NOW] SAMPLE REALTIME", "ISTREAM", f"ISTREAM {SENT}"),
        (f"{Q} AS SELECT a FROM (SELECT DSTREAM b FROM t [NOW]) SAMPLE REALTIME", "DSTREAM", f"DSTREAM {SENT}"),
        (f"{Q} AS SELECT ISTREAM a FROM (SELECT DSTREAM b FROM t [NOW]) SAMPLE REALTIME", "DSTREAM", f"DSTREAM {SENT}"),
        (f"{Q} AS (SELECT ISTREAM a FROM t [NOW]) SAMPLE REALTIME", "ISTREAM", f"ISTREAM {SENT}"),
        (f"{Q} AS SELECT a FROM (SELECT b FROM t [NOW] SAMPLE REALTIME) SAMPLE REALTIME", "SAMPLE REALTIME) SAMPLE",
         "SAMPLE belongs to a continuous query|Hint: Give it a name: CREATE CONTINUOUS QUERY <name> AS SELECT ..."),
        ("SELECT * FROM t [ROWS 1] SAMPLE INTERVAL '1' MINUTE", "SAMPLE",
         "SAMPLE belongs to a continuous query|Hint: Give it a name: CREATE CONTINUOUS QUERY <name> AS SELECT ..."),
        ("SELECT * FROM t SAMPLE REALTIME", "SAMPLE",
         "SAMPLE belongs to a continuous query|Hint: Give it a name: CREATE CONTINUOUS QUERY <name> AS SELECT ..."),
        ("CREATE CONTINUOUS QUERY a.b AS", "a.b", 'query name "a" has more than one part|'
         "Hint: Use one name: a pond has no schemas."),
        (f"{Q} AS WITH x AS (SELECT 1) INSERT INTO t SELECT 1 SAMPLE REALTIME", "WITH",
         "WITH before INSERT is not supported|Hint: Put it inside: INSERT INTO t WITH ... SELECT."),
    ],
)  # fmt: skip
def test_unsupported(text: str, underlined: str, expected: str) -> None:
    check(text, UnsupportedSql, underlined, expected)


def check(text: str, kind: type[SqlError], underlined: str, expected: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)
    found = caught.value
    assert type(found) is kind
    assert found.sql == text
    first, place, carets, *rest = str(found).split("\n")
    assert [first, *rest] == expected.split("|")
    assert place == f"line 1: {text}"
    assert carets.index("^") - len("line 1: ") == (text.rindex(underlined) if underlined else len(text))
