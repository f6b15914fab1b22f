"""The changes that a query's own text needs for Spark, noted while names are resolved.

Every step of binding that replaces a node of millpond's own (a window, NOW(), PREV, a period) also notes what stands at its place
in the text. When a step cannot say that, the text is given up (`lost`) and the query is written from its tree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from millpond.errors import Span
from millpond.sql.dialect import WHOLE_TABLE, WINDOW_SPAN, span_of
from millpond.sql.query_text import Change, Instant, QueryText, View, text_of

MADE_UP_ALIAS = "made_up_alias"  # in the meta of a table: the alias is not the user's


class TextChanges:
    def __init__(self, query: exp.Expr, *, column_lists: bool) -> None:
        """`column_lists`: whether there are aliases that name columns."""
        text = text_of(query)
        if text is not None and column_lists:
            lists = (a for a in query.find_all(exp.TableAlias) if a.args.get("columns"))
            text = replace(text, column_lists=tuple(a.name.lower() for a in lists))
        self._text = text
        self._changes: list[Change] = []
        self.renames = False
        """Whether a change may show in the names that Spark makes up for unnamed columns."""

    @property
    def text(self) -> QueryText | None:
        """The text with what was noted; None if there is none, or it cannot be used."""
        return None if self._text is None else self._text.changed(self._changes)

    def lost(self) -> None:
        self._text = None

    def view(self, table: exp.Table, use: str) -> None:
        """The name of a table, and its window, become the name of a view. Call it before the node is changed."""
        name = span_of(table)
        if self._text is None or name is None or table.meta.get(WHOLE_TABLE):  # behind TABLE no alias may stand
            return self.lost()
        window = table.meta.get(WINDOW_SPAN)
        span = Span(name.start, name.end if window is None else window.end)
        alias = None if table.alias and not table.meta.get(MADE_UP_ALIAS) else table.name
        place = self._text.after_sample(span.end)
        if alias is not None and place != span.end:
            self._changes.append(Change(Span(place, place), f" AS {quoted(alias)}"))
            alias = None
        self._changes.append(Change(span, View(use, alias)))
        return None

    def narrow(self, use: str, columns: Iterable[str]) -> None:
        """Of the view of a use only these columns."""
        for place, change in enumerate(self._changes):
            if isinstance(change.becomes, View) and change.becomes.use == use:
                self._changes[place] = replace(change, becomes=replace(change.becomes, columns=tuple(columns)))

    def around(self, table: exp.Table, call: Span, before: str, after: str) -> None:
        """A call over a table becomes a subquery over it: what stands before the table's name, and after it."""
        name = span_of(table)
        if self._text is None or name is None:
            return self.lost()
        self._changes += [Change(Span(call.start, name.start), before), Change(Span(name.end, call.end), after)]
        return None

    def mention(self, node: exp.Expr, becomes: str) -> None:
        """A column, a call or a field of a call's result becomes another expression."""
        if isinstance(node, exp.Column):
            place = span_of(node)
        else:
            place = self._call(node.this if isinstance(node, exp.Dot) else node)
            if place is not None and isinstance(node, exp.Dot):
                last = span_of(node.expression)
                place = None if last is None else Span(place.start, last.end)
        if self._text is None or place is None:
            return self.lost()
        self._changes.append(Change(place, becomes))
        self.renames = True
        return None

    def schema(self, column: exp.Column) -> None:
        """A column named with a schema (`millpond.queries.name`) loses it: its relation is known by its alias."""
        schema, table = column.args["db"], column.args["table"]
        first, then = span_of(schema), span_of(table)
        if first is None or then is None:
            return self.lost()
        self._changes.append(Change(Span(first.start, then.start), ""))
        return None

    def instant(self, node: exp.Expr, kind: str) -> None:
        span = self._call(node)
        if span is not None:
            self._changes.append(Change(span, Instant(kind)))
            self.renames = True

    def call(self, node: exp.Expr, becomes: str) -> None:
        """A call becomes another expression."""
        span = self._call(node)
        if span is not None:
            self._changes.append(Change(span, becomes))
            self.renames = True

    def between(self, first: exp.Expr, last: exp.Expr, becomes: str) -> None:
        """Everything from a call to the end of another becomes another expression."""
        begin, end = self._call(first), self._call(last)
        if begin is not None and end is not None:
            self._changes.append(Change(Span(begin.start, end.end), becomes))
            self.renames = True

    def star(self, star: exp.Expr, columns: list[exp.Expr]) -> None:
        """A `*` becomes the columns that it stands for."""
        span = span_of(star)
        if span is None or not columns:
            return self.lost()
        written = ", ".join(column.sql("spark", identify=True) for column in columns)
        if isinstance(star, exp.Column):  # `t.*`
            span = Span(span.start, (span_of(star.this) or span).end)
        self._changes.append(Change(span, written))
        return None

    def _call(self, node: exp.Expr) -> Span | None:
        name = span_of(node) if node.meta_get("start") is not None else None
        span = self._text.call(name) if self._text is not None and name is not None else None
        if span is None:
            self.lost()
        return span


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
