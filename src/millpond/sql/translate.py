"""Spark SQL to DuckDB SQL, or a refusal: the promise behind law 2 (the same rows on either engine).

`to_duckdb` takes a qualified tree in Spark's dialect and gives DuckDB text that returns what Spark 4.3 in ANSI mode
returns: values, types, column names, NULLs and errors. It works by whitelist. `rules` holds a table from the class of
an expression to the one rule that was proved for it (by running `tests/corpus` on both engines); what has no rule
raises `NotOnDuckDB` and goes to Spark. A query never runs on DuckDB because nobody thought of a difference.

Translation is one walk that writes text and works out Spark types on the way, without copying or changing the tree.
(A chain of tree-to-tree rules would walk and copy more, would need types of half-translated trees, and would end in a
generator whose own rewrites are not proved.) It costs about a sixth of what sqlglot's generator alone costs.

What is guaranteed, and what cannot be:
- the sign of zero is not kept (`-0.0 = 0.0` on both; which one a group or a minimum shows depends on the rows' order);
- sums and averages of DOUBLE, and all deviations, variances and correlations, depend on the order of rows on either engine;
- which row LIMIT or LAG takes among equals is open on either engine, as is an error in a row, a group or a column that
  another part of the query leaves out: Spark computes constants while it plans, and outputs before HAVING. An error of
  DuckDB is therefore not the last word: the planner may ask Spark again, and must when `needs_spark` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millpond.catalog import Function
from millpond.errors import MillpondError
from millpond.schema import DataType
from millpond.sql.literals import folded_length
from millpond.sql.rules import FUNCTIONS, RELATIONS, VALUES
from millpond.sql.rules.functions import scalar
from millpond.sql.rules.terms import ArrayType, NotOnDuckDB, Relation, Translator, needs_spark

if TYPE_CHECKING:
    import duckdb

__all__ = ["SPARK_SETTINGS", "NotOnDuckDB", "configure", "needs_spark", "to_duckdb", "types_on_duckdb"]

# A rule may repeat the text of an operand (in a guard); deeply nested ones could then grow without bound.
_LONGEST: Final = 100_000

SPARK_SETTINGS: Final[dict[str, str]] = {
    "spark.sql.ansi.enabled": "true",  # errors instead of silent NULLs and wrap-around
    "spark.sql.session.timeZone": "UTC",  # a TIMESTAMP is then the same number on both sides
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.groupByAliases": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.sizeOfNull": "false",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    # With it Spark computes a repeated subexpression first, and `n = 0 OR 1 / n > 2, n <> 0 AND 1 / n > 2` raises.
    "spark.sql.subexpressionElimination.enabled": "false",
}

_DUCKDB_SETTINGS: Final[dict[str, str]] = {
    "TimeZone": "'UTC'",
    "default_null_order": "'NULLS_FIRST_ON_ASC_LAST_ON_DESC'",  # Spark's; the text says it as well
    "integer_division": "false",  # `/` is a division of DOUBLEs
    "error_on_division_by_zero": "true",  # ANSI: dividing by zero is an error, for integers ...
    "ieee_floating_point_ops": "false",  # ... and for DOUBLE too
    "scalar_subquery_error_on_multiple_rows": "true",
    "order_by_non_integer_literal": "false",
    "preserve_identifier_case": "'preserve_case'",
}


def to_duckdb(
    query: exp.Expr, user: Mapping[str, Function] | None = None, check: Callable[[], None] = lambda: None
) -> str:
    """DuckDB text for a Spark query that was qualified and annotated with its schema; raises `NotOnDuckDB`.

    `user` are the user's functions it calls, by lower-case name; they go before all others. `check` is called now and then,
    and raises to end it.

    >>> from sqlglot import parse_one
    >>> from sqlglot.optimizer.annotate_types import annotate_types
    >>> from sqlglot.optimizer.qualify import qualify
    >>> schema = {"p": {"vid": "int", "t": "bigint"}}
    >>> tree = qualify(parse_one("SELECT vid FROM p WHERE t >= 600", read="spark"), schema=schema, dialect="spark")
    >>> to_duckdb(annotate_types(tree, schema=schema, dialect="spark"))
    'SELECT "p"."vid" AS "vid" FROM "p" AS "p" WHERE ("p"."t" >= 600)'
    """
    sql = _translated(query, user, check).sql
    # A long list of values makes a long text too, and does no harm.
    if len(sql) > _LONGEST and len(sql) > _LONGEST + 8 * (len(query.sql("spark")) + folded_length(query)):
        raise NotOnDuckDB("the query is too deeply nested")
    return sql


def types_on_duckdb(query: exp.Expr, user: Mapping[str, Function] | None = None) -> list[DataType]:
    """The types of the columns of such a query; raises `NotOnDuckDB`."""
    return [type for _, type in _translated(query, user).columns]


def _translated(
    query: exp.Expr, user: Mapping[str, Function] | None, check: Callable[[], None] = lambda: None
) -> Relation:
    functions = {**FUNCTIONS, **dict.fromkeys(user, scalar)} if user else FUNCTIONS
    translator = Translator(VALUES, functions, RELATIONS, user, check)
    translator.scope.clause = "query"
    try:
        relation = translator.relation(query)
    except (NotOnDuckDB, MillpondError):
        raise
    except (AttributeError, AssertionError, LookupError, TypeError, ValueError) as error:
        # A tree that no rule was written for, out of text that hardly is a query: Spark judges it.
        raise NotOnDuckDB("it cannot be translated") from error
    if any(type.name == "VOID" for _, type in relation.columns):
        raise NotOnDuckDB("a column of bare NULLs is only supported on Spark")
    if any(isinstance(type, ArrayType) for _, type in relation.columns):
        raise NotOnDuckDB("a column of arrays is only supported on Spark")
    return relation


def configure(connection: duckdb.DuckDBPyConnection) -> None:
    """Make a DuckDB connection behave as the texts of `to_duckdb` expect; once, before the first of them."""
    for name, value in _DUCKDB_SETTINGS.items():
        connection.execute(f"SET {name} = {value}")
        # A cursor is a session of its own, which starts from the global settings and not from its parent's.
        connection.execute(f"SET GLOBAL {name} = {value}")
