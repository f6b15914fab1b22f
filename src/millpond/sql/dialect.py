"""Spark's SQL plus windows: how sqlglot is used here, and everything about its tokens, places and errors.

The language of queries is Spark's. millpond adds one thing inside a query, a window behind a table name in FROM or JOIN
(`posreports [vid ROWS 4] AS p`), kept as a `Window` in `table.meta["window"]` so that it survives `copy()` and means
nothing to code that has not heard of it. A bracket behind anything but a table name stays an array subscript.

`Cursor` is the other half: a place in a list of tokens, used for windows here and for whole statements in `parser.py`.

Invariant: nothing of sqlglot's own error handling leaves this module. Whatever it cannot read becomes a `SqlError` that
carries the whole text and the place in it; places are offsets in the whole text, however many statements it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from millpond.duration import UNITS, duration, parse_duration
from millpond.errors import Span, SqlError, SqlSyntaxError, UnsupportedSql, nearest
from millpond.schema import SEQ
from millpond.sql.literals import FOLDED, check_numbers, list_literal
from millpond.sql.statements import Window

__all__ = [
    "CORRELATED",
    "ERROR_IS_FINE",
    "NORMS",
    "OF_CONDITION",
    "ORIGINAL_NAME",
    "Cursor",
    "Millpond",
    "WINDOW",
    "WINDOW_SPAN",
    "read_tree",
    "span_of",
    "tokenize",
]

T = TypeVar("T")

WINDOW = "window"  # keys in the meta of an exp.Table
WINDOW_SPAN = "window_span"
OF_CONDITION = (
    "of_condition"  # in the meta of a call f(y WHERE condition, ...): its first two arguments are y and the condition
)
ORIGINAL_NAME = "millpond_name"  # in the meta of a call that sqlglot has a class for: the name that was written
ERROR_IS_FINE = "error_is_fine"  # in the meta of a power: the query names an error that it may have

CORRELATED = {
    f"CORRELATED_{what}{suffix}": (what.lower(), shown)
    for what in ("COUNT", "SUM", "AVG")
    for suffix, shown in (("", "value"), ("_LOWER", "lower"), ("_UPPER", "upper"))
}
"""The aggregates that take a condition: what is aggregated of the rows, and whether the value or a bound is shown."""

NORMS = {"approx_norm": "value", "approx_norm_lower": "lower", "approx_norm_upper": "upper"}
"""The names of a norm: whether the value or a bound is shown."""

TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
# Tokens whose text is a value or a quoted name: never a keyword or a symbol, whatever it says.
VALUES = TEXTS | {
    TokenType.NUMBER, TokenType.IDENTIFIER, TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.BYTE_STRING,
    TokenType.NATIONAL_STRING, TokenType.NATIONAL_RAW_STRING, TokenType.HEREDOC_STRING, TokenType.UNICODE_STRING,
}  # fmt: skip
# Words that may follow an interval without being its unit.
AFTER_INTERVAL = frozenset(
    {"TIMESTAMP", "SHARD", "RANGE", "LATENESS", "AHEAD", "WITH", "WITHIN", "SAMPLE", "AS", "FROM"}
)
WINDOW_WORDS = ("ROWS", "INTERVAL", "LANDMARK", "SINCE", "NOW", "UNBOUNDED")
WINDOW_HINT = "Write [ROWS 4], [vid ROWS 4], [INTERVAL '1' MINUTE], [LANDMARK DAY], [NOW], [SINCE 600] or [UNBOUNDED]."
LANDMARKS = ("MINUTE", "HOUR", "DAY")
QUERY_WORDS = ("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "UNION", "SET", "VALUES")
MOST_DIGITS = 18  # what fits a BIGINT; also keeps int() away from Python's own limit on digits


class Cursor:
    """A place in the tokens of one statement, and the words for what was expected there.

    Keywords are matched in any case, and never match a quoted name or a text. `sql` is the whole text the tokens were
    read from, so that every error can show its place.
    """

    def __init__(self, sql: str, tokens: list[Token], index: int = 0) -> None:
        self.sql = sql
        self.tokens = tokens
        self.index = index

    def look(self, ahead: int = 0) -> Token:
        """The token here or further on; past the end, sqlglot's sentinel, which is false."""
        place = self.index + ahead
        return self.tokens[place] if place < len(self.tokens) else SENTINEL_NONE

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these keywords or symbols."""
        tokens = self.tokens[self.index : self.index + len(words)]
        return len(tokens) == len(words) and all(
            t.token_type not in VALUES and t.text.upper() == w for t, w in zip(tokens, words, strict=True)
        )

    def at_word(self) -> bool:
        """Whether the next token is an unquoted word, keyword or not."""
        token = self.look()
        return bool(token) and token.token_type not in VALUES and (token.text[:1].isalpha() or token.text[:1] == "_")

    def accept(self, *words: str) -> bool:
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def expect(self, *words: str, after: str = "") -> None:
        for word in words:
            if not self.accept(word):
                shown = word if word.isalpha() else f'"{word}"'
                raise self.unexpected(f"{shown} after {after}" if after else shown, [word])

    def span(self, start: int, end: int | None = None) -> Span:
        """The characters of the tokens from `start` up to but without `end` (default: here)."""
        end = self.index if end is None else end
        if start >= len(self.tokens):
            return self._end()
        last = self.tokens[max(start, min(end, len(self.tokens)) - 1)]
        return Span(self.tokens[start].start, last.end + 1)

    def _end(self) -> Span:
        place = self.tokens[-1].end + 1 if self.tokens else len(self.sql)
        return Span(place, place)

    def unexpected(self, expected: str, words: Iterable[str] = (), *, hint: str | None = None) -> SqlSyntaxError:
        """An error at the next token; offers the nearest of `words` when it looks misspelt."""
        close = nearest(self.look().text, words) if self.at_word() else None
        if close and hint is None:
            hint = f'Did you mean "{close}"?'
        message = f"expected {expected}, but found {found(self.sql, self.look())}"
        return SqlSyntaxError(message, hint=hint, sql=self.sql, span=self.span(self.index, self.index + 1))

    def name(self, kind: str) -> str:
        """A name, in backquotes or not. Any word a query could use as a name is one."""
        token = self.look()
        quoted = token.token_type is TokenType.IDENTIFIER
        if not quoted and token.token_type not in Millpond.Parser.ID_VAR_TOKENS:
            hint = f"Put it in backquotes to use it as a name: `{token.text}`." if self.at_word() else None
            raise self.unexpected(f"{article(kind)} name", hint=hint)
        if not token.text or not (quoted or token.text.replace("_", "").isalnum() or set(token.text) == {"_"}):
            raise self.unexpected(f"{article(kind)} name", hint="Put names with other characters in backquotes.")
        self.index += 1
        if self.at("."):
            raise UnsupportedSql(
                f'{kind} name "{token.text}" has more than one part',
                hint="Use one name: a pond has no schemas.",
                sql=self.sql,
                span=self.span(self.index - 1, self.index + 2),
            )
        return token.text

    def names(self, kind: str) -> tuple[str, ...]:
        names = [self.name(kind)]
        while self.accept(","):
            names.append(self.name(kind))
        return tuple(names)

    def text(self, what: str) -> str:
        if self.look().token_type not in TEXTS:
            raise self.unexpected(what)
        self.index += 1
        return self.tokens[self.index - 1].text

    def whole(self, what: str) -> int:
        """A whole number, with or without a sign."""
        sign = -1 if self.accept("-") else 1
        digits = self.look().text
        if self.look().token_type is not TokenType.NUMBER or not digits.isdecimal() or len(digits) > MOST_DIGITS:
            raise self.unexpected(what)
        self.index += 1
        return sign * int(digits)

    def interval(self) -> timedelta:
        """`INTERVAL '70' DAY`, `INTERVAL 70 DAY`, `INTERVAL '5 minutes'` or `INTERVAL 5` (seconds)."""
        start = self.index
        self.expect("INTERVAL")
        sign = "-" if self.accept("-") else ""
        token = self.look()
        if token.token_type not in (*TEXTS, TokenType.NUMBER):
            raise self.unexpected("a length of time such as '5' MINUTE")
        self.index += 1
        amount = sign + token.text
        exact = int(amount) if token.text.isdecimal() and len(token.text) <= MOST_DIGITS else amount
        unit = None
        if self.at_word() and self.look().text.upper() not in AFTER_INTERVAL:
            unit = self.look().text
            self.index += 1
        try:
            return duration(exact, unit) if unit else parse_duration(amount)
        except SqlError as error:
            hint = error.hint
            if unit and hint and not error.detail and (close := nearest(unit, UNITS)):
                hint = f'Did you mean "{close}"?'
            raise SqlSyntaxError(
                error.primary, detail=error.detail, hint=hint, sql=self.sql, span=self.span(start)
            ) from error
        except ValueError as error:  # int() refuses thousands of digits
            raise SqlSyntaxError("interval is too long", sql=self.sql, span=self.span(start)) from error

    def window(self) -> Window:
        """`[ ... ]` behind a table name; the forms are listed at `Window`.

        A column may be called like a keyword (`[now ROWS 1]`, `[rows, interval ROWS 2]`): what follows decides.
        """
        self.expect("[")
        if self.accept("NOW", "]"):
            return Window(now=True)
        if self.accept("UNBOUNDED", "]"):
            return Window()
        if self.at("INTERVAL") and not self._names_column():
            window = Window(interval=self.interval())
        elif self.at("LANDMARK") and not self._names_column():
            window = Window(landmark=self._landmark())
        elif self.at("SINCE") and not self._names_column():
            self.index += 1
            is_text = self.look().token_type in TEXTS
            window = Window(since=self.text("") if is_text else self.whole("a whole number or a text after SINCE"))
        else:
            window = self._rows()
        self.expect("]")
        return window

    def _landmark(self) -> timedelta:
        """`LANDMARK DAY` or `LANDMARK INTERVAL '15' MINUTE`: the time from one landmark to the next."""
        self.expect("LANDMARK")
        start = self.index
        if self.at("INTERVAL"):
            length = self.interval()
            if length <= timedelta(0):
                raise SqlSyntaxError("landmarks need time between them", sql=self.sql, span=self.span(start))
            return length
        unit = self.look().text.upper() if self.at_word() else ""
        if unit in ("WEEK", "MONTH", "QUARTER", "YEAR"):
            raise UnsupportedSql(
                f"LANDMARK {unit} is not supported",
                detail="Landmarks are the multiples of one length, counted from 0 or 1970-01-01 UTC, which was a Thursday."
                if unit == "WEEK"
                else f"Landmarks are the multiples of one length, and not every {unit} has the same.",
                hint="Write LANDMARK DAY, HOUR or MINUTE, or LANDMARK INTERVAL '7' DAY.",
                sql=self.sql,
                span=self.span(start, start + 1),
            )
        if unit not in LANDMARKS:
            raise self.unexpected("MINUTE, HOUR, DAY or INTERVAL after LANDMARK", (*LANDMARKS, "INTERVAL"))
        self.index += 1
        return duration(1, unit)

    def _names_column(self) -> bool:
        following = self.look(1)
        return following.token_type is TokenType.COMMA or following.text.upper() == "ROWS"

    def _rows(self) -> Window:
        columns: tuple[str, ...] = ()
        if not self.at("ROWS") or self._names_column():
            if not self.at_word() and self.look().token_type is not TokenType.IDENTIFIER:
                raise self.unexpected("a window", hint=WINDOW_HINT)
            columns = self.names("column")
        if not self.accept("ROWS"):
            close = nearest(columns[-1], WINDOW_WORDS)
            raise self.unexpected('"," or ROWS', hint=f'Did you mean "{close}"?' if close else WINDOW_HINT)
        place = self.index
        rows = self.whole("a number of rows")
        if rows < 1:
            raise SqlSyntaxError(f"window of {rows} rows has no rows", sql=self.sql, span=self.span(place))
        if not self.at("WITHIN"):
            return Window(rows=rows, columns=columns)
        if not columns:
            raise self.unexpected('"]"', hint="WITHIN needs columns: [vid ROWS 4 WITHIN INTERVAL '5' MINUTE].")
        self.index += 1
        return Window(rows=rows, columns=columns, interval=self.interval())


def article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def found(sql: str, token: Token) -> str:
    """A token as an error names it."""
    if not token:
        return "the end of the statement"
    text = " ".join(sql[token.start : token.end + 1].split())
    text = text if len(text) <= 40 else text[:40] + "..."
    if token.token_type in TEXTS:
        return f"text {text}"
    return f"number {text}" if token.token_type is TokenType.NUMBER else f'"{text}"'


class Unread(ParseError):
    """What sqlglot's parser could not read, and where. A ParseError, because sqlglot tries, fails and goes back."""

    def __init__(self, message: str, token: Token, before: Token) -> None:
        super().__init__(message)
        self.message = message
        self.token = token
        self.before = before


def _conditional(name: str) -> Callable[[MillpondParser], exp.Expr]:
    return lambda parser: parser.parse_conditional(name)


class MillpondParser(SparkParser):
    """Spark's parser, which also reads windows and conditions in calls, and is strict where sqlglot forgives."""

    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        **SparkParser.FUNCTION_PARSERS,
        **{name: _conditional(name) for name in CORRELATED},
    }

    # Spark does not know this name, and here it is a function of its own, not another name of APPROX_COUNT_DISTINCT.
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {
        name: made for name, made in SparkParser.FUNCTIONS.items() if name != "APPROX_DISTINCT"
    }

    def parse_conditional(self, name: str) -> exp.Expr:
        """What stands in the parentheses of `name`: arguments, the first of them `<value> WHERE <condition>` or any other."""
        written = self._tokens[self._index - 2]  # the name, before its parenthesis
        given = self._parse_function_args(True)
        call = exp.Anonymous(this=name, expressions=given).update_positions(written)
        if len(given) == 1 and self._match(TokenType.WHERE):
            call.meta[OF_CONDITION] = True
            condition = self._parse_disjunction()
            if condition is None:
                self.raise_error("Expecting a condition behind WHERE")
            call.append("expressions", condition)
            if self._match(TokenType.COMMA):
                for further in self._parse_function_args(True):
                    call.append("expressions", further)
        if self._curr.token_type is not TokenType.R_PAREN:  # sqlglot leaves this to whoever parses the arguments
            self.raise_error("Expecting )")
        return call

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        if self._curr.token_type is not TokenType.L_PAREN or self._next.token_type is not FOLDED:
            return super()._parse_in(this, alias)
        node = self.expression(exp.In(this=this, expressions=[list_literal(self._next)]))
        self._advance(2)
        self._match_r_paren(node)
        return node

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        # sqlglot comes here with a Table in one case only: a bracket behind a name in FROM or JOIN, before its alias.
        if not isinstance(this, exp.Table) or self._curr.token_type is not TokenType.L_BRACKET:
            return super()._parse_bracket(this)
        cursor = Cursor(self.sql, self._tokens, self._index)
        # A SqlError, not a ParseError: sqlglot must not go back and try the bracket as something else.
        this.meta[WINDOW] = cursor.window()
        this.meta[WINDOW_SPAN] = cursor.span(self._index)
        self._advance(cursor.index - self._index)
        return this

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        table = super()._parse_table(*args, **kwargs)
        if self._curr.token_type is TokenType.L_BRACKET:
            raise SqlSyntaxError(
                "window is in the wrong place",
                hint="Write a window once, directly behind a table's name and before its alias: t [ROWS 4] AS a.",
                sql=self.sql,
                span=Span(self._curr.start, self._curr.end + 1),
            )
        return table

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        def item() -> T | None:
            result = parse_method()
            if result is None and self._prev.token_type is sep:  # sqlglot forgives `SELECT a,, b`; Spark does not
                self.raise_error("Expected an expression")
            return result

        return super()._parse_csv(item, sep)

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> NoReturn:
        raise Unread(message, token or self._curr, self._prev)

    def _parse_as_command(self, start: Token) -> NoReturn:  # sqlglot would log, and keep what it cannot read as text
        self.raise_error("Expected a query", start)

    def _warn_unsupported(self) -> None:
        """sqlglot would log here, for an optimizer hint it cannot read; Spark ignores those too."""


class Millpond(Spark):
    """The sqlglot dialect, also known to sqlglot as "millpond". Writing SQL with it leaves windows out."""

    class Tokenizer(Spark.Tokenizer):
        # sqlglot reads what follows SHOW, EXPLAIN and the like as one text; our reader wants its tokens.
        COMMANDS: ClassVar[set[TokenType]] = set()
        # 'it''s': a doubled quote is a quote, as Spark reads it; sqlglot's own Spark dialect drops it.
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    Parser = MillpondParser
    ORIGINAL_NAME_META_KEY = ORIGINAL_NAME

    # The row number: every table has it, `*` does not show it.
    PSEUDOCOLUMNS = {SEQ.upper()}  # noqa: RUF012 - sqlglot declares it so
    EXCLUDES_PSEUDOCOLUMNS_FROM_STAR = True


DIALECT = Millpond()


def tokenize(sql: str) -> list[Token]:
    """The tokens of a text, or a SqlSyntaxError at a number that is none, or at a text, name or comment that is never closed."""
    tokenizer = DIALECT.tokenizer()
    try:
        tokens = tokenizer.tokenize(sql)
        check_numbers(sql, tokens)
        return tokens
    except TokenError as error:
        # sqlglot's error has no exact place, but its scanner stopped in the middle of the token it could not read.
        start = tokenizer._core._start
        openings = {"'": "text", '"': "text", "`": "quoted name", "/": "comment"}
        kind = openings.get(sql[start : start + 1], "text")
        closed = isinstance(error.__cause__, TokenError) and not str(error.__cause__).startswith("Missing")
        message = "literal cannot be read" if closed else f"{kind} is never closed"
        raise SqlSyntaxError(message, sql=sql, span=Span(start, len(sql))) from error


def read_tree(sql: str, tokens: list[Token]) -> exp.Expression:
    """One query or DML statement as a tree; `tokens` are a part of `tokenize(sql)` without semicolons."""
    whole = Span(tokens[0].start, tokens[-1].end + 1) if tokens else Span(len(sql), len(sql))
    try:
        tree = DIALECT.parser().parse(tokens, sql)[0]
    except Unread as error:
        raise _syntax_error(sql, tokens, error) from error
    except SqlError:
        raise
    except RecursionError as error:
        raise UnsupportedSql("query is nested too deeply", sql=sql, span=whole) from error
    except Exception as error:  # on malformed text sqlglot may trip over its own half-built tree, in any way
        raise SqlSyntaxError("statement cannot be read", sql=sql, span=whole) from error
    if not isinstance(tree, exp.Expression):  # None, when there was nothing to read
        raise SqlSyntaxError("expected a query, but found the end of the statement", sql=sql, span=whole)
    return tree


def _syntax_error(sql: str, tokens: list[Token], error: Unread) -> SqlSyntaxError:
    """sqlglot's complaint in our words: what was expected, what was found, and which keyword may be misspelt."""
    first, _, rest = error.message.partition(" ")
    hint = None
    if error.message.startswith("Invalid expression"):  # tokens were left over
        expected = "expected a clause or the end of the statement"
        # A misspelt keyword is read as an alias (`SELECT a FRM t`), and only the word after it is one too many.
        for token in (error.token, error.before):
            close = _meant(token, tokens[0]) if token.token_type is TokenType.VAR else None
            if close:
                hint = f'Did you mean "{close}" instead of "{token.text}"?'
                break
    elif first in ("Expecting", "Expected"):
        what = rest.partition(" but got ")[0]
        what = f'"{what}"' if not what[:1].isalpha() else what
        expected = f"expected {'a table name' if what == 'table name' else what}"
    elif error.message.startswith("Required keyword"):  # "Required keyword: 'this' missing for <class ...>"
        expected = "expected an expression"
    else:
        return SqlSyntaxError(first[:1].lower() + error.message[1:], sql=sql, span=_place(tokens, error.token))
    return SqlSyntaxError(
        f"{expected}, but found {found(sql, error.token)}", hint=hint, sql=sql, span=_place(tokens, error.token)
    )


def _meant(word: Token, first: Token) -> str | None:
    """The keyword that `word` is a misspelling of, if it is hardly anything else.

    Where keywords are in capitals, a short word that is not is a name.
    """
    if len(word.text) <= 3 and word.text.islower() and first.text.isupper():
        return None
    by_first = {keyword.split()[0]: keyword for keyword in QUERY_WORDS}
    close = nearest(word.text, by_first, cutoff=0.75)
    return by_first[close] if close and close.lower() != word.text.lower() else None


def _place(tokens: list[Token], token: Token) -> Span:
    return Span(token.start, token.end + 1) if token else Span(tokens[-1].end + 1, tokens[-1].end + 1)


def span_of(node: exp.Expr) -> Span | None:
    """The characters of the text that `node` was read from, or None for a node that was not read from a text.

    A column or table is its name with qualifiers (without alias and window); a function its name; any other node
    reaches from the first to the last thing in it that has a place, which may leave out keywords and parentheses.
    """
    spans: list[Span] = []
    nodes: list[exp.Expr] = [node]
    while nodes:  # a loop, because a sum of thousands of terms is thousands of nodes deep
        node = nodes.pop()
        if isinstance(node, (exp.Column, exp.Table)):
            parts = (node.args.get(key) for key in ("catalog", "db", "table", "this"))
            nodes.extend(part for part in parts if isinstance(part, exp.Expr))
        elif (start := node.meta_get("start")) is not None:
            spans.append(Span(start, node.meta_get("end") + 1))
        else:
            nodes.extend(node.iter_expressions())
    return Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else None
