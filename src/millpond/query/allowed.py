"""What a query may consist of: nothing reaches an engine that is not on a list.

Spark and DuckDB can read any file, and Spark can run any program. So a query is checked when it is bound, before an engine
sees it, wherever the query stands (SELECT, INSERT, UPDATE, a feed, a continuous query, ...): node by node against NODES, and
call by call against the names of functions that may be called:

    our own           PREV, VALID, PERIOD, the approximate and the correlated aggregates
    proved            those that `sql.rules` translates for DuckDB
    Spark's           the reviewed ones: `sql.spark_functions`
    registered        the functions of the catalog

Relations are tables of the pond, subqueries, VALUES and a few table functions; `bind` resolves the names.

Invariant: a kind of node, a clause behind a table or a function that nobody thought of is refused. The check is one loop over
the tree, linear in its size. What goes to Spark is checked once more as text (`sql.spark_text`), because only the text shows
what sqlglot made of the tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from millpond.catalog import Catalog
from millpond.errors import Span, SqlError, TypeMismatch, UnknownName, UnsupportedSql
from millpond.query.approximate import APPROXIMATE
from millpond.schema import SEQ
from millpond.sql.dialect import CORRELATED, NORMS, ORIGINAL_NAME, span_of
from millpond.sql.group_windows import FUNCTIONS as GROUP_FUNCTIONS
from millpond.sql.group_windows import GROUP_TABLE
from millpond.sql.rules import FUNCTIONS as PROVED
from millpond.sql.spark_functions import ALLOWED, REFUSED, TABLE_FUNCTIONS

OWN: Final = frozenset(
    {"prev", "valid", "period", *GROUP_FUNCTIONS, *APPROXIMATE, *NORMS, *(name.lower() for name in CORRELATED)}
)
"""What a query understands besides Spark's functions."""

_VALUES: Final = OWN | ALLOWED | frozenset(PROVED) | (TABLE_FUNCTIONS - {"range"})

# Nodes that are no calls. Everything in Spark's SELECT that only computes.
NODES: Final[frozenset[type[exp.Expr]]] = frozenset(
    {
        # queries and their clauses
        exp.Select, exp.Subquery, exp.Union, exp.Except, exp.Intersect, exp.Values, exp.Tuple, exp.With, exp.CTE,
        exp.From, exp.Join, exp.Lateral, exp.Where, exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Having,
        exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Distinct, exp.Qualify, exp.Window, exp.WindowSpec,
        exp.Sort, exp.Cluster, exp.Distribute, exp.Pivot, exp.PivotAlias, exp.TableSample,
        # names
        exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Pseudocolumn, exp.Star, exp.Alias, exp.Aliases,
        exp.Dot,
        # values
        exp.Literal, exp.RawString, exp.HexString, exp.Null, exp.Boolean, exp.Interval, exp.IntervalSpan, exp.Var,
        exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Bracket, exp.Lambda, exp.Kwarg, exp.PropertyEQ,
        # operators
        exp.Paren, exp.Neg, exp.Not, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe,
        exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift,
        exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In,
        exp.Between, exp.Like, exp.ILike, exp.Escape, exp.Any, exp.All, exp.Collate, exp.Overlaps,
        exp.AtTimeZone, exp.FromTimeZone,  # how sqlglot reads from_utc_timestamp and to_utc_timestamp
        # around calls
        exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.HavingMax,
    }
)  # fmt: skip

# Calls without a name of a function in the text: operators, words of the grammar, and what sqlglot puts around arguments.
_UNNAMED: Final[frozenset[type[exp.Expr]]] = frozenset(
    {
        exp.And, exp.Or, exp.Xor, exp.Case, exp.If, exp.Cast, exp.TryCast, exp.Exists, exp.StrPosition, exp.RegexpLike,
        exp.ApproxQuantile, exp.DecodeCase, exp.GroupConcat, exp.Quantile, exp.TimeStrToTime, exp.TsOrDsToDate,
    }
)  # fmt: skip
RELATION_NAME: Final = re.compile("__r[0-9]+", re.IGNORECASE)
"""What `bind` calls the relations of a query."""

_TABLE_CLAUSES: Final = frozenset({"this", "alias", "db", "catalog", "joins", "laterals", "pivots", "sample"})

# What the user wrote, where sqlglot's name of the node would not tell.
_WRITTEN: Final[dict[type[exp.Expr], str]] = {
    exp.QueryTransform: "TRANSFORM ... USING",
    exp.Parameter: "a variable",
    exp.SessionParameter: "a variable",
    exp.Placeholder: "a parameter",
    exp.Version: "VERSION or TIMESTAMP AS OF",
    exp.Lock: "FOR UPDATE or SHARE",
}


_CALLS: Final = frozenset({exp.Anonymous, exp.AnonymousAggFunc, exp.CurrentTimestamp})


@dataclass(frozen=True)
class Contents:
    """What is in a query: kinds of nodes, whether it has names that matter, and whether it has a `*` that stands for columns."""

    kinds: frozenset[type[exp.Expr]]
    row_numbers: bool
    bare_calls: bool
    """Whether a column has a name that Spark takes for a call without parentheses, if there is no such column."""
    stars: bool
    made_tables: bool
    """Whether a relation is made by a call, or is a group window around a table."""
    column_lists: bool
    """Whether an alias of a relation names its columns."""

    @property
    def calls(self) -> bool:
        """Whether there are calls that may be millpond's own or the user's, or stand for the instant."""
        return bool(self.kinds & _CALLS)

    @property
    def rewritten(self) -> bool:
        """Whether steps before names are resolved may put other nodes into the tree than those of the text."""
        return self.calls or self.made_tables


def check_allowed(tree: exp.Expr, catalog: Catalog, sql: str) -> Contents:
    """Refuse a query, as parsed, that holds anything but what is listed here. Optimizer hints are taken out of it. Gives
    what it holds, so that later steps can leave out what there is not.

    (A hint can only change how Spark works, never what it answers; here millpond decides that.)
    """
    waiting: list[exp.Expr] = [tree]
    kinds: set[type[exp.Expr]] = set()
    row_numbers = bare_calls = stars = made_tables = column_lists = False
    while waiting:
        node = waiting.pop()
        kind = node.__class__
        kinds.add(kind)
        if kind is exp.Select and node.args.get("hint") is not None:
            node.set("hint", None)
        if kind not in NODES:
            if isinstance(node, exp.Func):
                _check_call(node, catalog, sql)
            elif not isinstance(node, (exp.JSONPath, exp.JSONPathPart)):
                raise UnsupportedSql(f"{_described(node)} is not supported in a query", sql=sql, span=_place(node))
        elif kind is exp.Column:
            name = node.name.lower()
            row_numbers = row_numbers or name == SEQ
            bare_calls = bare_calls or name in REFUSED
        elif kind is exp.Star:
            stars = stars or not isinstance(node.parent, exp.Count)
        elif kind is exp.Table:
            _check_table(node, sql)
            made_tables = made_tables or isinstance(node.this, exp.Func) or node.meta_get(GROUP_TABLE) is not None
        elif kind is exp.TableAlias:
            column_lists = column_lists or bool(node.args.get("columns"))
        elif kind is exp.Collate:
            _check_collation(node, sql)
        elif kind is exp.CTE and RELATION_NAME.fullmatch(node.alias):
            raise UnsupportedSql(f'name "{node.alias}" is reserved', hint="Take another.", sql=sql, span=span_of(node))
        elif kind is exp.Dot and isinstance(node.expression, exp.Func):
            raise UnsupportedSql(
                "a function has a plain name", hint="Write it without a catalog or schema.", sql=sql,
                span=span_of(node.expression),
            )  # fmt: skip
        waiting.extend(node.iter_expressions(reverse=True))  # so that errors are told in the order of the text
    return Contents(frozenset(kinds), row_numbers, bare_calls, stars, made_tables, column_lists)


def check_bare_names(tree: exp.Expr, sql: str) -> None:
    """Refuse a query with a column that is left to Spark, if Spark may take it for a call without parentheses: one of these
    names that has no table, as all columns have that are known."""
    for column in tree.find_all(exp.Column):
        name = column.name.lower()
        if name in REFUSED and not column.table and not _is_output(column):
            raise UnsupportedSql(
                f'function "{name}" cannot be called in a query',
                detail=REFUSED[name],
                hint=f"If it is a column, name its table too: <table>.{name}.",
                sql=sql,
                span=span_of(column),
            )


def _is_output(column: exp.Column) -> bool:
    """Whether a column in ORDER BY or HAVING is one that the query selects."""
    clause = column.find_ancestor(exp.Order, exp.Having, exp.Query)
    query = clause.parent if isinstance(clause, (exp.Order, exp.Having)) else None
    return isinstance(query, exp.Query) and column.name.lower() in (name.lower() for name in query.named_selects)


def is_own(tree: exp.Expr) -> bool:
    """Whether a query calls what only millpond knows."""
    return any(call.name.lower() in OWN or call.name.lower() == "now" for call in tree.find_all(exp.Anonymous))


def _check_table(table: exp.Expr, sql: str) -> None:
    for key, value in table.args.items():
        if value and key not in _TABLE_CLAUSES:
            part = value[0] if isinstance(value, list) else value
            named = _described(part) if isinstance(part, exp.Expr) else key.strip("_").replace("_", " ").upper()
            raise UnsupportedSql(f"{named} is not supported in a query", sql=sql, span=span_of(table))
    if not isinstance(table.this, (exp.Identifier, exp.Func)):
        raise UnsupportedSql("this is not a table", sql=sql, span=span_of(table))


# Spark's names of collations: a base or a locale of ICU (`de`, `sr_Cyrl`, `en_USA`), and what it does not tell apart.
_COLLATIONS: Final = (
    "UTF8_BINARY",
    "UTF8_LCASE",
    "UNICODE",
    "UNICODE_CI",
    "UNICODE_AI",
    "UNICODE_CI_AI",
    "UNICODE_RTRIM",
)
_COLLATION: Final = re.compile(
    "(?:UTF8_BINARY|UTF8_LCASE|UNICODE|[a-z]{2,3}(?:_[a-z]{4})?(?:_[a-z]{3})?)(?:_CI|_CS|_AI|_AS|_RTRIM)*",
    re.IGNORECASE,
)


def _check_collation(node: exp.Expr, sql: str) -> None:
    name = node.text("expression")
    if not _COLLATION.fullmatch(name):
        raise UnknownName("collation", name, _COLLATIONS, sql=sql, span=span_of(node))


def called(node: exp.Func) -> str | None:
    """The function that a node of a query as parsed calls, in lower case; None if it is an operator or a word of the grammar."""
    kind: type[exp.Func] = node.__class__
    name = node.name if kind in (exp.Anonymous, exp.AnonymousAggFunc) else node.meta_get(ORIGINAL_NAME)
    if name is None and kind in _UNNAMED:
        return None
    return name.lower() if name is not None else _class_name(kind)


def _check_call(node: exp.Func, catalog: Catalog, sql: str) -> None:
    name = called(node)
    if name is None:
        return
    if isinstance(node, exp.Count) and not _counted(node):
        raise TypeMismatch("COUNT needs something to count", hint="Write COUNT(*).", sql=sql, span=span_of(node))
    if name in catalog.functions:  # whether it may stand here, `bind` knows
        return
    in_from = isinstance(node.parent, (exp.Table, exp.Lateral))
    if name not in (TABLE_FUNCTIONS if in_from else _VALUES):
        raise _refusal(name, catalog, sql, node, in_from=in_from)
    if name in ("valid", "period") and not isinstance(node.parent, exp.Overlaps):
        raise UnsupportedSql(
            f"{name.upper()} belongs to OVERLAPS",
            hint="Write VALID(<table>) OVERLAPS PERIOD(<from>, <to>).",
            sql=sql,
            span=span_of(node),
        )


def _counted(count: exp.Expr) -> bool:
    return bool(count.this.expressions) if isinstance(count.this, exp.Distinct) else count.this is not None


def _class_name(kind: type[exp.Func]) -> str:
    """The function that a class stands for, where the parser read it by rules of its own and kept no name."""
    names = [name.lower() for name in kind.sql_names()]
    return next((name for name in names if name in ALLOWED), names[0])


def _refusal(name: str, catalog: Catalog, sql: str, node: exp.Func, *, in_from: bool) -> SqlError:
    place = span_of(node)
    if name in REFUSED:
        return UnsupportedSql(
            f'function "{name}" cannot be called in a query', detail=REFUSED[name], sql=sql, span=place
        )
    if in_from and name in _VALUES:
        return UnsupportedSql(f'function "{name}" gives a value, not a table', sql=sql, span=place)
    if name == "range":
        return UnsupportedSql(f'function "{name}" stands in FROM', sql=sql, span=place)
    registered = {f.name for f in catalog.functions.values() if (f.kind == "table") == in_from}
    kind, known = ("table function", TABLE_FUNCTIONS) if in_from else ("function", _VALUES)
    return UnknownName(kind, name, known | registered, sql=sql, span=place)


def _described(node: exp.Expr) -> str:
    return _WRITTEN.get(node.__class__, node.key.upper())


def _place(node: exp.Expr) -> Span | None:
    return span_of(node) or (span_of(node.parent) if node.parent is not None else None)
