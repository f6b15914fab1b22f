"""What statements are made of: lists of columns, types, options, clauses. The readers of statements put them together.

Invariant: each method reads what it is named after and leaves the cursor behind it, or raises a `SqlError` that shows the
place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import CatalogError, Span, SqlError, SqlSyntaxError, UnknownName, UnsupportedSql
from millpond.schema import ALIASES, ARRIVAL, TYPE_NAMES, Column, DataType
from millpond.sql.cursor import TokenCursor
from millpond.sql.sizes import check_columns
from millpond.sql.statements import ReduceBy

# Clauses, types and constraints of Spark's SQL that a pond does not have: refused by name.
REFUSED_CLAUSES = ("USING", "PARTITIONED BY", "PARTITION BY", "CLUSTER BY", "CLUSTERED", "LOCATION", "TBLPROPERTIES",
                   "OPTIONS", "COMMENT", "STORED", "ROW", "LIKE", "AS", "PARTITION", "BY", "OVERWRITE")  # fmt: skip
REFUSED_TYPES = ("ARRAY", "MAP", "STRUCT", "VARIANT", "INTERVAL", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ")
CONSTRAINTS = ("PRIMARY KEY", "PRIMARY", "FOREIGN KEY", "FOREIGN", "UNIQUE", "CHECK", "CONSTRAINT", "REFERENCES",
               "DEFAULT", "GENERATED", "COLLATE")  # fmt: skip


class Parts(TokenCursor):
    """The parts that several statements share."""

    def __init__(self, sql: str, tokens: list[Token]) -> None:
        super().__init__(sql, tokens)
        self.begin = 0
        # Columns declared so, by lower-case name; judged when the time column is known.
        self.not_null: dict[str, Span] = {}

    @property
    def place(self) -> Span:
        """The whole statement."""
        return self.span(self.begin, len(self.tokens))

    def refuse(self, words: Iterable[str], *, prefix: str = "", suffix: str = "", hint: str | None = None) -> None:
        """If the next token is one of these words, say that it is not supported."""
        for word in words:
            if self.at(word) or self.at(*word.split()):
                following = self.look(1).text.upper() if word in ("OR", "CONTINUOUS", "MATERIALIZED") else ""
                named = f"{prefix}{word} {following}".rstrip()
                raise self.unsupported(f"{named} is not supported{suffix}", self.index, hint=hint)

    def unsupported(self, primary: str, start: int, *, hint: str | None = None) -> SqlError:
        return UnsupportedSql(primary, hint=hint, sql=self.sql, span=self.span(start, max(self.index, start + 1)))

    def one_of(self, words: tuple[str, ...], after: str) -> str:
        for word in words:
            if self.accept(word):
                return word
        raise self.unexpected(f"{', '.join(words[:-1])} or {words[-1]} after {after}", words)

    def exists(self, *words: str) -> bool:
        """`IF NOT EXISTS` or `IF EXISTS`. A lone IF is a beginning of it, not a name."""
        if not self.accept("IF"):
            return False
        self.expect(*words, after="IF")
        return True

    def parenthesised(self, item: Callable[[], Any]) -> None:
        self.expect("(")
        item()
        while self.accept(","):
            item()
        if not self.accept(")"):
            raise self.unexpected('"," or ")"')

    def name_list(self) -> tuple[str, ...]:
        names: list[str] = []
        self.parenthesised(lambda: names.append(self.name("column")))
        return tuple(names)

    def column_list(self) -> tuple[Column, ...]:
        columns: dict[str, Column] = {}

        def item() -> None:
            start = self.index
            column = self.column()
            if columns.setdefault(column.name.lower(), column) is not column:
                message = f'column "{column.name}" is named twice'
                raise SqlSyntaxError(message, sql=self.sql, span=self.span(start, start + 1))

        start = self.index
        self.parenthesised(item)
        check_columns(len(columns), "a table", self.sql, self.span(start))
        return tuple(columns.values())

    def column(self) -> Column:
        if self.at("WATERMARK", "FOR"):
            hint = "Say it behind the columns: CREATE STREAMING TABLE ... (...) TIMESTAMP BY t LATENESS INTERVAL '5' SECOND."
            raise self.unsupported("WATERMARK FOR is not supported", self.index, hint=hint)
        if self.look(1).text.upper() not in (*TYPE_NAMES, *ALIASES):  # else a column may be called like a constraint
            self.refuse(CONSTRAINTS)
        name = self.name("column")
        column = Column(name, self.type())
        while self.at_word():
            start = self.index
            if self.accept("NOT"):
                self.expect("NULL", after="NOT")
                self.not_null[name.lower()] = self.span(start)
            elif self.accept("COMMENT"):
                self.text("a text after COMMENT")
            else:
                self.refuse(CONSTRAINTS)
                raise self.unexpected('"," or ")"', ("NOT NULL", "COMMENT", *CONSTRAINTS))
        return column

    def type(self) -> DataType:
        start = self.index
        self.refuse(REFUSED_TYPES, prefix="type ", hint=f"Use one of {', '.join(TYPE_NAMES)}.")
        if not self.at_word():
            raise self.unexpected("a type")
        written = self.look().text
        self.index += 1
        if written.upper() == "DOUBLE" and self.accept("PRECISION"):
            written += " PRECISION"
        if self.at("("):
            numbers: list[int] = []
            self.parenthesised(lambda: numbers.append(self.whole("a whole number")))
            written += f"({','.join(map(str, numbers))})"
        try:
            return DataType.parse(written)
        except SqlError as error:
            raise error.at(self.sql, self.span(start)) from None
        except CatalogError as error:
            raise SqlSyntaxError(error.primary, hint=error.hint, sql=self.sql, span=self.span(start)) from error

    def nullable(self, time_column: str | None = None) -> None:
        """Refuse NOT NULL on any column but the time column, which always has a value."""
        for name, span in self.not_null.items():
            if time_column is None or name != time_column.lower():
                detail = "Columns are nullable; only the column of TIMESTAMP BY always has a value."
                raise UnsupportedSql(f'column "{name}" cannot be NOT NULL', detail=detail, sql=self.sql, span=span)

    def own_columns(self, columns: tuple[Column, ...], table: str) -> tuple[str, ...]:
        """Names of columns this statement declares; `arrival` is there without being declared."""
        start = self.index
        names = self.names("column")
        existing = [c.name for c in columns]
        for place, name in enumerate(names):
            if name.lower() not in (ARRIVAL, *map(str.lower, existing)):
                span = self.span(start + 2 * place, start + 2 * place + 1)
                raise UnknownName("column", name, existing, where=f' in table "{table}"', sql=self.sql, span=span)
        return names

    def history(self, clause: str = "RANGE") -> timedelta | None:
        if self.accept("UNBOUNDED"):
            return None
        if not self.at("INTERVAL"):
            raise self.unexpected(f"INTERVAL or UNBOUNDED after {clause}", ("INTERVAL", "UNBOUNDED"))
        return self.interval()

    def reduce_by(self) -> ReduceBy:
        """The design behind REDUCE BY."""
        start = self.index
        design = self.one_of(("RANDOMIZE", "REPLICATE", "LAZY", "NONE"), "REDUCE BY").lower()
        levels: list[int] = []
        if design == "replicate":
            self.parenthesised(lambda: levels.append(self.whole("how many percent of the rows a copy leaves out")))
            if sorted(set(levels)) != levels or levels[0] < 1 or levels[-1] > 99:
                raise SqlSyntaxError(
                    "the levels of REPLICATE are percents from 1 to 99, in ascending order",
                    detail="Each is how much a copy leaves out.",
                    hint="Such as REDUCE BY REPLICATE (20, 40, 60, 80).",
                    sql=self.sql,
                    span=self.span(start),
                )
        return ReduceBy(design, tuple(levels))

    def options(self) -> dict[str, str]:
        """`(key = value, ...)`. Keys are lower-cased and may have dots; values are kept as written."""
        options: dict[str, str] = {}

        def item() -> None:
            start = self.index
            key = self._option_word("an option name")
            while self.accept("."):
                key += "." + self._option_word("an option name")
            if key.lower() in options:
                raise SqlSyntaxError(f'option "{key}" is given twice', sql=self.sql, span=self.span(start))
            self.expect("=", after=f'option "{key}"')
            sign = "-" if self.accept("-") else ""
            if self.look().token_type is TokenType.NUMBER:
                options[key.lower()] = sign + self.look().text
                self.index += 1
            elif sign:
                raise self.unexpected("a number")
            else:
                options[key.lower()] = self._option_word("a text, a number or a word")

        self.parenthesised(item)
        return options

    def _option_word(self, what: str) -> str:
        if not self.at_word():
            return self.text(what)
        self.index += 1
        return self.tokens[self.index - 1].text

    def clauses(self, known: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        """Clauses in any order, each at most once, up to the end of the statement: what each one's reader gave."""
        read: dict[str, Any] = {}
        while self.look():
            here = self.span(self.index, self.index + 1)
            phrase = next((phrase for phrase in known if self.at(phrase.split()[0])), None)
            if phrase is None:
                self.refuse(REFUSED_CLAUSES, prefix="clause ")
                if not self.at_word():
                    raise self.unexpected("a clause or the end of the statement")
                raise UnknownName("clause", self.look().text, known, sql=self.sql, span=here)
            if phrase in read:
                raise SqlSyntaxError(f"clause {phrase} is given twice", sql=self.sql, span=here)
            first, *rest = phrase.split()
            self.expect(first)
            self.expect(*rest, after=first)
            read[phrase] = known[phrase]()
        return read

    def kind(self, expected: str) -> tuple[str, Span]:
        """A word that names a kind of source, sink or foreign table, and its place. The parser does not know which there are."""
        if not self.at_word():
            raise self.unexpected(expected)
        self.index += 1
        return self.tokens[self.index - 1].text.lower(), self.span(self.index - 1, self.index)
