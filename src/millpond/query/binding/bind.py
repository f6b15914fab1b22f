"""Names to meaning: a SELECT as written becomes a tree in which every table and column is known.

Each use of a streaming or standard table gets a relation name of its own (`__r0`, `__r1`, ...) and a `Use` that says which
table, through which window. Engines then only have to provide those relations. All errors about names are raised here,
with the place in the SQL.

The order of the steps matters: relations must be known before anything is said about columns; stars over windows are
expanded before `qualify` would expand them its own way; PREV, NOW and the order of aggregates need columns that have
their tables; types come last, on columns that are known to exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from millpond.catalog import Catalog, Function
from millpond.errors import MillpondError, Span, SqlError, SqlSyntaxError, UnknownName, UnsupportedSql
from millpond.query.allowed import Contents, check_allowed, check_bare_names, is_own
from millpond.query.approximate import rewrite_approximate
from millpond.query.binding.aggregates import check_aggregates
from millpond.query.binding.clauses import check_clauses, check_natural
from millpond.query.binding.columns import check_columns, check_merged, settle_where, type_columns
from millpond.query.binding.forms import as_query, name_sources, rename_columns
from millpond.query.binding.functions import ORDERED, name_functions, order_aggregates
from millpond.query.binding.group_windows import expand_group_windows
from millpond.query.binding.instants import rewrite_now
from millpond.query.binding.periods import rewrite_periods
from millpond.query.binding.previous import calls_previous, rewrite_previous
from millpond.query.binding.relations import lower_ctes, name_relations
from millpond.query.binding.stars import UnknownStar, check_stars, expand_stars, shows_time, with_row_numbers
from millpond.query.binding.texts import TextChanges
from millpond.query.binding.uses import Bound, Use, named_columns
from millpond.query.exact import make_exact
from millpond.query.system_names import SystemTable
from millpond.sql.dialect import Millpond, span_of
from millpond.sql.naming import name_outputs, only_spark_names, spell_outputs
from millpond.sql.sizes import check_growth

_RENAMING = frozenset({exp.Pivot, exp.PivotAlias, exp.Lateral, exp.Aliases})
"""What gives columns names that are not those of a table: a name that no table has may be one of these."""

_SOURCES = frozenset({exp.Values, exp.Join, exp.Subquery})
"""Without these, and what steps may make, each relation of a FROM is the only one, and has a name or needs none."""


def bind(
    query: exp.Expr,
    catalog: Catalog,
    sql: str,
    *,
    allow_sources: bool = False,
    system: Mapping[str, SystemTable] | None = None,
    spark_decides: bool = False,
    each_row: bool = False,
    reduced: bool = False,
    check: Callable[[], None] = lambda: None,
) -> Bound:
    """Resolve a query. `sql` is the text it came from, for errors. `system` are the system tables it may read, by name
    without schema; None for a query that may not read any. `check` is called between steps, and raises to end it.

    With `spark_decides`, names of columns that cannot be resolved here are left to Spark, if the query's text is there: the
    result then is `unsure`. `each_row`: each row is an instant of the query. `reduced`: its tables may be read reduced.
    """
    tree = as_query(query.copy())
    if not isinstance(tree, exp.Query):
        raise UnsupportedSql("this is not a query", sql=sql, span=span_of(query))
    with _told_at(query, sql):
        contents = check_allowed(tree, catalog, sql)
        changes = TextChanges(tree, column_lists=contents.column_lists)
        check_growth(tree, contents.kinds)
        named = named_columns(tree)
        if contents.rewritten:
            expand_group_windows(tree, catalog, sql, changes)
            named |= named_columns(tree)
        check()
        hidden = contents.row_numbers or (contents.calls and calls_previous(tree))
        if hidden:
            check_stars(tree, sql)
        functions = name_functions(tree, catalog, sql)
        if exp.With in contents.kinds:
            lower_ctes(tree)
        if contents.rewritten or contents.kinds & _SOURCES:
            name_sources(tree)
        scopes = traverse_scope(tree)
        uses = name_relations(scopes, catalog, sql, allow_sources, system, changes, named)
        if not reduced:
            _refuse_reduce(uses, sql)
        check()
        own = functions or hidden or (contents.calls and is_own(tree))
        ours = not spark_decides or own or changes.text is None
        if exp.Pivot in contents.kinds:
            unsure = _pivot(tree, sql)
            if ours:
                raise unsure
            if shows_time(scopes, uses):
                raise _pivot_beside_time(tree, sql)
            if contents.bare_calls:
                check_bare_names(query, sql)
            return Bound(tree, uses, (), text=changes.text, hidden=False, unsure=unsure)
        try:
            with _told_at(query, sql):
                if (contents.rewritten or contents.column_lists) and rename_columns(tree, uses, changes, sql):
                    scopes = traverse_scope(tree)
                return _resolve(tree, contents, scopes, uses, functions, hidden, sql, changes, each_row, check)
        except SqlError as error:
            left = isinstance(error, UnknownStar) or not isinstance(error, UnsupportedSql | SqlSyntaxError)
            if ours or not left or changes.text is None:
                raise
            if shows_time(scopes, uses):
                raise
            if isinstance(error, UnknownName) and not (contents.kinds & _RENAMING or changes.text.column_lists):
                raise
            if contents.bare_calls:
                check_bare_names(query, sql)
            return Bound(tree, uses, (), text=changes.text, hidden=False, unsure=error)


def _refuse_reduce(uses: Mapping[str, Use], sql: str) -> None:
    for use in uses.values():
        if use.reduce is not None:
            raise UnsupportedSql(
                "REDUCE is for a SELECT that is answered once",
                detail="What is stored or sent on must not be taken for all rows.",
                hint="Leave it out. How far a continuous query may be thinned under load is said with SET OVERLOAD ALLOW.",
                sql=sql,
                span=Span(use.reduce.start, use.reduce.end),
            )


def _pivot(tree: exp.Expr, sql: str) -> UnsupportedSql:
    return UnsupportedSql(
        "PIVOT and UNPIVOT are left to Spark, which alone knows their columns",
        hint="Where Spark is not asked, write sum(CASE WHEN <key> = <value> THEN <column> END) for each column.",
        sql=sql,
        span=span_of(tree),
    )


def _pivot_beside_time(tree: exp.Expr, sql: str) -> UnsupportedSql:
    return UnsupportedSql(
        "PIVOT and UNPIVOT are not supported beside a * in a query that names the time of a window",
        detail="The time is hidden: * does not show it.",
        hint="Write the columns that you mean: FROM (SELECT k, v FROM r [ROWS 9] WHERE t > 0) PIVOT (...).",
        sql=sql,
        span=span_of(tree),
    )


def _resolve(
    tree: exp.Query,
    contents: Contents,
    scopes: list[Scope],
    uses: dict[str, Use],
    functions: dict[str, Function],
    hidden: bool,
    sql: str,
    changes: TextChanges,
    each_row: bool,
    check: Callable[[], None],
) -> Bound:
    for scope in scopes:
        if exp.Overlaps in contents.kinds:
            rewrite_periods(scope, uses, sql, changes)
        check_natural(scope, sql)
        expand_stars(scope, uses, hidden, changes, sql)
        check_clauses(scope, sql)
        settle_where(scope, uses, sql)
        check_merged(scope, uses, sql)
    aliases = {a.alias.lower() for a in tree.find_all(exp.Alias)}
    name_outputs(tree, {u.name: moments for u in uses.values() if (moments := _moments(u))})
    if contents.calls and rewrite_approximate(tree, functions, sql):
        changes.lost()
    check()
    # A hidden column that nobody names must not be met by NATURAL JOIN, f(*) and their like.
    named = {u.name: u.names if contents.row_numbers else u.columns.names for u in uses.values()}
    known: dict[str, object] = {name: dict.fromkeys(columns, "INT") for name, columns in named.items()}
    resolved = qualify(
        tree,
        dialect=Millpond,
        # Only names matter here, and they are in lower case already; types are put on the columns below.
        schema=MappingSchema(known, dialect=Millpond, normalize=False),
        validate_qualify_columns=False,
        quote_identifiers=True,
        expand_alias_refs=True,
        allow_partial_qualification=True,  # what is missing is reported by us, with the nearest name
    )
    check()
    scopes = with_row_numbers(resolved) if contents.row_numbers else traverse_scope(resolved)
    if contents.calls:
        rewrite_previous(scopes, uses, sql, changes)
        rewrite_now(scopes, uses, changes, sql, each_row=each_row)
    if functions or contents.kinds & ORDERED:
        order_aggregates(scopes, uses, functions)
    check()
    check_columns(scopes, uses, aliases, sql)
    for scope in scopes:
        check_aggregates(scope, sql)
    if contents.bare_calls:
        check_bare_names(resolved, sql)
    type_columns(scopes, uses)
    only_spark = only_spark_names(scopes)
    spell_outputs(resolved, {u.name: u.columns.names for u in uses.values()})
    assert isinstance(resolved, exp.Query)
    check()
    written = make_exact(resolved, functions, sql) if contents.calls else None
    if written is not None:
        changes.lost()
        scopes = traverse_scope(resolved)
    return Bound(
        resolved,
        uses,
        tuple(resolved.named_selects),
        scopes,
        functions,
        written,
        changes.text,
        shows_names=not changes.renames,
        hidden=hidden or changes.text is None,
        unnamed=only_spark,
        stars=contents.stars,
    )


def _moments(use: Use) -> dict[str, str]:
    """The columns of a table that are dates or timestamps."""
    kinds = ("DATE", "TIMESTAMP")
    return {c.name.lower(): c.type.name.lower() for c in use.columns if c.type.name in kinds}


@contextmanager
def _told_at(query: exp.Expr, sql: str) -> Iterator[None]:
    """Errors of sqlglot become errors of ours, with a place in the text."""
    try:
        yield
    except SqlError as error:
        raise error.at(sql, None) from error.__cause__
    except MillpondError:
        raise
    except (AttributeError, AssertionError, LookupError, TypeError, ValueError) as error:
        # Text that can be read and hardly is a query: sqlglot, or we, trip over a tree that nobody thought of.
        detail = f"{type(error).__name__} while its names were resolved."
        raise SqlError("this query cannot be understood", detail=detail, sql=sql, span=span_of(query)) from error
    except (OptimizeError, SqlglotError) as error:
        message = str(error).splitlines()[0]
        merged = message.removeprefix("Cannot automatically join: ")
        if merged != message:
            raise UnknownName(
                "column", merged, where=" on both sides of the join", sql=sql, span=span_of(query)
            ) from error
        raise SqlError(message, sql=sql, span=span_of(query)) from error
