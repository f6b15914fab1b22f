"""The option `where`: a condition that says which rows are read at all.

Spark 4.3 keeps what it pushed down for one use of a data frame with the data frame, and takes it for others too, which then
miss rows (mended in Spark 5). So nothing is pushed down, and who wants less read says so.
"""

from __future__ import annotations

from sqlglot import exp

from millpond.catalog import Catalog
from millpond.errors import UnsupportedSql
from millpond.predicate.form import Predicate
from millpond.query.binding.bind import bind
from millpond.query.bounds import column_of
from millpond.query.clauses import only
from millpond.query.relation import SPARK
from millpond.sql.parser import parse
from millpond.sql.predicates import read_predicate
from millpond.sql.statements import Select, Statement


def read_condition(text: str, table: str, catalog: Catalog) -> Predicate:
    """What a condition on the rows of a table says, exactly."""
    sql = f"SELECT * FROM {SPARK.quote(table)} WHERE {text}"
    predicate = _predicate(sql, parse(sql), catalog)
    if predicate is not None:
        return predicate
    raise UnsupportedSql(
        f'option where of format "millpond" cannot be this condition: {text}',
        detail="It takes comparisons of columns with constants, BETWEEN, IN, LIKE 'abc%', IS NULL, AND, OR and NOT.",
        hint='Leave the rest to Spark: .load("clicks").where(...).',
    )


def _predicate(sql: str, statements: list[Statement], catalog: Catalog) -> Predicate | None:
    query = statements[0].query if len(statements) == 1 and isinstance(statements[0], Select) else None
    if not isinstance(query, exp.Select) or only(query, "where") is not None:
        return None
    bound = bind(query, catalog, sql)
    uses, where = list(bound.uses.values()), bound.tree.args.get("where")
    if len(uses) != 1 or where is None:
        return None
    return read_predicate(where.this, column_of(uses[0].alias, uses[0]))
