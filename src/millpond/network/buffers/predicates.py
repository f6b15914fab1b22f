"""Conditions of continuous queries as filters of batches; a condition that cannot be read is left to the engine."""

from __future__ import annotations

from sqlglot import exp

from millpond.predicate.form import Always
from millpond.predicate.vector import Filter
from millpond.sql.predicates import read_predicate


def compile_condition(condition: exp.Expr | None) -> Filter | None:
    """The filter that a condition is (without one: every row matches), or None if it is left to the engine."""
    predicate = Always() if condition is None else read_predicate(condition)
    return None if predicate is None else Filter(predicate)
