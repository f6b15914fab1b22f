"""What binding gives: a query's tree, and a `Use` for each place where it reads a table.

Everything after binding (bounds, plans, engines, continuous queries) works with these and never looks a name up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.catalog import REJECTED_COLUMNS, Function, Source, StandardTable, StreamingTable
from millpond.errors import SqlError
from millpond.query.system_names import SystemTable
from millpond.schema import SEQ, Schema
from millpond.sql.query_text import QueryText
from millpond.sql.reduce import Reduce
from millpond.windows.base import Window


@dataclass(frozen=True)
class Previous:
    """`PREV(column, back)`: a column of its own in the relation behind a use."""

    column: str
    back: int

    @property
    def name(self) -> str:
        return f"__prev_{self.back}_{self.column}"

    @classmethod
    def of(cls, name: str) -> Previous | None:
        """What a column's name stands for, if it is such a column."""
        if not name.startswith("__prev_"):
            return None
        back, _, column = name.removeprefix("__prev_").partition("_")
        return cls(column, int(back))


@dataclass(frozen=True)
class Use:
    """One use of a table in a query. `rejected`: the rejected rows of a streaming table are meant. `own_instant`: its relation
    has the column of that name (`query.instant`). `bare`: a window whose time the query does not name, so that Spark is shown
    nothing but what `*` shows. `reduce` says how much of it is read."""

    name: str
    alias: str
    table: StreamingTable | StandardTable | Source | SystemTable
    window: Window | None = None
    rejected: bool = False
    previous: tuple[Previous, ...] = ()
    own_instant: bool = False
    bare: bool = False
    reduce: Reduce | None = None

    @property
    def columns(self) -> Schema:
        return REJECTED_COLUMNS if self.rejected else self.table.columns

    @property
    def names(self) -> list[str]:
        """The columns that can be named: those of the table, and the row number where rows have one."""
        foreign = isinstance(self.table, StandardTable) and self.table.address is not None
        return [*self.columns.names, *(() if foreign or isinstance(self.table, SystemTable) else (SEQ,))]

    @property
    def shown(self) -> Schema:
        """The columns that `*` shows."""
        windowed = self.window is not None and isinstance(self.table, StreamingTable)
        return self.table.explicit if windowed else self.columns  # type: ignore[union-attr]

    @property
    def time_column(self) -> str | None:
        if self.rejected:
            return "arrival"
        return self.table.time_column if isinstance(self.table, StreamingTable) else None


@dataclass(frozen=True)
class Bound:
    """A query whose names are resolved. `names` are the output columns as the user wrote them, `functions` the user's
    functions it calls, by lower-case name. `written` is a query with correlated aggregates or norms before these were made
    exact."""

    tree: exp.Query
    uses: Mapping[str, Use]
    names: tuple[str, ...]
    scopes: list[Scope] = field(default_factory=list, compare=False)
    functions: Mapping[str, Function] = field(default_factory=dict)
    written: exp.Query | None = field(default=None, compare=False)
    text: QueryText | None = field(default=None, compare=False)
    """What Spark is given: the user's own text, with changes. None for a query that was not written by a user as it is."""
    shows_names: bool = True
    """Whether Spark names the columns of `text` as it would name those of the user's text."""
    unnamed: str | None = None
    """A column without a name that Spark may call otherwise than `names` say."""
    hidden: bool = True
    """Whether the query may name columns that `*` does not show."""
    stars: bool = False
    """Whether a `*` was written that stands for columns: Spark must see all that a relation has."""
    any_order: bool = False
    """Whether rows may come in any order, also those of a window: they are summed up."""
    unsure: SqlError | None = field(default=None, compare=False)
    """Why the names in `tree` are not resolved, if Spark may know better: it alone can answer then."""


def named_columns(tree: exp.Expr) -> set[str]:
    """Names that may be those of columns, wherever they stand, in lower case; all that a period needs is `VALID(t)`."""
    names: set[str] = set()
    for node in tree.walk():
        if isinstance(node, exp.Column):
            names.add(node.name.lower())
        elif isinstance(node, (exp.Join, exp.Star)):
            given = node.args.get("using") or node.args.get("except_") or node.args.get("except") or ()
            names |= {each.name.lower() for each in given}
        elif isinstance(node, exp.Dot):
            names.add(node.expression.name.lower())
        elif isinstance(node, exp.Pivot):
            names |= {each.name.lower() for each in node.find_all(exp.Identifier)}
    return names


def uses_by_alias(scope: Scope, uses: Mapping[str, Use]) -> dict[str, Use]:
    found = {}
    for alias, source in scope.sources.items():
        if isinstance(source, exp.Table) and source.name in uses:
            found[alias.lower()] = uses[source.name]
    return found
