"""What a statement gives back: a table of rows, or a message when there are none to give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millpond.arrow import python_values

if TYPE_CHECKING:
    import pandas

_SHOWN = 40
_WIDEST = 60


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

    def __init__(self, rows: pa.Table | None = None, message: str = "") -> None:
        self._rows = rows if rows is not None else pa.table({})
        self.message = message

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
        count = len(self)
        more = f", {count - _SHOWN} not shown" if count > _SHOWN else ""
        return f"{text}\n({count} row{'' if count == 1 else 's'}{more})"


def format_table(names: Sequence[str], rows: Sequence[Sequence[Any]], schema: pa.Schema | None = None) -> str:
    """Rows under their names; numbers to the right."""
    widest = _WIDEST if len(names) > 1 else 10_000
    texts = [[format_value(v, widest) for v in row] for row in rows]
    widths = [max([len(n), *(len(t[i]) for t in texts)]) for i, n in enumerate(names)]
    right = [
        schema is not None
        and (pa.types.is_integer(f.type) or pa.types.is_floating(f.type) or pa.types.is_decimal(f.type))
        for f in (schema or [None] * len(names))
    ]

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
