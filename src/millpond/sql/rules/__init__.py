"""The whitelist: what is proved to mean on DuckDB what it means on Spark, one table of rules per kind of expression."""

from sqlglot import exp

from millpond.sql.rules import aggregates, arrays, conditions, digests, numbers, patterns, queries, strings, times
from millpond.sql.rules.terms import RelationRule, Rule

VALUES: dict[type[exp.Expression], Rule] = {
    **queries.RULES,
    **numbers.RULES,
    **conditions.RULES,
    **strings.RULES,
    **times.RULES,
    **arrays.RULES,
    **digests.RULES,
    **aggregates.RULES,
}
FUNCTIONS: dict[str, Rule] = {
    **queries.FUNCTIONS,
    **numbers.FUNCTIONS,
    **conditions.FUNCTIONS,
    **strings.FUNCTIONS,
    **times.FUNCTIONS,
    **arrays.FUNCTIONS,
    **digests.FUNCTIONS,
    **patterns.FUNCTIONS,
    **aggregates.FUNCTIONS,
}
RELATIONS: dict[type[exp.Expression], RelationRule] = queries.RELATIONS
