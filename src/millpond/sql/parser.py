"""Text to statements: `parse` reads any number of statements, separated by semicolons.

Our own statements are read by recursive descent over sqlglot's tokens, one method for each (`reader/`); queries, and what
UPDATE and DELETE compute, are trees made by `dialect.read_tree`. To add a statement, write a method that returns it in
`reader/` and put its leading word in `STATEMENTS` or `CREATES` at the end.

Invariant: any text gives statements or a `SqlError` that shows its place. Names are kept as written and not looked up;
what a statement says about itself (a column named twice, a shard key it does not have) is checked while it is read, where
the place is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar

from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import Span, SqlError, SqlSyntaxError
from millpond.sql import statements as st
from millpond.sql.dialect import tokenize
from millpond.sql.literals import fold
from millpond.sql.parameters import Parameters, with_parameters
from millpond.sql.reader.continuous import ContinuousReader
from millpond.sql.reader.definitions import DefinitionReader
from millpond.sql.reader.standing import StandingReader
from millpond.sql.sizes import check_tokens, nested_too_deeply
from millpond.sql.statements import Statement

__all__ = ["parse", "read_standing"]

# Statements to come; refused by name until then, so that nobody takes them for a spelling mistake.
LATER_CREATES = ("PROCEDURE",)
# Words for a continuous query or a streaming view that is not said in full.
SHORTENED = ("QUERY", "VIEW", "MATERIALIZED")
# Spark's own, which a pond does not have.
REFUSED = ("MERGE", "TRUNCATE", "USE", "SET", "RESET", "CACHE", "UNCACHE", "REFRESH", "ANALYZE", "GRANT", "REVOKE",
           "LOAD", "MSCK REPAIR", "CALL", "COMMENT", "BEGIN", "START", "COMMIT", "ROLLBACK", "REPLACE",
           "COPY", "OPTIMIZE", "VACUUM", "DECLARE", "EXECUTE")  # fmt: skip
REFUSED_CREATES = ("OR", "TEMPORARY", "TEMP", "GLOBAL", "EXTERNAL", "DATABASE", "SCHEMA", "UNIQUE", "CATALOG")
SHOWN = ("TABLES", "INDEXES", "SOURCES", "FEEDS", "REJECTED", "STATE", "TRIGGERS", "FUNCTIONS", "LAYOUTS", "REDUCTIONS")


def parse(text: str, parameters: Parameters | None = None, check: Callable[[], None] = lambda: None) -> list[Statement]:
    """The statements of a text, in order; none for an empty one. `parameters` are the values for `?` or `:name` in it.
    `check` is called between steps, and raises to end it.

    >>> [type(s).__name__ for s in parse("DROP TABLE IF EXISTS t; SELECT vid FROM posreports [ROWS 4]")]
    ['Drop', 'Select']
    """
    try:
        folded = _read_folded(text, parameters, check)
        return folded if folded is not None else _read(text, tokenize(text), parameters, check)
    except RecursionError as error:
        raise nested_too_deeply() from error


def read_standing(text: str, parameters: Parameters | None = None) -> st.Standing:
    """The parts of a standing query: `SELECT ... BEGIN ... END ...`."""
    try:
        tokens = tokenize(text)
        check_tokens(tokens)
        parts = list(_split(with_parameters(text, tokens, parameters)))
        if len(parts) != 1:
            raise SqlSyntaxError("a standing query is one query", sql=text, span=Span(0, len(text)))
        return StatementReader(text, parts[0]).standing("")
    except RecursionError as error:
        raise nested_too_deeply() from error


def _read(text: str, tokens: list[Token], parameters: Parameters | None, check: Callable[[], None]) -> list[Statement]:
    check_tokens(tokens)
    found = []
    for part in _split(with_parameters(text, tokens, parameters)):
        check()
        found.append(StatementReader(text, part).statement())
    check()
    return found


def _read_folded(text: str, parameters: Parameters | None, check: Callable[[], None]) -> list[Statement] | None:
    """The statements of a text with long lists of literals; None if it has none, or cannot be read without looking at them."""
    folded = fold(text)
    if folded is None:
        return None
    try:
        tokens = folded.restore(text, tokenize(folded.text))
        return _read(text, tokens, parameters, check) if tokens is not None else None
    except SqlError:
        return None


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


class StatementReader(ContinuousReader, StandingReader, DefinitionReader):
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
            self.refuse_form(self.index)
        self.refuse(REFUSED_CREATES if prefix else REFUSED, prefix=prefix)
        raise self.unexpected(expected, [word for word in readers if word.isalpha()])

    def refuse_shortened(self, prefix: str) -> None:
        hint = f"Write {prefix}CONTINUOUS QUERY or {prefix}STREAMING VIEW."
        self.refuse(SHORTENED, prefix=prefix, hint=hint)

    # Definitions

    def create(self) -> Statement:
        self.expect("CREATE")
        words = "STREAMING, CONTINUOUS, STANDING, STANDARD, TABLE, INDEX, SOURCE, FUNCTION, AGGREGATE or REDUCTION"
        expected = f"{words} after CREATE"
        return self.dispatch(expected, self.CREATES, prefix="CREATE ")

    def create_streaming(self) -> Statement:
        self.expect("STREAMING")
        view = self.one_of(("TABLE", "VIEW"), "CREATE STREAMING") == "VIEW"
        return self.create_query("view", view=True) if view else self.create_streaming_table()

    def drop(self) -> Statement:
        self.expect("DROP")
        self.refuse_shortened("DROP ")
        kind = self.one_of(
            (
                "TABLE",
                "STREAMING",
                "STANDARD",
                "INDEX",
                "SOURCE",
                "FEED",
                "FUNCTION",
                "REDUCTION",
                "CONTINUOUS",
                "STANDING",
            ),
            "DROP",
        )
        if kind == "STANDING":
            self.expect("QUERY", after="DROP STANDING")
            if_exists = self.exists("EXISTS")
            return st.DropStanding(self.sql, self.place, self.standing_name(), if_exists=if_exists)
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
        return self.alter_table()

    # Questions about the pond

    def describe(self) -> Statement:
        self.index += 1
        if self.look(1):
            self.accept("TABLE")
        system = self.at("MILLPOND") and self.look(1).token_type is TokenType.DOT
        self.index += 2 if system else 0
        return st.Describe(self.sql, self.place, self.name("table"), system=system)

    def show(self) -> Statement:
        self.expect("SHOW")
        kind = self.one_of((*SHOWN, "STREAMING", "STANDARD", "CONTINUOUS", "STANDING"), "SHOW")
        if kind in ("CONTINUOUS", "STANDING"):
            self.expect("QUERIES", after=f"SHOW {kind}")
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
        if self.at("STANDING"):
            if analyze:
                hint = "EXPLAIN STANDING QUERY tells how it is answered; INVOKE answers it."
                raise self.unsupported("EXPLAIN ANALYZE of a standing query is not supported", 1, hint=hint)
            self.index += 1
            self.expect("QUERY", after="EXPLAIN STANDING")
            return st.ExplainStanding(self.sql, place, self.standing_name())
        return st.Explain(self.sql, place, self.statement(), analyze=analyze)


StatementReader.STATEMENTS = {
    "SELECT": StatementReader.select,
    "WITH": StatementReader.select,
    "VALUES": StatementReader.select,
    "TABLE": StatementReader.select,
    "FROM": StatementReader.select,
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
    "INVOKE": StatementReader.invoke,
}
StatementReader.CREATES = {
    "STREAMING": StatementReader.create_streaming,
    "CONTINUOUS": StatementReader.create_continuous,
    "STANDING": StatementReader.create_standing,
    "STANDARD": StatementReader.create_standard,
    "TABLE": StatementReader.create_table,
    "FUNCTION": StatementReader.create_function,
    "AGGREGATE": StatementReader.create_function,
    "INDEX": StatementReader.create_index,
    "SOURCE": StatementReader.create_source,
    "REDUCTION": StatementReader.create_reduction,
}
