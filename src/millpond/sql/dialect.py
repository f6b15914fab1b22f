"""Spark's SQL plus windows: how sqlglot is used here, and everything about its tokens, places and errors.

The language of queries is Spark's. millpond adds one thing inside a query, a window behind a table name in FROM or JOIN
(`posreports [vid ROWS 4] AS p`), kept as a `Window` in `table.meta["window"]` so that it survives `copy()` and means
nothing to code that has not heard of it. A bracket behind anything but a table name stays an array subscript.

Invariant: nothing of sqlglot's own error handling leaves this module. Whatever it cannot read becomes a `SqlError` that
carries the whole text and the place in it; places are offsets in the whole text, however many statements it has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parser import SENTINEL_NONE
from sqlglot.tokenizer_core import Token, TokenType

from millpond.errors import Span, SqlError, SqlSyntaxError, UnsupportedSql, nearest
from millpond.schema import SEQ
from millpond.sql.calls import CallParser
from millpond.sql.cursor import LITERALS, TokenCursor, found, is_parameter, value_as_name
from millpond.sql.group_windows import GROUP_TABLE, at_group_table, read_group_table
from millpond.sql.literals import FOLDED, LiteralRows, check_numbers, fold_rows, list_literal
from millpond.sql.query_text import QUERY_TEXT, QueryText
from millpond.sql.reduce import REDUCE, at_reduce, read_reduce
from millpond.sql.spark_names import ORIGINAL_NAME
from millpond.sql.written import FUNCTIONS, PARSERS
from millpond.windows.registry import read_window

__all__ = [
    "CORRELATED",
    "ERROR_IS_FINE",
    "NORMS",
    "OF_CONDITION",
    "ORIGINAL_NAME",
    "Millpond",
    "WHOLE_TABLE",
    "WINDOW",
    "WINDOW_SPAN",
    "read_tree",
    "rows_as_query",
    "span_of",
    "tokenize",
]

T = TypeVar("T")

WINDOW = "window"  # keys in the meta of an exp.Table
WINDOW_SPAN = "window_span"
WHOLE_TABLE = "whole_table"  # it was written TABLE t
OF_CONDITION = (
    "of_condition"  # in the meta of a call f(y WHERE condition, ...): its first two arguments are y and the condition
)
ERROR_IS_FINE = "error_is_fine"  # in the meta of a power: the query names an error that it may have

CORRELATED = {
    f"CORRELATED_{what}{suffix}": (what.lower(), shown)
    for what in ("COUNT", "SUM", "AVG")
    for suffix, shown in (("", "value"), ("_LOWER", "lower"), ("_UPPER", "upper"))
}
"""The aggregates that take a condition: what is aggregated of the rows, and whether the value or a bound is shown."""

NORMS = {"approx_norm": "value", "approx_norm_lower": "lower", "approx_norm_upper": "upper"}
"""The names of a norm: whether the value or a bound is shown."""

FOLDED_ROWS = "folded_rows"  # in the meta of a row that stands for many, until its VALUES is read

QUERY_WORDS = ("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "JOIN", "UNION", "SET", "VALUES")


class Unread(ParseError):
    """What sqlglot's parser could not read, and where. A ParseError, because sqlglot tries, fails and goes back."""

    def __init__(self, message: str, token: Token, before: Token) -> None:
        super().__init__(message)
        self.message = message
        self.token = token
        self.before = before


_MODIFIERS = ("order", "limit", "offset", "with_")


def rows_as_query(values: exp.Values) -> exp.Select:
    """A list of rows as a query of them."""
    query = exp.Select(expressions=[exp.Star()])
    for key in _MODIFIERS:
        query.set(key, values.args.get(key))
        values.set(key, None)
    query.set("from_", exp.From(this=values))
    return query


def _conditional(name: str) -> Callable[[MillpondParser], exp.Expr]:
    return lambda parser: parser.parse_conditional(name)


class MillpondParser(CallParser):
    """Spark's parser, which also reads windows and conditions in calls, and is strict where sqlglot forgives."""

    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        **CallParser.FUNCTION_PARSERS,
        **PARSERS,
        **{name: _conditional(name) for name in CORRELATED},
    }

    # `... WITH CUBE UNION (SELECT ...)` calls nothing; elsewhere UNION is the name of a type.
    FUNC_TOKENS: ClassVar[set[TokenType]] = CallParser.FUNC_TOKENS - {TokenType.UNION}

    # Spark does not know this name, and here it is a function of its own, not another name of APPROX_COUNT_DISTINCT.
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {
        **{name: made for name, made in CallParser.FUNCTIONS.items() if name != "APPROX_DISTINCT"},
        **FUNCTIONS,
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

    # In CUBE, ROLLUP and GROUPING SETS stands any expression; sqlglot knows conditions in parentheses only.

    def _parse_cube_or_rollup(self, with_prefix: bool = False) -> exp.Cube | exp.Rollup | None:
        kinds: dict[TokenType, type[exp.Cube | exp.Rollup]] = {TokenType.CUBE: exp.Cube, TokenType.ROLLUP: exp.Rollup}
        kind = kinds.get(self._curr.token_type)
        if kind is None:
            return None
        self._advance()
        keys = [] if with_prefix else self._parse_wrapped_csv(self._parse_disjunction)
        return self.expression(kind(expressions=keys))

    def _parse_grouping_set(self) -> exp.Expr | None:
        return self._parse_grouping_sets() or self._parse_cube_or_rollup() or self._parse_disjunction()

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        if self._curr.token_type is not TokenType.L_PAREN or self._next.token_type is not FOLDED:
            return super()._parse_in(this, alias)
        node = self.expression(exp.In(this=this, expressions=[list_literal(self._next)]))
        self._advance(2)
        self._match_r_paren(node)
        return node

    def _parse_value(self, values: bool = True) -> exp.Tuple | None:
        if self._curr.token_type is not FOLDED:
            if not values or self._curr.token_type is TokenType.L_PAREN:
                return super()._parse_value(values)
            bare = self._parse_disjunction()  # without an alias, which is the list's
            return None if bare is None else self.expression(exp.Tuple(expressions=[bare]))
        rows = LiteralRows.read(self._curr)
        if rows is None or not rows.is_separable:
            self.raise_error("Expected rows of one kind")  # the text is then read as a whole
        self._advance()
        row = exp.Tuple()
        row.meta[FOLDED_ROWS] = rows
        return row

    def _parse_derived_table_values(self, allow_value_synonym: bool = False) -> exp.Values | None:
        found = super()._parse_derived_table_values(allow_value_synonym)
        folded = [rows for row in found.expressions if (rows := row.meta_get(FOLDED_ROWS))] if found else []
        if found and folded:
            if len(found.expressions) > 1:
                self.raise_error("Expected nothing but literals")
            fold_rows(found, folded[0])
        return found

    def _parse_types(self, *given: Any, **named: Any) -> exp.Expr | None:
        # Spark writes types of types with <...>; array(NULL, x) is a call, although NULL could be a type elsewhere.
        if self._curr.token_type in self.NESTED_TYPE_TOKENS and self._next.token_type is TokenType.L_PAREN:
            return None
        return super()._parse_types(*given, **named)

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        # sqlglot comes here with a Table in one case only: a bracket behind a name in FROM or JOIN, before its alias.
        if not isinstance(this, exp.Table):
            return super()._parse_bracket(this)
        if self._curr.token_type is TokenType.L_BRACKET:
            cursor = TokenCursor(self.sql, self._tokens, self._index)
            # A SqlError, not a ParseError: sqlglot must not go back and try the bracket as something else.
            this.meta[WINDOW] = read_window(cursor)
            this.meta[WINDOW_SPAN] = cursor.span(self._index)
            self._advance(cursor.index - self._index)
            pivots = self._parse_pivots()  # which sqlglot looks for before a bracket only
            if pivots:
                this.set("pivots", pivots)
        self._read_reduce(this)
        return this

    def _read_reduce(self, table: exp.Expr) -> None:
        """A REDUCE clause, which stands behind a table's name and window, or behind its alias."""
        cursor = TokenCursor(self.sql, self._tokens, self._index)
        if not at_reduce(cursor):
            return
        if REDUCE in table.meta:
            place = Span(self._curr.start, self._curr.end + 1)
            raise SqlSyntaxError("REDUCE is given twice", sql=self.sql, span=place)
        table.meta[REDUCE] = read_reduce(cursor)
        self._advance(cursor.index - self._index)

    # `TABLE t` is a query: SELECT * FROM t.

    def _parse_statement(self) -> exp.Expr | None:
        begin = self._index
        found = self._parse_select() if self._at_table() else super()._parse_statement()
        # Behind WITH a list of rows must be a query, which can have one.
        return rows_as_query(found) if begin and isinstance(found, exp.Values) else found

    def _parse_select_query(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if not self._at_table():
            return super()._parse_select_query(*args, **kwargs)
        self._advance()
        table = self._parse_bracket(self._parse_table_parts())
        assert table is not None
        table.meta[WHOLE_TABLE] = True
        query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))
        found = self._parse_query_modifiers(query)
        return self._parse_set_operations(found) if kwargs.get("parse_set_operation", True) else found

    def _parse_set_operations(self, this: exp.Expr | None) -> exp.Expr | None:
        # Spark reads ORDER BY and LIMIT at the end of the whole only; a side that has its own stands in parentheses.
        ended = isinstance(this, exp.Select) and any(this.args.get(key) for key in ("order", "limit", "offset"))
        if ended and self._curr.token_type in self.SET_OPERATIONS:
            self.raise_error("Expected parentheses around a query with ORDER BY or LIMIT")
        return super()._parse_set_operations(this)

    def _at_table(self) -> bool:
        names = (TokenType.VAR, TokenType.IDENTIFIER)
        return self._curr.token_type is TokenType.TABLE and self._next.token_type in names

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self._at_table():
            return self._parse_select()
        table = self._parse_group_table(joins=kwargs.get("joins", False)) or super()._parse_table(*args, **kwargs)
        if isinstance(table, exp.Table):
            self._read_reduce(table)
        if self._curr.token_type is TokenType.L_BRACKET:
            raise SqlSyntaxError(
                "window is in the wrong place",
                hint="Write a window once, directly behind a table's name and before its alias: t [ROWS 4] AS a.",
                sql=self.sql,
                span=Span(self._curr.start, self._curr.end + 1),
            )
        return table

    def _parse_group_table(self, *, joins: bool) -> exp.Table | None:
        """`TUMBLE(TABLE t, ...)` and its like: the table, with what is meant in its meta."""
        cursor = TokenCursor(self.sql, self._tokens, self._index)
        if not at_group_table(cursor):
            return None
        place, meant = read_group_table(cursor)
        name = self._tokens[place]
        quoted = name.token_type is TokenType.IDENTIFIER
        table = exp.Table(this=exp.to_identifier(name.text, quoted=quoted).update_positions(name))
        table.meta[GROUP_TABLE] = meant
        self._advance(cursor.index - self._index)
        alias = self._parse_table_alias()
        if alias is not None:
            table.set("alias", alias)
        if joins:
            for join in self._parse_joins():
                table.append("joins", join)
        return table

    # A text, a number and a parameter are values, and never the name of anything. sqlglot takes nearly any token for a name
    # behind AS, and a text for the name of a table.

    def _parse_id_var(self, any_token: bool = True, tokens: Collection[TokenType] | None = None) -> exp.Expr | None:
        return None if self._is_value(self._curr) else super()._parse_id_var(any_token, tokens)

    def _parse_lambda_arg(self) -> exp.Expr | None:  # each argument of a call is tried as this first
        return super()._parse_id_var()

    def _parse_field(self, any_token: bool = False, *given: Any, **named: Any) -> exp.Expr | None:
        if any_token and self._prev.token_type is TokenType.DOT and self._is_value(self._curr):
            raise value_as_name(self.sql, self._curr)
        return super()._parse_field(any_token, *given, **named)

    def _parse_string_as_identifier(self) -> None:  # asked for behind a table, and in its place
        if self._is_value(self._curr):
            raise value_as_name(self.sql, self._curr)

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        self._check_alias()
        return super()._parse_alias(this, explicit)

    def _parse_table_alias(self, alias_tokens: Collection[TokenType] | None = None) -> exp.TableAlias | None:
        self._check_alias()
        if at_reduce(TokenCursor(self.sql, self._tokens, self._index)):
            return None
        return super()._parse_table_alias(alias_tokens)

    def _check_alias(self) -> None:
        if self._curr.token_type is TokenType.ALIAS and self._is_value(self._next):
            raise value_as_name(self.sql, self._next)

    def _is_value(self, token: Token) -> bool:
        return bool(token) and (token.token_type in LITERALS or is_parameter(self.sql, token))

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


_TWO_WORDS_IN_SPARK = frozenset(
    {"FOREIGN KEY", "PRIMARY KEY", "CONNECT BY", "SIMILAR TO", "SQL SECURITY", "DOUBLE PRECISION", "CHAR VARYING",
     "CHARACTER VARYING", "ADD ARCHIVE", "ADD ARCHIVES", "ADD FILE", "ADD FILES", "ADD JAR", "ADD JARS"}
)  # fmt: skip


class Millpond(Spark):
    """The sqlglot dialect, also known to sqlglot as "millpond". Writing SQL with it leaves windows out."""

    class Tokenizer(Spark.Tokenizer):
        # sqlglot reads what follows SHOW, EXPLAIN and the like as one text; our reader wants its tokens.
        COMMANDS: ClassVar[set[TokenType]] = set()
        # 'it''s': a doubled quote is a quote, as Spark reads it; sqlglot's own Spark dialect drops it.
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        # What is two words to Spark, such as a column and its alias, is two words.
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            words: kind for words, kind in Spark.Tokenizer.KEYWORDS.items() if words not in _TWO_WORDS_IN_SPARK
        }

    Parser = MillpondParser
    ORIGINAL_NAME_META_KEY = ORIGINAL_NAME

    # The row number: every table has it, `*` does not show it.
    PSEUDOCOLUMNS = {SEQ.upper()}  # noqa: RUF012 - sqlglot declares it so
    EXCLUDES_PSEUDOCOLUMNS_FROM_STAR = True


DIALECT = Millpond()
_TWO_WORDS = {words: kind for words, kind in Millpond.Tokenizer.KEYWORDS.items() if " " in words}


def tokenize(sql: str) -> list[Token]:
    """The tokens of a text, or a SqlSyntaxError at a number that is none, or at a text, name or comment that is never closed."""
    tokenizer = DIALECT.tokenizer()
    try:
        tokens = tokenizer.tokenize(sql)
        if "--" in sql or "/*" in sql:
            tokens = _joined(sql, tokens)
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


def _joined(sql: str, tokens: list[Token]) -> list[Token]:
    """Tokens with `GROUP /* a comment */ BY` as one, which GROUP BY is without the comment."""
    found: list[Token] = []
    for token in tokens:
        words = f"{found[-1].text} {token.text}".upper() if found else ""
        kind = _TWO_WORDS.get(words)
        if kind is not None and all(sql[each.start : each.end + 1] == each.text for each in (found[-1], token)):
            first = found.pop()
            token = Token(kind, words, first.line, first.col, first.start, token.end)
        found.append(token)
    return found


def read_tree(sql: str, tokens: list[Token]) -> exp.Expression:
    """One query or DML statement as a tree; `tokens` are a part of `tokenize(sql)` without semicolons."""
    whole = Span(tokens[0].start, tokens[-1].end + 1) if tokens else Span(len(sql), len(sql))
    try:
        tree = DIALECT.parser().parse(_with_calls(tokens), sql)[0]
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
    tree.meta[QUERY_TEXT] = QueryText(sql, tokens)
    return tree


def _with_calls(tokens: list[Token]) -> list[Token]:
    """The tokens with `window` and `session` as names wherever they can be. For sqlglot these words end a GROUP BY, but it is
    `WINDOW w AS (` that does."""
    words = (TokenType.WINDOW, TokenType.SESSION)
    found = [place for place, token in enumerate(tokens) if token.token_type in words]
    if not found:
        return tokens
    tokens = list(tokens)
    for place in found:
        token = tokens[place]
        clause = token.token_type is TokenType.WINDOW and [t.token_type for t in tokens[place + 2 : place + 3]] == [
            TokenType.ALIAS
        ]
        if not clause:
            tokens[place] = Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end)
    return tokens


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
