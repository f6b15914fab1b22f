"""`NOW()` over a window: a placeholder for the instant of evaluation (`query.instant`), filled in for each evaluation."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.catalog import StreamingTable
from millpond.query.binding.texts import TextChanges
from millpond.query.binding.uses import Use
from millpond.query.instant import placeholder


def rewrite_now(scopes: list[Scope], uses: Mapping[str, Use], changes: TextChanges) -> None:
    """Over a window NOW() is the instant the query is evaluated at. Time is data there; the wall clock plays no part."""
    windowed = [u for u in uses.values() if u.window is not None]
    if not windowed:
        return
    table = windowed[0].table
    assert isinstance(table, StreamingTable)
    whole = table.columns.find(table.time_column, table.name).type.is_integer
    for scope in scopes:
        for node in list(scope.find_all(exp.CurrentTimestamp, exp.Anonymous)):
            if isinstance(node, exp.Anonymous) and (node.name.upper() != "NOW" or node.expressions):
                continue
            changes.instant(node, "BIGINT" if whole else "TIMESTAMP")
            node.replace(placeholder(whole))
