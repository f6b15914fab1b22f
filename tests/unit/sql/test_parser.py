"""Every statement in every form, every refusal with its words, and garbage."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from sqlglot import exp

from millpond.errors import Span, SqlError, SqlSyntaxError, UnknownName, UnsupportedSql
from millpond.schema import Column, DataType, Schema
from millpond.sql import statements as st
from millpond.sql.parser import StatementReader, parse
from millpond.windows.newest import RowsWindow

AB = Schema.of([("a", "INT"), ("b", "STRING")]).columns
NOWHERE = Span(0, 0)
DAY = timedelta(days=1)


def one(text: str) -> st.Statement:
    (statement,) = parse(text)
    assert statement.sql == text
    return statement


def bare(text: str) -> st.Statement:
    """The one statement of a text without its place, to compare with one made by hand."""
    return replace(one(text), sql="", span=NOWHERE)


def error(text: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        parse(text)
    found = caught.value
    assert found.sql == text
    assert found.span is not None
    assert 0 <= found.span.start <= found.span.end <= len(text)
    assert "\x1b" not in str(found)
    return found


# Several statements, comments, case, quoting


@pytest.mark.parametrize("text", ["", " \n\t", ";", " ; ;; ", "-- nothing", "/* nothing */ ;"])
def test_nothing(text: str) -> None:
    assert parse(text) == []


def test_several_statements_know_their_places() -> None:
    text = "-- first;\nSELECT ';' AS x; /* ; */\n  drop table T ;;\nShow Tables"
    statements = parse(text)
    assert [type(s) for s in statements] == [st.Select, st.Drop, st.Show]
    assert [text[s.span.start : s.span.end] for s in statements] == ["SELECT ';' AS x", "drop table T", "Show Tables"]
    assert all(s.sql == text for s in statements)


@pytest.mark.parametrize("text", ["DROP TABLE t", "drop table t;", "Drop /* x */ Table `t` -- y\n;", "DROP\nTABLE\nt"])
def test_case_comments_quotes_and_semicolon(text: str) -> None:
    assert bare(text) == st.Drop("", NOWHERE, "table", "t")


def test_names_keep_their_case_and_characters() -> None:
    assert bare("DROP TABLE PosReports") == st.Drop("", NOWHERE, "table", "PosReports")
    assert bare("DROP TABLE `a ``b`` – 1`") == st.Drop("", NOWHERE, "table", "a `b` – 1")
    assert bare("DROP TABLE `select`") == st.Drop("", NOWHERE, "table", "select")
    assert bare("DROP TABLE größe_1") == st.Drop("", NOWHERE, "table", "größe_1")


# Definitions

CREATE = "CREATE STREAMING TABLE p (vid BIGINT, t TIMESTAMP, price DECIMAL(10, 2))"
CREATED = st.CreateStreamingTable(
    "", NOWHERE, "p", Schema.of([("vid", "BIGINT"), ("t", "TIMESTAMP"), ("price", "DECIMAL(10,2)")]).columns
)


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("", CREATED),
        ("TIMESTAMP BY t", replace(CREATED, time_column="t")),
        ("timestamp by `t` shard by vid, price", replace(CREATED, time_column="t", shard_by=("vid", "price"))),
        ("TIMESTAMP BY arrival", replace(CREATED, time_column="arrival")),
        ("RANGE UNBOUNDED", CREATED),
        ("RANGE INTERVAL '70' DAY", replace(CREATED, history=70 * DAY)),
        ("RANGE INTERVAL 70 DAYS", replace(CREATED, history=70 * DAY)),
        ("RANGE INTERVAL '70 days'", replace(CREATED, history=70 * DAY)),
        ("RANGE INTERVAL 5 LATENESS INTERVAL 3 TIMESTAMP BY t",
         replace(CREATED, history=timedelta(seconds=5), lateness=timedelta(seconds=3), time_column="t")),
        ("LATENESS INTERVAL '5' minute WITH (rows = 5, 'Key' = 'V;', on = TRUE, a.B = -1.5)",
         replace(CREATED, lateness=timedelta(minutes=5),
                 options={"rows": "5", "key": "V;", "on": "TRUE", "a.b": "-1.5"})),
    ],
)  # fmt: skip
def test_create_streaming_table(clauses: str, expected: st.Statement) -> None:
    assert bare(f"{CREATE} {clauses}") == expected


def test_create_streaming_table_if_not_exists() -> None:
    assert bare(CREATE.replace("TABLE p", "TABLE IF NOT EXISTS p")) == replace(CREATED, if_not_exists=True)


def test_not_null_only_on_the_time_column() -> None:
    columns = "(vid BIGINT COMMENT 'the car', t TIMESTAMP NOT NULL COMMENT 'seconds', price DECIMAL(10, 2))"
    read = bare(f"CREATE STREAMING TABLE p {columns} TIMESTAMP BY T")
    assert read == replace(CREATED, time_column="T")


@pytest.mark.parametrize(
    ("written", "name"),
    [("INT", "INT"), ("integer", "INT"), ("Long", "BIGINT"), ("DOUBLE PRECISION", "DOUBLE"), ("varchar(10)", "STRING"),
     ("DECIMAL", "DECIMAL(10,0)"), ("NUMERIC(5)", "DECIMAL(5,0)"), ("BOOL", "BOOLEAN"), ("DATE", "DATE")],
)  # fmt: skip
def test_types(written: str, name: str) -> None:
    assert bare(f"CREATE TABLE t (a {written})") == st.CreateStandardTable(
        "", NOWHERE, "t", (Column("a", DataType.parse(name)),)
    )


def test_columns_called_like_keywords() -> None:
    words = ["timestamp", "date", "range", "end", "check", "default", "comment", "table", "key", "interval", "rows"]
    columns = Schema.of([(word, "INT") for word in words]).columns
    written = ", ".join(f"{word} INT" for word in words)
    assert bare(f"CREATE TABLE t ({written})") == st.CreateStandardTable("", NOWHERE, "t", columns)


def test_create_standard_table() -> None:
    for standard in ("", "STANDARD "):
        create = f"CREATE {standard}TABLE"
        assert bare(f"{create} t (a INT, b STRING)") == st.CreateStandardTable("", NOWHERE, "t", AB)
        assert bare(f"{create} IF NOT EXISTS t (a INT, b STRING)") == st.CreateStandardTable(
            "", NOWHERE, "t", AB, if_not_exists=True
        )
        assert bare(f"{create} t FROM POSTGRES 'host=x'") == st.CreateStandardTable(
            "", NOWHERE, "t", kind="postgres", address="host=x"
        )
        assert bare(f"{create} t FROM postgres 'host=x' TABLE 's.u'") == st.CreateStandardTable(
            "", NOWHERE, "t", kind="postgres", address="host=x", foreign_name="s.u"
        )
        for query in ("SELECT 1 AS a", "(SELECT 1 AS a)", "WITH x AS (SELECT 1) SELECT * FROM x", "VALUES (1), (2)"):
            read = bare(f"{create} t AS {query}")
            assert isinstance(read, st.CreateStandardTable)
            assert read.query is not None
            assert read.query.sql("spark") == query


def test_create_index() -> None:
    assert bare("CREATE INDEX ON t (a)") == st.CreateIndex("", NOWHERE, "t", ("a",))
    assert bare("CREATE INDEX i ON t (a, `b c`)") == st.CreateIndex("", NOWHERE, "t", ("a", "b c"), name="i")
    assert bare("CREATE INDEX IF NOT EXISTS ON t (a)") == st.CreateIndex("", NOWHERE, "t", ("a",), if_not_exists=True)
    assert bare("CREATE INDEX IF NOT EXISTS i ON t (a)") == st.CreateIndex(
        "", NOWHERE, "t", ("a",), name="i", if_not_exists=True
    )


def test_create_source() -> None:
    source = st.CreateSource("", NOWHERE, "s", AB, "files", "/in")
    create = "CREATE SOURCE s (a INT, b STRING) FROM"
    assert bare(f"{create} FILES '/in'") == source
    assert bare(f"{create} FILES '/in' FORMAT csv") == replace(source, format="csv")
    assert bare(f"{create} Kafka 'h:9092' WITH (topic = 'cars')") == replace(
        source, kind="kafka", location="h:9092", options={"topic": "cars"}
    )
    assert bare(f"{create} FILES '/in' FORMAT PARQUET") == replace(source, format="parquet")
    assert bare(f"{create} SOCKET 'h:1' WITH (header = true) FORMAT json") == replace(
        source, kind="socket", location="h:1", format="json", options={"header": "true"}
    )
    assert bare("CREATE SOURCE IF NOT EXISTS s (a INT, b STRING) FROM FILES '/in'") == replace(
        source, if_not_exists=True
    )


@pytest.mark.parametrize("kind", ["table", "streaming table", "standard table", "index", "source", "feed"])
def test_drop(kind: str) -> None:
    assert bare(f"DROP {kind.upper()} n") == st.Drop("", NOWHERE, kind, "n")
    assert bare(f"drop {kind} if exists n") == st.Drop("", NOWHERE, kind, "n", if_exists=True)


@pytest.mark.parametrize("kind", ["TABLE", "STREAMING TABLE", "STANDARD TABLE"])
def test_alter(kind: str) -> None:
    def altered(action: str) -> st.Statement:
        return bare(f"ALTER {kind} n {action}")

    plain = st.AlterTable("", NOWHERE, "n")
    assert altered("ADD COLUMN a INT") == replace(plain, add_columns=AB[:1])
    assert altered("ADD COLUMNS (a INT, b STRING)") == replace(plain, add_columns=AB)
    assert altered("RENAME TO m") == replace(plain, rename_to="m")
    assert altered("SET RANGE INTERVAL 1 DAY") == replace(plain, history=DAY)
    assert altered("SET RANGE UNBOUNDED") == replace(plain, drop_history=True)
    assert altered("SET LATENESS INTERVAL '24' HOUR") == replace(plain, lateness=DAY)
    assert altered("SET IDLE") == replace(plain, idle=True)
    assert altered("SET ACTIVE") == replace(plain, idle=False)
    assert altered("SET (k = 'v', n = 1)") == replace(plain, options={"k": "v", "n": "1"})


def test_describe_and_show() -> None:
    for text in ("DESCRIBE t", "DESC t", "DESCRIBE TABLE t", "desc table t"):
        assert bare(text) == st.Describe("", NOWHERE, "t")
    for kind in ("tables", "streaming tables", "standard tables", "indexes", "sources", "feeds", "rejected"):
        assert bare(f"SHOW {kind}") == st.Show("", NOWHERE, kind)


def test_explain() -> None:
    text = "SELECT 1; EXPLAIN ANALYZE DROP TABLE t"
    read = parse(text)[1]
    drop = st.Drop(text, Span(26, 38), "table", "t")
    assert read == st.Explain(text, Span(10, 38), drop, analyze=True)
    plain = one("explain SELECT 1")
    assert isinstance(plain, st.Explain)
    assert isinstance(plain.statement, st.Select)
    assert not plain.analyze


# Queries and changes of rows


@pytest.mark.parametrize(
    "query",
    ["SELECT vid, t FROM posreports WHERE t >= 600", "WITH x AS (SELECT 1) SELECT * FROM x", "VALUES (1, 2), (3, 4)",
     "(SELECT 1) UNION ALL (SELECT 2)", "SELECT a[0] FROM t", "SELECT sample, istream FROM t AS sample",
     "SELECT istream FROM t", "SELECT istream * 2 FROM t"],
)  # fmt: skip
def test_select(query: str) -> None:
    read = one(query + ";")
    assert isinstance(read, st.Select)
    assert read.query.sql("spark") == query
    assert read.span == Span(0, len(query))


def test_select_with_window() -> None:
    read = one("SELECT * FROM p [vid ROWS 1] AS s")
    assert isinstance(read, st.Select)
    table = read.query.find(exp.Table)
    assert table is not None
    assert table.meta["window"] == RowsWindow(rows=1, columns=("vid",))


@pytest.mark.parametrize(
    ("text", "columns", "query"),
    [
        ("INSERT INTO t VALUES (1, 'x')", (), "VALUES (1, 'x')"),
        ("INSERT INTO TABLE t VALUES (1, 'x')", (), "VALUES (1, 'x')"),
        ("insert into t (a, `b`) values (1, 'x'), (2, 'y')", ("a", "b"), "VALUES (1, 'x'), (2, 'y')"),
        ("INSERT INTO t SELECT * FROM s", (), "SELECT * FROM s"),
        ("INSERT INTO t (a) SELECT 1", ("a",), "SELECT 1"),
        ("INSERT INTO t (SELECT 1)", (), "(SELECT 1)"),
        ("INSERT INTO t (`select`) VALUES (1)", ("select",), "VALUES (1)"),
        ("INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x", (), "WITH x AS (SELECT 1) SELECT * FROM x"),
    ],
)
def test_insert(text: str, columns: tuple[str, ...], query: str) -> None:
    read = one(text)
    assert isinstance(read, st.Insert)
    assert (read.table, read.columns, read.query.sql("spark")) == ("t", columns, query)


def test_insert_values_is_a_values_node() -> None:
    read = one("INSERT INTO t VALUES (1)")
    assert isinstance(read, st.Insert)
    assert isinstance(read.query, exp.Values)


def test_update() -> None:
    read = one("UPDATE t SET a = 1, T.b = a + 1 WHERE c IN (SELECT c FROM u)")
    assert isinstance(read, st.Update)
    assert read.table == "t"
    assert [(name, value.sql()) for name, value in read.assignments] == [("a", "1"), ("b", "a + 1")]
    assert read.where is not None
    assert read.where.sql() == "c IN (SELECT c FROM u)"
    everywhere = one("UPDATE t SET a = NULL")
    assert isinstance(everywhere, st.Update)
    assert everywhere.where is None


def test_delete() -> None:
    read = one("DELETE FROM `t` WHERE a = 1")
    assert isinstance(read, st.Delete)
    assert read.table == "t"
    assert read.where is not None
    assert read.where.sql() == "a = 1"
    assert bare("DELETE FROM t") == st.Delete("", NOWHERE, "t", None)


# Errors


def test_exact_message_for_a_misspelt_keyword() -> None:
    assert str(error("CREATE STREEMING TABLE t (a INT)")) == (
        "expected STREAMING, CONTINUOUS, STANDING, STANDARD, TABLE, INDEX, SOURCE, FUNCTION, AGGREGATE or REDUCTION after CREATE, "
        'but found "STREEMING"\n'
        "line 1: CREATE STREEMING TABLE t (a INT)\n"
        "               ^^^^^^^^^\n"
        'Hint: Did you mean "STREAMING"?'
    )


def test_exact_message_for_an_unknown_type_in_the_second_statement() -> None:
    assert str(error("SHOW TABLES;\nCREATE STREAMING TABLE t (\n  a INT,\n  b BIGIMT\n)")) == (
        'type "BIGIMT" does not exist\nline 4:   b BIGIMT\n            ^^^^^^\nHint: Did you mean "BIGINT"?'
    )


def test_exact_message_for_not_null() -> None:
    assert str(error("CREATE STREAMING TABLE p (a INT NOT NULL, t INT NOT NULL) TIMESTAMP BY t")) == (
        'column "a" cannot be NOT NULL\n'
        "line 1: CREATE STREAMING TABLE p (a INT NOT NULL, t INT NOT NULL) TIMESTAMP BY t\n"
        "                                        ^^^^^^^^\n"
        "Detail: Columns are nullable; only the column of TIMESTAMP BY always has a value."
    )


P = "CREATE STREAMING TABLE p (a INT, t INT)"
S = "CREATE SOURCE s (a INT) FROM"


@pytest.mark.parametrize(
    ("text", "underlined", "expected"),
    [
        # statements
        ("SELCT 1", "SELCT", 'expected a statement, but found "SELCT"|Hint: Did you mean "SELECT"?'),
        ("5", "5", "expected a statement, but found number 5"),
        ("'x'", "'x'", "expected a statement, but found text 'x'"),
        ("`select` 1", "`select`", 'expected a statement, but found "`select`"'),
        ("EXPLAIN", "", "expected a statement, but found the end of the statement"),
        ("CREATE", "",
         "expected STREAMING, CONTINUOUS, STANDING, STANDARD, TABLE, INDEX, SOURCE, FUNCTION, AGGREGATE or REDUCTION after CREATE, "
         "but found the end of the statement"),
        ("CREATE STREAMING TABEL t", "TABEL", 'expected TABLE or VIEW after CREATE STREAMING, but found "TABEL"|'
         'Hint: Did you mean "TABLE"?'),
        ("CREATE TABLE IF EXISTS t", "EXISTS", 'expected NOT after IF, but found "EXISTS"'),
        ("DROP TABEL t", "TABEL",
         "expected TABLE, STREAMING, STANDARD, INDEX, SOURCE, FEED, FUNCTION, REDUCTION, CONTINUOUS or STANDING after DROP, "
         'but found "TABEL"|Hint: Did you mean "TABLE"?'),
        ("DROP TABLE", "", "expected a table name, but found the end of the statement"),
        ("DROP TABLE select", "select", 'expected a table name, but found "select"|'
         "Hint: Put it in backquotes to use it as a name: `select`."),
        ("DROP TABLE ``", "``", 'expected a table name, but found "``"|'
         "Hint: Put names with other characters in backquotes."),
        ("DROP TABLE a\u200bb", "a\u200bb", 'expected a table name, but found "a\u200bb"|'
         "Hint: Put names with other characters in backquotes."),
        ("DROP INDEX 5", "5", "expected an index name, but found number 5"),
        ("DROP TABLE t u", "u", 'expected the end of the statement, but found "u"'),
        ("SHOW TABELS", "TABELS", "expected TABLES, INDEXES, SOURCES, FEEDS, REJECTED, STATE, TRIGGERS, FUNCTIONS, LAYOUTS, REDUCTIONS, "
         'STREAMING, STANDARD, CONTINUOUS or STANDING after SHOW, but found "TABELS"|Hint: Did you mean "TABLES"?'),
        ("DESCRIBE", "", "expected a table name, but found the end of the statement"),
        # columns
        ("CREATE TABLE t (a INT", "", 'expected "," or ")", but found the end of the statement'),
        ("CREATE TABLE t (a INT,)", ")", 'expected a column name, but found ")"'),
        ("CREATE TABLE t ()", ")", 'expected a column name, but found ")"'),
        ("CREATE TABLE t (a)", ")", 'expected a type, but found ")"'),
        ("CREATE TABLE t (a INT, A INT)", "A INT)", 'column "A" is named twice'),
        ("CREATE TABLE t (a INT NOT NUL)", "NUL", 'expected NULL after NOT, but found "NUL"|'
         'Hint: Did you mean "NULL"?'),
        ("CREATE TABLE t (a INT COMENT 'x')", "COMENT", 'expected "," or ")", but found "COMENT"|'
         'Hint: Did you mean "COMMENT"?'),
        ("CREATE TABLE t (a INT COMMENT x)", "x", 'expected a text after COMMENT, but found "x"'),
        ("CREATE TABLE t (a DECIMAL(x))", "x", 'expected a whole number, but found "x"'),
        ("CREATE TABLE t (a DECIMAL(39, 2))", "DECIMAL(39, 2)",
         "type DECIMAL(39,2) is out of range|Hint: Use DECIMAL(1..38, 0..p)."),
        ("CREATE TABLE t x", "x", 'expected "(", AS or FROM, but found "x"'),
        ("CREATE TABLE t AS 5", "5", "expected a query after AS, but found number 5"),
        ("CREATE TABLE t FROM 5", "5", "expected a kind of foreign table after FROM, such as POSTGRES, but found number 5"),
        ("CREATE TABLE t FROM POSTGRES x", "x", 'expected the address of a database, as a text, but found "x"'),
        ("CREATE TABLE t FROM POSTGRES 'x' TABLE y", "y", 'expected the name of its table, as a text, but found "y"'),
        # clauses
        (f"{P} RANGE UNBOUNDED RANGE UNBOUNDED", "RANGE UNBOUNDED", "clause RANGE is given twice"),
        (f"{P} TIMESTAMP a", "a", 'expected BY after TIMESTAMP, but found "a"'),
        (f"{P} RANGE 5", "5", "expected INTERVAL or UNBOUNDED after RANGE, but found number 5"),
        (f"{P} RANGE UNBOUND", "UNBOUND", 'expected INTERVAL or UNBOUNDED after RANGE, but found "UNBOUND"|'
         'Hint: Did you mean "UNBOUNDED"?'),
        (f"{P} LATENESS 5", "5", "expected INTERVAL, but found number 5"),
        (f"{P} LATENESS INTERVAL 5 MINUET", "INTERVAL 5 MINUET",
         'interval unit "minuet" cannot be used for a window or period|Hint: Did you mean "MINUTE"?'),
        (f"{P} )", ")", 'expected a clause or the end of the statement, but found ")"'),
        (f"{P} WITH (a)", ")", 'expected "=" after option "a", but found ")"'),
        (f"{P} WITH (a = )", ")", 'expected a text, a number or a word, but found ")"'),
        (f"{P} WITH (a = -x)", "x)", "expected a number, but found \"x\""),
        (f"{P} WITH (5 = 5)", "5 = 5", "expected an option name, but found number 5"),
        (f"{P} WITH (k = 1, K = 2)", "K = 2", 'option "K" is given twice'),
        # other statements
        ("CREATE INDEX i (a)", "(", 'expected ON, but found "("'),
        ("CREATE INDEX i ON t", "", 'expected "(", but found the end of the statement'),
        (f"{S} 'x'", "'x'", "expected a kind of source after FROM, such as FILES, but found text 'x'"),
        (f"{S} FILES x", "x", 'expected the location after FILES, as a text, but found "x"'),
        (f"{S} SOCKET 5", "5", "expected the location after SOCKET, as a text, but found number 5"),
        (f"{S} FILES 'x' FORMAT 'csv'", "'csv'", "expected a format name, but found text 'csv'"),
        ("ALTER TABLE t ADD a INT", "a INT", 'expected COLUMN or COLUMNS after ADD, but found "a"'),
        ("ALTER TABLE t RENAM TO u", "RENAM", 'expected ADD, RENAME or SET after the table name, but found "RENAM"|'
         'Hint: Did you mean "RENAME"?'),
        ("ALTER TABLE t SET RANG", "RANG", 'expected RANGE, LATENESS, AHEAD, NOW, IDLE, ACTIVE or REDUCE after SET, but found "RANG"|'
         'Hint: Did you mean "RANGE"?'),
        ("INSERT t VALUES (1)", "t VALUES", 'expected INTO after INSERT, but found "t"'),
        ("INSERT INTO t (a, b VALUES (1)", "VALUES", 'expected "," or ")", but found "VALUES"'),
        ("INSERT INTO t VALUS (1)", "VALUS", 'expected a query after the table name, but found "VALUS"|'
         'Hint: Did you mean "VALUES"?'),
        ("UPDATE t WHERE a = 1", "WHERE", 'expected SET after the table name, but found "WHERE"'),
        ("UPDATE t SET", "", "expected assignments after SET, but found the end of the statement"),
        ("UPDATE t SET a", "a", "expected assignments such as a = 1 after SET"),
        ("UPDATE t SET u.a = 1", "u.a", "expected assignments such as a = 1 after SET"),
        ("DELETE t", "t", 'expected FROM after DELETE, but found "t"'),
        ("DELETE FROM t WERE a = 1", "WERE", 'expected WHERE or the end of the statement, but found "WERE"|'
         'Hint: Did you mean "WHERE"?'),
        ("SELECT FROM t", "t", "SELECT has no columns"),
        ("SELECT", "SELECT", "SELECT has no columns"),
        ("(1 + 2)", "(1 + 2)", "expected a query, but found an expression"),
        ("WITH x AS (1) SELECT 2", "1) ", "expected a query, but found an expression"),
    ],
)  # fmt: skip
def test_syntax_errors(text: str, underlined: str, expected: str) -> None:
    found = error(text)
    assert type(found) is SqlSyntaxError
    first, place, carets, *rest = str(found).split("\n")
    assert [first, *rest] == expected.split("|")
    assert place == f"line 1: {text}"
    assert carets.index("^") - len("line 1: ") == (text.rindex(underlined) if underlined else len(text))


@pytest.mark.parametrize(
    ("text", "underlined", "expected"),
    [
        ("CREATE PROCEDURE f AS 1", "PROCEDURE", "CREATE PROCEDURE is not supported yet"),
        ("MERGE INTO t", "MERGE", "MERGE is not supported"),
        ("CREATE OR REPLACE TABLE t (a INT)", "OR REPLACE", "CREATE OR REPLACE is not supported"),
        ("CREATE TEMPORARY TABLE t (a INT)", "TEMPORARY", "CREATE TEMPORARY is not supported"),
        ("CREATE TABLE t USING parquet", "USING", "clause USING is not supported"),
        ("CREATE TABLE t (a INT) PARTITIONED BY (a)", "PARTITIONED", "clause PARTITIONED BY is not supported"),
        ("CREATE TABLE t (a INT) RANGE UNBOUNDED", "RANGE", "clause RANGE is not supported|"
         "Hint: Only a streaming table has it: CREATE STREAMING TABLE."),
        (f"{P} AS SELECT 1", "AS SELECT", "clause AS is not supported"),
        (f"{P} TIMESTAMP BY a, t", "t", "TIMESTAMP BY takes one column"),
        ("CREATE TABLE a.b (c INT)", "a.b", 'table name "a" has more than one part|'
         "Hint: Use one name: a pond has no schemas."),
        ("CREATE TABLE t (a INT PRIMARY KEY)", "PRIMARY", "PRIMARY KEY is not supported"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a))", "PRIMARY", "PRIMARY KEY is not supported"),
        ("CREATE TABLE t (a INT, CONSTRAINT c UNIQUE (a))", "CONSTRAINT", "CONSTRAINT is not supported"),
        ("CREATE TABLE t (a INT DEFAULT 1)", "DEFAULT", "DEFAULT is not supported"),
        ("CREATE TABLE t (a ARRAY<INT>)", "ARRAY", "type ARRAY is not supported|"
         "Hint: Use one of TINYINT, SMALLINT, INT, BIGINT, BOOLEAN, FLOAT, DOUBLE, DECIMAL, STRING, BINARY, DATE, "
         "TIMESTAMP."),
        ("CREATE TABLE t (a INT NOT NULL)", "NOT", 'column "a" cannot be NOT NULL|'
         "Detail: Columns are nullable; only the column of TIMESTAMP BY always has a value."),
        ("ALTER TABLE t ADD COLUMN a INT NOT NULL", "NOT", 'column "a" cannot be NOT NULL|'
         "Detail: Columns are nullable; only the column of TIMESTAMP BY always has a value."),
        ("ALTER TABLE t DROP COLUMN a", "DROP", "ALTER TABLE DROP is not supported"),
        ("ALTER TABLE t RENAME COLUMN a TO b", "COLUMN", "ALTER TABLE RENAME COLUMN is not supported"),
        ("ALTER TABLE t SET TBLPROPERTIES (a = 1)", "TBLPROPERTIES", "ALTER TABLE SET TBLPROPERTIES is not supported"),
        ("EXPLAIN EXPLAIN SELECT 1", "EXPLAIN", "EXPLAIN EXPLAIN is not supported"),
        ("EXPLAIN EXTENDED SELECT 1", "EXTENDED", "EXPLAIN EXTENDED is not supported"),
        ("INSERT OVERWRITE t SELECT 1", "OVERWRITE", "INSERT OVERWRITE is not supported"),
        ("INSERT INTO t PARTITION (a = 1) SELECT 1", "PARTITION", "clause PARTITION is not supported"),
        ("UPDATE t SET a = 1 FROM u", "u", "UPDATE with FROM is not supported"),
        ("DELETE FROM t WHERE a = 1 LIMIT 3", "3", "DELETE with LIMIT is not supported"),
        ("WITH x AS (DELETE FROM t) SELECT 1", "t)", "DELETE in a query is not supported"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT 1", "WITH", "WITH before INSERT is not supported|"
         "Hint: Put it inside: INSERT INTO t WITH ... SELECT."),
        ("SELECT a INTO u FROM t", "u", "INTO in a query is not supported"),
    ],
)  # fmt: skip
def test_unsupported(text: str, underlined: str, expected: str) -> None:
    found = error(text)
    assert type(found) is UnsupportedSql
    first, place, carets, *rest = str(found).split("\n")
    assert [first, *rest] == expected.split("|")
    assert place == f"line 1: {text}"
    assert carets.index("^") - len("line 1: ") == text.rindex(underlined)


@pytest.mark.parametrize(
    ("text", "kind", "name", "help_"),
    [
        (f"{P} LATNESS INTERVAL 5", "clause", "LATNESS", 'Hint: Did you mean "LATENESS"?'),
        (f"{P} TIMESTMP BY t", "clause", "TIMESTMP", 'Hint: Did you mean "TIMESTAMP BY"?'),
        (
            f"{P} XYZZY",
            "clause",
            "XYZZY",
            "Detail: There is: AHEAD, IDLE AFTER, LATENESS, RANGE, REDUCE BY, SHARD BY, TIMESTAMP BY, WITH.",
        ),
        (f"{S} FILES 'x' FROMAT CSV", "clause", "FROMAT", 'Hint: Did you mean "FORMAT"?'),
        ("CREATE TABLE t (a STRNG)", "type", "STRNG", 'Hint: Did you mean "STRING"?'),
        ("CREATE TABLE t (a DECIMAL(1, 2, 3))", "type", "DECIMAL(1,2,3)", 'Hint: Did you mean "DECIMAL"?'),
        ("CREATE STREAMING TABLE p (vid INT) SHARD BY vit", "column", "vit", 'Hint: Did you mean "vid"?'),
        ("CREATE STREAMING TABLE p (a INT) SHARD BY a, zzz", "column", "zzz", "Detail: There is: a."),
    ],
)
def test_unknown_names(text: str, kind: str, name: str, help_: str) -> None:
    found = error(text)
    assert isinstance(found, UnknownName)
    assert (found.kind, found.name) == (kind, name)
    first, place, carets, last = str(found).split("\n")
    assert first == f'{kind} "{name}" does not exist' + (' in table "p"' if kind == "column" else "")
    assert place == f"line 1: {text}"
    assert last == help_
    assert text[carets.index("^") - 8 :].startswith(name[:7])


def test_unclosed_text_anywhere_is_an_error_with_a_place() -> None:
    assert str(error("DROP TABLE t;\nSELECT 'x")) == "text is never closed\nline 2: SELECT 'x\n               ^^"


# Garbage

SOUP = r"""
FROM WHERE SET INTO BY TIMESTAMP SHARD RANGE LATENESS INTERVAL UNBOUNDED ROWS WITHIN NOW SINCE IF NOT EXISTS NULL AS ON
ADD COLUMN RENAME TO JOIN UNION CASE WHEN OVER LIMIT CAST COUNT LATERAL FILES FORMAT INT DECIMAL MINUTE t a `q` é
QUERY QUERIES VIEW VIEWS ISTREAM DSTREAM SAMPLE REALTIME EACH ROW IDLE AFTER WINDOW OF STATE DO POST PYTHON NOTHING PREV
'x' ' ` " 5 -1 1.5 1eBD ( ) [ ] { } , . ; = * + - < ? @ $ : :: |> -> /* */ -- \
"""
WORDS = [*StatementReader.STATEMENTS, *StatementReader.CREATES, *SOUP.split(), "\n"]
garbage = settings(max_examples=500, deadline=None)


def check_reads_or_says_why(text: str) -> None:
    try:
        statements = parse(text)
    except SqlError as raised:
        found = raised
    else:
        assert all(0 <= s.span.start < s.span.end <= len(text) for s in statements)
        return
    assert isinstance(found, (SqlSyntaxError, UnsupportedSql, UnknownName))
    assert found.sql == text
    assert found.span is not None
    assert 0 <= found.span.start <= found.span.end <= len(text)
    assert "^" in str(found)
    assert "\x1b" not in str(found) or "\x1b" in text
    assert "sqlglot" not in str(found) or "sqlglot" in text


@garbage
@given(some.text())
def test_any_text(text: str) -> None:
    check_reads_or_says_why(text)


@garbage
@given(some.lists(some.sampled_from(WORDS), max_size=14).map(" ".join))
@example("SELECT 1eBD")
@example("UPDATE ( SET a = 1")
@example("SELECT a FROM t [")
def test_any_words(text: str) -> None:
    check_reads_or_says_why(text)


@garbage
@given(
    some.sampled_from([f"{CREATE} RANGE INTERVAL 5 WITH (a = 1)", "SELECT a FROM p [vid ROWS 4] AS s WHERE s.a = 'x'",
                       "INSERT INTO t (a) VALUES (1)", "ALTER TABLE t ADD COLUMNS (a INT)", f"{S} FILES '/x'",
                       "CREATE CONTINUOUS QUERY q RANGE INTERVAL 5 FROM 3 AS SELECT ISTREAM a FROM t [NOW] SAMPLE REALTIME",
                       "ALTER STREAMING VIEW v SET WINDOW OF t = [a ROWS 4]", "ON q DO POST 'x'"]),
    some.integers(0, 80), some.integers(0, 5), some.sampled_from(["", *WORDS]),
)  # fmt: skip
def test_any_slip_of_the_pen(text: str, place: int, length: int, instead: str) -> None:
    check_reads_or_says_why(text[:place] + instead + text[place + length :])
