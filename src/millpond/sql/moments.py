"""Which expressions of a resolved query are dates, timestamps or intervals: Spark names sums of these in ways of their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

_KINDS: Final = {
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp",
    exp.DType.INTERVAL: "interval",
}
_CALLS: Final[dict[type[exp.Expr], str]] = {
    exp.Interval: "interval",
    exp.TsOrDsAdd: "date",
    exp.DateAdd: "date",
    exp.DateSub: "date",
    exp.LastDay: "date",
    exp.AddMonths: "date",
    exp.TsOrDsToDate: "date",
    exp.DateTrunc: "date",
    exp.CurrentDate: "date",
    exp.TimestampTrunc: "timestamp",
    exp.CurrentTimestamp: "timestamp",
    exp.StrToTime: "timestamp",
}
_NAMES: Final = {"make_date": "date", "timestamp_seconds": "timestamp", "now": "timestamp"}
# Of these a result is one of the operands, or it is none that matters.
_CHOICES: Final = (
    exp.Paren, exp.Alias, exp.Neg, exp.Add, exp.Sub, exp.Case, exp.If, exp.Coalesce, exp.Greatest, exp.Least, exp.Nullif,
    exp.Nvl2, exp.Max, exp.Min, exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.NthValue, exp.Lag, exp.Lead,
    exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.AnyValue,
)  # fmt: skip


MOMENT: Final = "moment"  # in the meta of a column that is not resolved yet: its kind


class Moments:
    def __init__(self, scopes: Sequence[Scope] = ()) -> None:
        self._scopes = scopes

    def kind(self, node: exp.Expr | None) -> str:
        """'date', 'timestamp' or 'interval', or nothing for what is none of these."""
        if node is None:
            return ""
        if isinstance(node, exp.Column):
            noted = node.meta_get(MOMENT)
            if noted is not None:
                return str(noted)
            if node.type is not None and node.type.this is not exp.DType.UNKNOWN:
                return _KINDS.get(node.type.this, "")
            return self.kind(self._origin(node))
        if isinstance(node, (exp.Cast, exp.TryCast)):
            return _KINDS.get(node.to.this, "")
        if isinstance(node, exp.Anonymous):
            return _NAMES.get(node.name.lower(), "")
        if isinstance(node, exp.Query):
            return self.kind(node.selects[0]) if node.selects else ""
        if isinstance(node, _CHOICES):
            return next(filter(None, map(self.kind, node.iter_expressions())), "")
        return _CALLS.get(node.__class__, "")

    def _origin(self, column: exp.Column) -> exp.Expr | None:
        """What a column of a subquery or a CTE stands for."""
        source = self._sources.get(id(column))
        query = source.expression if isinstance(source, Scope) else None
        if not isinstance(query, exp.Query):
            return None
        return next((each for each in query.selects if each.alias_or_name.lower() == column.name.lower()), None)

    @cached_property
    def _sources(self) -> dict[int, exp.Expr | Scope | None]:
        return {id(column): scope.sources.get(column.table) for scope in self._scopes for column in scope.columns}
