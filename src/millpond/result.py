"""What a statement gives back: a table of rows, or a message when there are none to give."""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millpond.arrow import python_values
from millpond.errors import EngineError, counted

if TYPE_CHECKING:
    import pandas

_SHOWN = 40
_WIDEST = 60


def with_warning(message: str, warning: str | None) -> str:
    """What a statement did, and what its user should know about it. All statements warn so, in Python and on the command line.

    >>> with_warning('query "q" created', "it sends much")
    'query "q" created; warning: it sends much'
    """
    return f"{message}; warning: {warning}" if warning else message


@dataclass(frozen=True)
class Reduction:
    """How much of the tables a reduced answer was made from.

    `fraction` is `rows` of `rows_in_all`; `bytes` are those of the files that were read, of `bytes_in_all`. `method` says in
    words how they were chosen. `interval` is how often the bounds of estimates hold (0.95 is in 95 of 100 answers); None for an
    answer without estimates. `notes` tell what has no bounds, and why. `exact`: it is the answer of all rows, as of one that was
    made of windows.
    """

    fraction: float
    rows: int
    rows_in_all: int
    bytes: int
    bytes_in_all: int
    method: str
    interval: float | None = None
    notes: tuple[str, ...] = ()
    exact: bool = False

    def __str__(self) -> str:
        share = f"{100 * self.fraction:.3g} %"
        lines = [
            f"read {share} of the rows ({self.rows:,} of {self.rows_in_all:,}; "
            f"{counted(self.bytes, 'byte')} of {self.bytes_in_all:,}): {self.method}"
        ]
        if self.interval is not None and self.rows < self.rows_in_all:
            lines.append(f"estimated; the bounds hold in {100 * self.interval:g} of 100 answers")
        if self.exact:
            lines.append("the answer is exact")
        return "\n".join([*lines, *self.notes])


class Result:
    """The answer to a statement. Iterates over rows as tuples and prints as a table.

    >>> answer = db.sql("SELECT * FROM VALUES (1, 'Ada'), (2, 'Bert') AS people (id, name)")
    >>> answer.rows()
    [(1, 'Ada'), (2, 'Bert')]
    >>> answer
     id | name
    ----+------
      1 | Ada
      2 | Bert
    (2 rows)
    """

    def __init__(self, rows: pa.Table | None = None, message: str = "", reduction: Reduction | None = None) -> None:
        self._rows = rows if rows is not None else pa.table({})
        self.message = message
        self.reduction = reduction
        """What was read for it, if it was not everything (`REDUCE`, `WITHIN`)."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._rows.schema.names)

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        return list(self)

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return self._rows

    def pandas(self) -> pandas.DataFrame:
        """All rows as a pandas frame."""
        return self._rows.to_pandas()

    def polars(self) -> Any:
        """All rows as a Polars frame. Polars has to be installed."""
        try:
            polars = importlib.import_module("polars")
        except ImportError as error:
            raise EngineError(
                "polars is not installed", hint="pip install polars, or use arrow() or pandas()."
            ) from error
        return polars.from_arrow(self._rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows for any library that takes Arrow's C streams: DuckDB, Polars, pandas, PyArrow.

        >>> result = Result(pa.table({"vid": [1, 2]}))
        >>> pa.table(result).num_rows
        2
        """
        return self._rows.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self._rows.to_batches():
            yield from zip(*(python_values(column) for column in batch.columns), strict=True)

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __repr__(self) -> str:
        if not self.columns:
            return self.message or "done"
        shown = Result(self._rows.slice(0, _SHOWN)).rows()
        text = format_table(self.columns, shown, self._rows.schema)
        footer = f"\n{self.reduction}" if self.reduction is not None else ""
        return f"{text}\n{self._counted()}{footer}"

    def _counted(self) -> str:
        count = len(self)
        more = f", {count - _SHOWN:,} not shown" if count > _SHOWN else ""
        return f"({counted(count, 'row')}{more})"

    def _repr_html_(self) -> str:
        """The same table for notebooks."""
        if not self.columns:
            return f"<pre>{html.escape(self.message or 'done')}</pre>"
        rights = [' style="text-align: right"' if right else "" for right in _numbers(self._rows.schema)]
        shown = Result(self._rows.slice(0, _SHOWN)).rows()
        lines = ["<table>", _html_row("th", self.columns, rights)]
        lines += [_html_row("td", [format_value(value) for value in row], rights) for row in shown]
        footer = [f"<p>{html.escape(line)}</p>" for line in str(self.reduction).splitlines()] if self.reduction else []
        return "\n".join([*lines, "</table>", f"<p>{self._counted()}</p>", *footer])


def _html_row(tag: str, texts: Sequence[str], rights: Sequence[str]) -> str:
    cells = (f"<{tag}{right}>{html.escape(text)}</{tag}>" for text, right in zip(texts, rights, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _numbers(schema: pa.Schema) -> list[bool]:
    """Which columns hold numbers, which stand to the right."""
    types = pa.types
    return [types.is_integer(f.type) or types.is_floating(f.type) or types.is_decimal(f.type) for f in schema]


def format_table(names: Sequence[str], rows: Sequence[Sequence[Any]], schema: pa.Schema | None = None) -> str:
    """Rows under their names; numbers to the right."""
    widest = _WIDEST if len(names) > 1 else 10_000
    texts = [[format_value(v, widest) for v in row] for row in rows]
    widths = [max([len(n), *(len(t[i]) for t in texts)]) for i, n in enumerate(names)]
    right = _numbers(schema) if schema is not None else [False] * len(names)

    def line(cells: Sequence[str]) -> str:
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
        return " " + " | ".join(padded).rstrip()

    rule = "-" + "-+-".join("-" * w for w in widths) + "-"
    return "\n".join([line(names), rule, *(line(t) for t in texts)])


def format_value(value: Any, widest: int = _WIDEST) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value.isoformat(sep=" ") if hasattr(value, "hour") else str(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= widest else text[: widest - 3] + "..."
