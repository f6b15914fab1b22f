"""Text to statements: `parse` reads any number of statements, separated by semicolons.

Our own statements are read by recursive descent over sqlglot's tokens, one method for each; queries, and what UPDATE
and DELETE compute, are trees made by `dialect.read_tree`. To add a statement, write a method that returns it and put
its leading word in `STATEMENTS` or `CREATES` at the end.

Invariant: any text gives statements or a `SqlError` that shows its place. Names are kept as written and not looked up;
what a statement says about itself (a column named twice, a shard key it does not have) is checked here, where the
place is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millpond.duration import FOREVER
from millpond.errors import SqlError, SqlSyntaxError, UnsupportedSql
from millpond.schema import Column
from millpond.sql import statements as st
from millpond.sql.chains import balance
from millpond.sql.dialect import TEXTS, VALUES, Cursor, read_tree, span_of, tokenize
from millpond.sql.literals import FOLDED, LiteralRows, fold
from millpond.sql.parameters import Parameters, with_parameters
from millpond.sql.parts import REFUSED_CLAUSES, Parts
from millpond.sql.sizes import Sizes
from millpond.sql.statements import Statement

__all__ = ["parse"]

RELATION_TO_STREAM = ("ISTREAM", "DSTREAM", "RSTREAM")
# Words behind which a name such as `istream` is a column after all.
AFTER_COLUMN = ("FROM", "AS", "IS", "IN", "LIKE", "RLIKE", "ILIKE", "BETWEEN", "AND", "OR", "DIV", "OVER", "WHERE",
                "UNION", "SAMPLE")  # fmt: skip
# Statements to come; refused by name until then, so that nobody takes them for a spelling mistake.
LATER_CREATES = ("PROCEDURE",)
# Words for a continuous query or a streaming view that is not said in full.
SHORTENED = ("QUERY", "VIEW", "MATERIALIZED")
# Spark's own, which a pond does not have.
REFUSED = ("MERGE", "TRUNCATE", "USE", "SET", "RESET", "CACHE", "UNCACHE", "REFRESH", "ANALYZE", "GRANT", "REVOKE",
           "LOAD", "MSCK REPAIR", "CALL", "COMMENT", "BEGIN", "START", "COMMIT", "ROLLBACK", "FROM", "TABLE", "REPLACE",
           "COPY", "OPTIMIZE", "VACUUM", "DECLARE", "EXECUTE")  # fmt: skip
REFUSED_CREATES = ("OR", "TEMPORARY", "TEMP", "GLOBAL", "EXTERNAL", "DATABASE", "SCHEMA", "UNIQUE", "CATALOG")
QUERIES = (exp.Query, exp.Values)
QUERY_STARTS = ("SELECT", "WITH", "VALUES", "(")
QUERY_TOKENS = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN)
SHOWN = ("TABLES", "INDEXES", "SOURCES", "FEEDS", "REJECTED", "STATE", "TRIGGERS", "FUNCTIONS")
SAMPLE_HINT = "Write SAMPLE INTERVAL '1' MINUTE, or SAMPLE REALTIME."


def parse(text: str, parameters: Parameters | None = None) -> list[Statement]:
    """The statements of a text, in order; none for an empty one. `parameters` are the values for `?` or `:name` in it.

    >>> [type(s).__name__ for s in parse("DROP TABLE IF EXISTS t; SELECT vid FROM posreports [ROWS 4]")]
    ['Drop', 'Select']
    """
    try:
        return _read_folded(text, parameters) or _read(text, with_parameters(text, tokenize(text), parameters))
    except RecursionError as error:
        raise nested_too_deeply() from error


def _read(text: str, tokens: Iterable[Token]) -> list[Statement]:
    return [StatementReader(text, part).statement() for part in _split(tokens)]


def _read_folded(text: str, parameters: Parameters | None) -> list[Statement] | None:
    """The statements of a text with long lists of literals; None if it has none, or cannot be read without looking at them."""
    folded = fold(text)
    if folded is None:
        return None
    try:
        tokens = folded.restore(text, tokenize(folded.text))
        return _read(text, with_parameters(text, tokens, parameters)) if tokens is not None else None
    except SqlError:
        return None


def nested_too_deeply() -> UnsupportedSql:
    return UnsupportedSql(
        "a statement is nested too deeply",
        detail="Long chains of operators and of UNION count as nested.",
        hint="Take it apart, for example with standard tables; a list of values can stand in IN (...) or VALUES.",
    )


def _split(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            part.append(token)
        elif part:
            yield part
            part = []
    if part:
        yield part


# `t VERSION AS OF 3` and its like go back to a version of a table's files, as other systems know it.
TIME_TRAVEL = ("VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME")


class StatementReader(Parts):
    """Reads one statement. Used once."""

    STATEMENTS: ClassVar[dict[str, Callable[[StatementReader], Statement]]]
    CREATES: ClassVar[dict[str, Callable[[StatementReader], Statement]]]

    def statement(self) -> Statement:
        result = self.dispatch("a statement", self.STATEMENTS, prefix="")
        if self.look():
            raise self.unexpected("the end of the statement")
        return result

    def dispatch(
        self, expected: str, readers: Mapping[str, Callable[[StatementReader], Statement]], prefix: str
    ) -> Statement:
        for word, read in readers.items():
            if self.at(word):
                return read(self)
        if prefix:
            self.refuse(LATER_CREATES, prefix=prefix, suffix=" yet")
            self.refuse_shortened(prefix)
        else:
            self.refuse(("SUBSCRIBE", "KILL"), hint="Python does it: db.subscribe(<query>), and close() ends it.")
            self._refuse_form(self.index)
        self.refuse(REFUSED_CREATES if prefix else REFUSED, prefix=prefix)
        raise self.unexpected(expected, [word for word in readers if word.isalpha()])

    def refuse_shortened(self, prefix: str) -> None:
        hint = f"Write {prefix}CONTINUOUS QUERY or {prefix}STREAMING VIEW."
        self.refuse(SHORTENED, prefix=prefix, hint=hint)

    # Definitions

    def create(self) -> Statement:
        self.expect("CREATE")
        expected = "STREAMING, CONTINUOUS, STANDARD, TABLE, INDEX, SOURCE, FUNCTION or AGGREGATE after CREATE"
        return self.dispatch(expected, self.CREATES, prefix="CREATE ")

    def create_streaming(self) -> Statement:
        self.expect("STREAMING")
        if self.one_of(("TABLE", "VIEW"), "CREATE STREAMING") == "VIEW":
            return self.create_query("view", view=True)
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("table")
        columns = self.column_list()

        def time_column() -> str:
            names = self.own_columns(columns, name)
            if len(names) > 1:
                raise self.unsupported("TIMESTAMP BY takes one column", self.index - 1)
            return names[0]

        read = self.clauses(
            {
                "TIMESTAMP BY": time_column,
                "SHARD BY": lambda: self.own_columns(columns, name),
                "RANGE": self.history,
                "LATENESS": self.interval,
                "AHEAD": lambda: (self.history("AHEAD"),),
                "WITH": self.options,
            }
        )
        self.nullable(read.get("TIMESTAMP BY"))
        return st.CreateStreamingTable(
            self.sql, self.place, name, columns,
            time_column=read.get("TIMESTAMP BY"), shard_by=read.get("SHARD BY", ()), history=read.get("RANGE"),
            lateness=read.get("LATENESS", timedelta(0)), ahead=read.get("AHEAD"),
            options=read.get("WITH", {}), if_not_exists=if_not_exists,
        )  # fmt: skip

    def create_continuous(self) -> Statement:
        self.expect("CONTINUOUS")
        self.expect("QUERY", after="CREATE CONTINUOUS")
        return self.create_query("query", view=False)

    def create_query(self, noun: str, *, view: bool) -> Statement:
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name(noun)
        read: dict[str, Any] = {}
        while not self.accept("AS"):
            clause = self.one_of(("RANGE", "FROM", "AS"), f"the {noun}'s name")
            if clause in read:
                message = f"clause {clause} is given twice"
                raise SqlSyntaxError(message, sql=self.sql, span=self.span(self.index - 1, self.index))
            read[clause] = self.kept() if clause == "RANGE" else self.moment()
        return st.CreateQuery(
            self.sql, self.place, name, self.continuous("AS"), view=view,
            history=read.get("RANGE"), start=read.get("FROM"), if_not_exists=if_not_exists,
        )  # fmt: skip

    def kept(self) -> timedelta:
        """How long results are kept."""
        start = self.index
        if self.accept("UNBOUNDED"):
            return FOREVER
        period = self.interval()
        if period <= timedelta(0):
            raise SqlSyntaxError("results cannot be kept for 0 seconds", sql=self.sql, span=self.span(start),
                                 hint="Leave RANGE out to keep those of the last instant.")  # fmt: skip
        return period

    def moment(self) -> int | str:
        """A time: a whole number, or a text."""
        is_text = self.look().token_type in TEXTS
        return self.text("") if is_text else self.whole("a time: a whole number or a text")

    def continuous(self, after: str) -> st.Continuous:
        """The rest of the statement: a SELECT, perhaps with ISTREAM or its like, and SAMPLE at the end."""
        if not any(self.at(start) for start in QUERY_STARTS):
            raise self.unexpected(f"a query after {after}", QUERY_STARTS[:-1])
        start = self.index
        end = self._sample()
        self.index = end + 1
        slide = self.slide("SAMPLE")
        if self.look():
            raise self.unexpected("the end of the statement")
        form = self._form(start, end)
        tokens = [t for place, t in enumerate(self.tokens[start:end], start) if place != form]
        text = self.sql[self.tokens[start].start : self.tokens[end - 1].end + 1]
        if form is not None:  # blanks in its place, so that everything else stays where it was
            cut = self.tokens[form].start - self.tokens[start].start
            length = len(self.tokens[form].text)
            text = text[:cut] + " " * length + text[cut + length :]
        inner = StatementReader(self.sql, tokens)
        tree = inner.query(after)
        word = self.tokens[form].text.lower() if form is not None else "rstream"
        return st.Continuous(text, tree, word, slide)

    def _sample(self) -> int:
        """Where the SAMPLE clause begins. A table or column may be called so too: the last place it can be is it."""
        places = [Cursor(self.sql, self.tokens, i) for i in range(len(self.tokens) - 1, self.index, -1)]
        for here in places:
            if here.at("SAMPLE", "INTERVAL") or here.at("SAMPLE", "REALTIME"):
                return here.index
        for here in places:  # misspelt or unfinished
            if here.accept("SAMPLE") and (not here.look() or here.at_word() or here.look().token_type in VALUES):
                return here.index - 1
        self.index = len(self.tokens)
        raise self.unexpected("SAMPLE at the end of a continuous query", hint=SAMPLE_HINT)

    def _form(self, start: int, end: int) -> int | None:
        """Where ISTREAM, DSTREAM or RSTREAM stands behind the first SELECT of the query itself, if it does."""
        depth = 0
        for place in range(start, end - 1):
            token = self.tokens[place]
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            if depth == 0 and token.token_type is TokenType.SELECT:
                return place + 1 if self._is_form(place + 1) else None
        return None

    def _is_form(self, place: int) -> bool:
        """Whether ISTREAM or its like stands here, and not a column of that name: an expression follows it."""
        here = Cursor(self.sql, self.tokens, place)
        if not here.at_word() or here.look().text.upper() not in RELATION_TO_STREAM:
            return False
        here.index += 1
        if here.at_word():
            return here.look().text.upper() not in AFTER_COLUMN
        if here.accept("*"):
            return not here.look() or here.at(",") or (here.at_word() and here.look().text.upper() != "AS")
        return here.at("(") or here.at("-") or here.look().token_type in VALUES

    def _refuse_form(self, place: int) -> None:
        if self._is_form(place):
            word = self.tokens[place].text.upper()
            raise self.unsupported(f"{word} stands behind the first SELECT of a continuous query", place)

    def slide(self, after: str) -> timedelta | None:
        if self.accept("REALTIME"):
            return None
        if not self.at("INTERVAL"):
            raise self.unexpected(f"INTERVAL or REALTIME after {after}", ("INTERVAL", "REALTIME"))
        place = self.index
        slide = self.interval()
        if slide <= timedelta(0):
            raise SqlSyntaxError("a query cannot be sampled every 0 seconds", sql=self.sql, span=self.span(place))
        return slide

    def alter_query(self, noun: str) -> Statement:
        name = self.name(noun)
        self.expect("SET", after=f"the {noun}'s name")
        action = self.one_of(("WINDOW", "SAMPLE", "RANGE"), "SET")
        if action == "SAMPLE":
            return st.AlterQuery(self.sql, self.place, name, slide=(self.slide("SET SAMPLE"),), view=noun == "view")
        if action == "RANGE":
            return st.AlterQuery(self.sql, self.place, name, history=self.kept(), view=noun == "view")
        self.expect("OF", after="WINDOW")
        alias = self.name("table")
        self.expect("=", after="the table's name")
        # The brackets can be left out: SET WINDOW OF s = INTERVAL '5' MINUTE.
        window = self.window() if self.at("[") else st.Window(interval=self.interval())
        return st.AlterQuery(self.sql, self.place, name, window=(alias, window), view=noun == "view")

    def pause(self) -> Statement:
        pause = self.one_of(("PAUSE", "RESUME"), "") == "PAUSE"
        word = "PAUSE" if pause else "RESUME"
        noun = self.query_noun(word)
        return st.PauseQuery(self.sql, self.place, self.name(noun), pause, view=noun == "view")

    def query_noun(self, after: str) -> str:
        if self.one_of(("CONTINUOUS", "STREAMING"), after) == "CONTINUOUS":
            self.expect("QUERY", after=f"{after} CONTINUOUS")
            return "query"
        self.expect("VIEW", after=f"{after} STREAMING")
        return "view"

    def trigger(self) -> Statement:
        self.expect("ON")
        query = self.name("query")
        self.expect("DO", after="the query's name")
        if self.accept("NOTHING"):
            return st.DropTrigger(self.sql, self.place, query)
        kind, kind_place = self.kind("a kind of sink after DO, such as POST, or NOTHING")
        target = self.text(f"the target after {kind.upper()}, as a text")
        options = self.clauses({"WITH": self.options}).get("WITH", {})
        return st.CreateTrigger(self.sql, self.place, query, kind, target, options, kind_place)

    def create_function(self) -> Statement:
        kind = "table" if self.accept("TABLE") else "aggregate" if self.accept("AGGREGATE") else "scalar"
        if kind != "aggregate":
            self.expect("FUNCTION")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("function")
        if self.accept("(", ")"):
            arguments: tuple[Column, ...] = ()
        else:
            arguments = self.column_list()
        self.expect("RETURNS", after="the arguments")
        returns = self.column_list() if kind == "table" else (Column("result", self.type()),)
        self.nullable()
        nulls = self.accept("CALLED", "ON", "NULL", "INPUT")
        if not nulls:
            self.accept("RETURNS", "NULL", "ON", "NULL", "INPUT")
        self.expect("AS", "PYTHON", after="what the function returns")
        python = self.text("'<module>:<name>', as a text")
        return st.CreateFunction(
            self.sql, self.place, name, kind, arguments, returns, python, nulls=nulls, if_not_exists=if_not_exists
        )

    def create_table(self) -> Statement:
        """TABLE FUNCTION, unless what follows says that a table is called `function`."""
        after = Cursor(self.sql, self.tokens, self.index + 2)
        named = after.at_word() or after.look().token_type is TokenType.IDENTIFIER
        if self.at("TABLE", "FUNCTION") and named and not after.at("AS") and not after.at("FROM"):
            return self.create_function()
        return self.create_standard()

    def create_standard(self) -> Statement:
        self.accept("STANDARD")
        self.expect("TABLE", after="CREATE STANDARD")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("table")
        parts: dict[str, Any] = {}
        if self.accept("AS"):
            parts["query"] = self.query("AS")
        elif self.accept("FROM"):
            self.expect("POSTGRES", after="FROM")
            parts["postgres"] = self.text("the address of a database, as a text")
            if self.accept("TABLE"):
                parts["postgres_table"] = self.text("the name of its table, as a text")
        elif self.at("("):
            parts["columns"] = self.column_list()
            self.nullable()
            hint = "Only a streaming table has it: CREATE STREAMING TABLE."
            self.refuse(("TIMESTAMP", "SHARD", "RANGE", "LATENESS", "AHEAD", "WITH"), prefix="clause ", hint=hint)
            self.refuse(REFUSED_CLAUSES, prefix="clause ")
        else:
            self.refuse(REFUSED_CLAUSES, prefix="clause ")
            raise self.unexpected('"(", AS or FROM', ("AS", "FROM"))
        return st.CreateStandardTable(self.sql, self.place, name, if_not_exists=if_not_exists, **parts)

    def create_index(self) -> Statement:
        self.expect("INDEX")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = None if self.at("ON") else self.name("index")
        self.expect("ON")
        table = self.name("table")
        return st.CreateIndex(self.sql, self.place, table, self.name_list(), name=name, if_not_exists=if_not_exists)

    def create_source(self) -> Statement:
        self.expect("SOURCE")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("source")
        columns = self.column_list()
        self.nullable()
        self.expect("FROM")
        kind, kind_place = self.kind("a kind of source after FROM, such as FILES")
        location = self.text(f"the location after {kind.upper()}, as a text")
        read = self.clauses({"FORMAT": lambda: self.name("format").lower(), "WITH": self.options})
        return st.CreateSource(
            self.sql, self.place, name, columns, kind, location, format=read.get("FORMAT"),
            options=read.get("WITH", {}), if_not_exists=if_not_exists, kind_place=kind_place,
        )  # fmt: skip

    def drop(self) -> Statement:
        self.expect("DROP")
        self.refuse_shortened("DROP ")
        kind = self.one_of(
            ("TABLE", "STREAMING", "STANDARD", "INDEX", "SOURCE", "FEED", "FUNCTION", "CONTINUOUS"), "DROP"
        )
        if kind == "CONTINUOUS":
            self.expect("QUERY", after="DROP CONTINUOUS")
            kind += " QUERY"
        elif kind == "STREAMING":
            kind += " " + self.one_of(("TABLE", "VIEW"), "DROP STREAMING")
        elif kind == "STANDARD":
            self.expect("TABLE", after="DROP STANDARD")
            kind += " TABLE"
        if_exists = self.exists("EXISTS")
        noun = kind.lower().split()[-1]
        return st.Drop(self.sql, self.place, kind.lower(), self.name(noun), if_exists=if_exists)

    def alter(self) -> Statement:
        self.expect("ALTER")
        self.refuse_shortened("ALTER ")
        kind = self.one_of(("TABLE", "STREAMING", "STANDARD", "CONTINUOUS"), "ALTER")
        if kind == "CONTINUOUS":
            self.expect("QUERY", after="ALTER CONTINUOUS")
            return self.alter_query("query")
        if kind == "STREAMING" and self.one_of(("TABLE", "VIEW"), "ALTER STREAMING") == "VIEW":
            return self.alter_query("view")
        if kind == "STANDARD":
            self.expect("TABLE", after="ALTER STANDARD")
        name = self.name("table")
        self.refuse(("DROP", "ALTER", "CHANGE", "REPLACE", "RECOVER"), prefix="ALTER TABLE ")
        action = self.one_of(("ADD", "RENAME", "SET"), "the table name")
        change: dict[str, Any] = {}
        if action == "ADD":
            many = self.one_of(("COLUMN", "COLUMNS"), "ADD") == "COLUMNS"
            change["add_columns"] = self.column_list() if many else (self.column(),)
            self.nullable()
        elif action == "RENAME":
            self.refuse(("COLUMN",), prefix="ALTER TABLE RENAME ")
            self.expect("TO", after="RENAME")
            change["rename_to"] = self.name("table")
        elif self.at("("):
            change["options"] = self.options()
        else:
            self.refuse(("TBLPROPERTIES", "LOCATION"), prefix="ALTER TABLE SET ")
            what = self.one_of(("RANGE", "LATENESS", "AHEAD", "NOW", "IDLE", "ACTIVE"), "SET")
            if what == "LATENESS":
                change["lateness"] = self.interval()
            elif what == "AHEAD":
                change["ahead"] = (self.history("AHEAD"),)
            elif what == "NOW":
                change["now"] = self.moment()
            elif what != "RANGE":
                change["idle"] = what == "IDLE"
            else:
                change["history"] = self.history()
                change["drop_history"] = change["history"] is None
        return st.AlterTable(self.sql, self.place, name, **change)

    # Questions about the pond

    def describe(self) -> Statement:
        self.index += 1
        if self.look(1):
            self.accept("TABLE")
        schema = "millpond." if self.at("MILLPOND") and self.look(1).token_type is TokenType.DOT else ""
        self.index += 2 if schema else 0
        return st.Describe(self.sql, self.place, schema + self.name("table"))

    def show(self) -> Statement:
        self.expect("SHOW")
        kind = self.one_of((*SHOWN, "STREAMING", "STANDARD", "CONTINUOUS"), "SHOW")
        if kind == "CONTINUOUS":
            self.expect("QUERIES", after="SHOW CONTINUOUS")
            kind += " QUERIES"
        elif kind == "STREAMING":
            kind += " " + self.one_of(("TABLES", "VIEWS"), "SHOW STREAMING")
        elif kind == "STANDARD":
            self.expect("TABLES", after="SHOW STANDARD")
            kind += " TABLES"
        return st.Show(self.sql, self.place, kind.lower())

    def explain(self) -> Statement:
        place = self.place
        self.expect("EXPLAIN")
        analyze = self.accept("ANALYZE")
        self.refuse(("EXTENDED", "CODEGEN", "COST", "FORMATTED", "EXPLAIN"), prefix="EXPLAIN ")
        self.begin = self.index
        if self.at("CONTINUOUS") or self.at("STREAMING"):
            if analyze:
                hint = "EXPLAIN CONTINUOUS QUERY tells where it stands, SHOW STATE what it holds."
                raise self.unsupported("EXPLAIN ANALYZE of a continuous query is not supported", 1, hint=hint)
            noun = self.query_noun("EXPLAIN")
            return st.ExplainQuery(self.sql, place, self.name(noun), view=noun == "view")
        return st.Explain(self.sql, place, self.statement(), analyze=analyze)

    # Queries and changes of rows

    def select(self) -> Statement:
        place = self.place
        as_of = self.as_of()
        return st.Select(self.sql, place, self.query(""), as_of)

    def as_of(self) -> int | str | None:
        """The time of an AS OF at the end of the statement, which is taken off."""
        words = [token.text.upper() for token in self.tokens[-5:]]
        for length in range(3, len(words) + 1):
            if words[-length : 2 - length or None] == ["AS", "OF"]:
                if len(self.tokens) > length and self.tokens[-length - 1].text.upper() in TIME_TRAVEL:
                    return None  # another thing, and refused as such
                tokens, begin = self.tokens, self.index
                self.index = len(tokens) - length + 2
                self.accept("TIMESTAMP")
                moment = self.moment()
                if self.index < len(tokens):
                    raise self.unexpected("the end of the statement after AS OF and a time")
                self.tokens, self.index = tokens[:-length], begin
                return moment
        return None

    def query(self, after: str) -> exp.Expression:
        """The rest of the statement as a query."""
        if not any(self.at(start) for start in QUERY_STARTS):
            raise self.unexpected(f"a query after {after}", QUERY_STARTS[:-1])
        self._refuse_continuous()
        place = self.span(self.index, len(self.tokens))
        tree = self.tree(self.index)
        if isinstance(tree, exp.DML):
            hint = "Put it inside: INSERT INTO t WITH ... SELECT."
            raise UnsupportedSql(
                f"WITH before {tree.key.upper()} is not supported", hint=hint, sql=self.sql, span=place
            )
        if not isinstance(tree, QUERIES):
            raise SqlSyntaxError("expected a query, but found an expression", sql=self.sql, span=place)
        return tree

    def tree(self, start: int) -> exp.Expression:
        """The tokens from `start` to the end as a tree, without what sqlglot reads and a query cannot mean."""
        self.index = len(self.tokens)
        tree = balance(read_tree(self.sql, self.tokens[start:]))
        sizes = Sizes(self.sql, self.place)
        for node in tree.walk():
            if isinstance(node, exp.Select) and not node.expressions:
                raise SqlSyntaxError("SELECT has no columns", sql=self.sql, span=span_of(node) or self.place)
            sizes.see(node)
            if node is not tree and isinstance(node, (exp.Into, exp.DML)):
                message = f"{node.key.upper()} in a query is not supported"
                raise UnsupportedSql(message, sql=self.sql, span=span_of(node) or self.place)
            if isinstance(node, exp.CTE) and not isinstance(node.this, (*QUERIES, exp.DML)):
                message = "expected a query, but found an expression"
                raise SqlSyntaxError(message, sql=self.sql, span=span_of(node.this) or self.place)
        return tree

    def _refuse_continuous(self) -> None:
        """SAMPLE and ISTREAM belong to continuous queries; sqlglot would take them for aliases and columns."""
        for place, (token, following) in enumerate(pairwise(self.tokens[self.index :]), self.index):
            if token.token_type is TokenType.VAR and token.text.upper() == "SAMPLE":
                if following.text.upper() in ("INTERVAL", "REALTIME"):
                    hint = "Give it a name: CREATE CONTINUOUS QUERY <name> AS SELECT ..."
                    raise self.unsupported("SAMPLE belongs to a continuous query", place, hint=hint)
            elif token.token_type is TokenType.SELECT:
                distinct = following.token_type in (TokenType.DISTINCT, TokenType.ALL)
                self._refuse_form(place + 2 if distinct else place + 1)

    def insert(self) -> Statement:
        self.expect("INSERT")
        self.refuse(("OVERWRITE",), prefix="INSERT ")
        self.expect("INTO", after="INSERT")
        if self.at("TABLE") and self.look(1).token_type is not TokenType.L_PAREN:
            self.index += 1
        table = self.name("table")
        starts_query = self.look(1).token_type in QUERY_TOKENS
        columns = self.name_list() if self.at("(") and not starts_query else ()
        self.refuse(REFUSED_CLAUSES, prefix="clause ")
        folded = self.look(1) if self.at("VALUES") and self.look(1).token_type is FOLDED else None
        rows = LiteralRows.read(folded) if folded else None
        if rows is None:
            return st.Insert(self.sql, self.place, table, columns, self.query("the table name"))
        self.index += 2
        return st.Insert(self.sql, self.place, table, columns, rows.sample(), rows)

    def update(self) -> Statement:
        start = self.index
        self.expect("UPDATE")
        table = self.name("table")
        self.expect("SET", after="the table name")
        tree = self.change(start)
        assignments: list[tuple[str, exp.Expression]] = []
        for pair in tree.expressions:
            column = pair.this if isinstance(pair, exp.EQ) else None
            if not isinstance(column, exp.Column) or column.table.lower() not in ("", table.lower()):
                message = "expected assignments such as a = 1 after SET"
                raise SqlSyntaxError(message, sql=self.sql, span=span_of(column or pair) or self.place)
            assignments.append((column.name, pair.expression))
        if not assignments:
            raise self.unexpected("assignments after SET")
        return st.Update(self.sql, self.place, table, tuple(assignments), _condition(tree))

    def delete(self) -> Statement:
        start = self.index
        self.expect("DELETE")
        self.expect("FROM", after="DELETE")
        table = self.name("table")
        if self.look() and not self.at("WHERE"):
            raise self.unexpected("WHERE or the end of the statement", ["WHERE"])
        return st.Delete(self.sql, self.place, table, _condition(self.change(start)))

    def change(self, start: int) -> exp.Expression:
        """The tree of an UPDATE or DELETE of one table, with nothing besides SET and WHERE."""
        tree = self.tree(start)
        for key, value in tree.args.items():
            if value and key not in ("this", "expressions", "where"):
                part = value[0] if isinstance(value, list) else value
                message = f"{tree.key.upper()} with {key.strip('_').upper()} is not supported"
                span = span_of(part) if isinstance(part, exp.Expr) else None
                raise UnsupportedSql(message, sql=self.sql, span=span or self.place)
        return tree


def _condition(tree: exp.Expr) -> exp.Expression | None:
    where = tree.args.get("where")
    return where.this if where else None


StatementReader.STATEMENTS = {
    "SELECT": StatementReader.select,
    "WITH": StatementReader.select,
    "VALUES": StatementReader.select,
    "(": StatementReader.select,
    "INSERT": StatementReader.insert,
    "UPDATE": StatementReader.update,
    "DELETE": StatementReader.delete,
    "CREATE": StatementReader.create,
    "DROP": StatementReader.drop,
    "ALTER": StatementReader.alter,
    "DESCRIBE": StatementReader.describe,
    "DESC": StatementReader.describe,
    "SHOW": StatementReader.show,
    "EXPLAIN": StatementReader.explain,
    "PAUSE": StatementReader.pause,
    "RESUME": StatementReader.pause,
    "ON": StatementReader.trigger,
}
StatementReader.CREATES = {
    "STREAMING": StatementReader.create_streaming,
    "CONTINUOUS": StatementReader.create_continuous,
    "STANDARD": StatementReader.create_standard,
    "TABLE": StatementReader.create_table,
    "FUNCTION": StatementReader.create_function,
    "AGGREGATE": StatementReader.create_function,
    "INDEX": StatementReader.create_index,
    "SOURCE": StatementReader.create_source,
}
