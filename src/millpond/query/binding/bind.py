"""Names to meaning: a SELECT as written becomes a tree in which every table and column is known.

Each use of a streaming or standard table gets a relation name of its own (`__r0`, `__r1`, ...) and a `Use` that says which
table, through which window. Engines then only have to provide those relations. All errors about names are raised here,
with the place in the SQL.

The order of the steps matters: relations must be known before anything is said about columns; stars over windows are
expanded before `qualify` would expand them its own way; PREV, NOW and the order of aggregates need columns that have
their tables; types come last, on columns that are known to exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.schema import MappingSchema

from millpond.catalog import Catalog
from millpond.errors import MillpondError, SqlError, UnsupportedSql
from millpond.query.allowed import check_allowed
from millpond.query.approximate import rewrite_approximate
from millpond.query.binding.columns import check_columns, settle_where, type_columns
from millpond.query.binding.functions import name_functions, order_aggregates
from millpond.query.binding.instants import rewrite_now
from millpond.query.binding.periods import rewrite_periods
from millpond.query.binding.previous import rewrite_previous
from millpond.query.binding.relations import name_relations
from millpond.query.binding.stars import expand_window_stars, with_row_numbers
from millpond.query.binding.uses import Bound
from millpond.query.exact import make_exact
from millpond.query.system_names import SystemTable
from millpond.sql.dialect import Millpond, span_of
from millpond.sql.naming import name_outputs, spell_outputs
from millpond.sql.sizes import check_growth


def bind(
    query: exp.Expr,
    catalog: Catalog,
    sql: str,
    *,
    allow_sources: bool = False,
    system: Mapping[str, SystemTable] | None = None,
    check: Callable[[], None] = lambda: None,
) -> Bound:
    """Resolve a query. `sql` is the text it came from, for errors. `system` are the system tables it may read, by name
    without schema; None for a query that may not read any. `check` is called between steps, and raises to end it."""
    tree = query.copy()
    if not isinstance(tree, exp.Query):
        raise UnsupportedSql("this is not a query", sql=sql, span=span_of(query))
    try:
        check_allowed(tree, catalog, sql)
        check_growth(tree)
        check()
        functions = name_functions(tree, catalog, sql)
        scopes = traverse_scope(tree)
        uses = name_relations(scopes, catalog, sql, allow_sources, system)
        check()
        for scope in scopes:
            rewrite_periods(scope, uses, sql)
            expand_window_stars(scope, uses)
            settle_where(scope, uses, sql)
        aliases = {a.alias.lower() for a in tree.find_all(exp.Alias)}
        name_outputs(tree)
        rewrite_approximate(tree, functions, sql)
        check()
        known: dict[str, object] = {u.name: dict.fromkeys(u.names, "INT") for u in uses.values()}
        tree = qualify(
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
        scopes = with_row_numbers(tree)
        rewrite_previous(scopes, uses, sql)
        rewrite_now(scopes, uses)
        order_aggregates(scopes, uses)
        check()
        check_columns(scopes, uses, aliases, sql)
        type_columns(scopes, uses)
        spell_outputs(tree, {u.name: u.columns.names for u in uses.values()})
        assert isinstance(tree, exp.Query)
        check()
        written = make_exact(tree, functions, sql)
        scopes = scopes if written is None else traverse_scope(tree)
    except SqlError as error:
        raise error.at(sql, None) from error.__cause__
    except MillpondError:
        raise
    except (AttributeError, AssertionError, LookupError, TypeError, ValueError) as error:
        # Text that can be read and hardly is a query: sqlglot, or we, trip over a tree that nobody thought of.
        detail = f"{type(error).__name__} while its names were resolved."
        raise SqlError("this query cannot be understood", detail=detail, sql=sql, span=span_of(query)) from error
    except (OptimizeError, SqlglotError) as error:
        raise SqlError(str(error).splitlines()[0], sql=sql, span=span_of(query)) from error
    return Bound(tree, uses, tuple(tree.named_selects), scopes, functions, written)
