"""JSON lines: one object a line, parsed by Arrow in one go; a run with something wrong in it is read line by line.

Keys are matched exactly; a missing key is NULL, a key that is no column is ignored unless the source is strict. Numbers
keep their digits on the way to a DECIMAL. Timestamps and dates are ISO 8601 texts.

Arrow reads a sequence of objects and does not care about lines. If each line begins with `{` and ends with `}`, no
object can span two lines; if there are also as many objects as lines, each line is one object. That is checked.

Limit: a value nested deeper than Python's recursion limit (about 1000) inside a key that is no column is accepted by
Arrow but rejected when its run is read line by line.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from millpond.arrow import arrow_schema
from millpond.schema import Column, Schema
from millpond.sources.formats.convert import convert, not_a
from millpond.sources.formats.lines import LineRows, Parsed, cut, line_ends
from millpond.sources.options import LineOptions

_OPEN, _CLOSE = b"{"[0], b"}"[0]


class _Raw(str):
    """A value as it was written: a number, or something nested."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Members(list[Any]):
    """The members of an object, in order, keys repeated as they were."""


class JsonLines:
    def __init__(self, columns: Schema, options: LineOptions) -> None:
        self.header = False
        self._columns = columns
        self._strict = options.strict
        self._schema = arrow_schema(columns)
        # Arrow takes a number for a DATE (as days) and loses the zone rules for a TIMESTAMP: both come as text.
        texts = {c.name for c in columns if c.type.name in ("DATE", "TIMESTAMP")}
        self._quick = arrow_json.ParseOptions(
            explicit_schema=pa.schema([pa.field(f.name, pa.string()) if f.name in texts else f for f in self._schema]),
            unexpected_field_behavior="error" if options.strict else "ignore",
        )

    def with_header(self, line: bytes) -> JsonLines:
        raise AssertionError("JSON lines have no header")

    def split(self, data: bytes, whole: bool) -> LineRows:
        numbers, physical = line_ends(data)
        rows = cut(data, numbers, physical, physical, tail=whole)
        blank = rows.ends == rows.starts
        if len(rows):
            for i in np.flatnonzero(~blank & (numbers[np.minimum(rows.starts, len(numbers) - 1)] != _OPEN)):
                blank[i] = not rows.bytes_of(int(i)).strip(b" \t\r")
        return rows.without(blank)

    def parse(self, rows: LineRows) -> Parsed:
        table = self._parse_quickly(rows)
        return Parsed(table) if table is not None else self._parse_slowly(rows)

    def _parse_quickly(self, rows: LineRows) -> pa.Table | None:
        start, end = int(rows.starts[0]), int(rows.after[-1])
        numbers = np.frombuffer(rows.data, np.uint8)
        if not ((numbers[rows.starts] == _OPEN).all() and (numbers[rows.ends - 1] == _CLOSE).all()):
            return None
        data = rows.data[start:end]
        if b"NaN" in data or b"Inf" in data:  # Arrow spells them in more ways than JSON readers know
            return None
        try:
            if not data.isascii():
                data.decode()  # Arrow does not look
            read = arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1)
            table = arrow_json.read_json(pa.py_buffer(data), read_options=read, parse_options=self._quick)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            return None
        if table.num_rows != len(rows):
            return None
        arrays = []
        for column in self._columns:
            array = table.column(column.name).combine_chunks()
            if column.type.name in ("DATE", "TIMESTAMP"):
                array, bad = convert(array, column)
                if bad:
                    return None
            elif column.type.name == "DECIMAL":
                try:
                    array.validate(full=True)  # Arrow does not check the precision after rescaling
                except pa.ArrowInvalid:
                    return None
            arrays.append(array)
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _parse_slowly(self, rows: LineRows) -> Parsed:
        bad: dict[int, str] = {}
        values: dict[str, list[str | None]] = {c.name: [] for c in self._columns}
        for i in range(len(rows)):
            members = self._members(rows.bytes_of(i), i, bad)
            for column in self._columns:
                value = members.get(column.name)
                text = _text(value, column)
                if text is None and value is not None:
                    bad.setdefault(i, not_a(column, _Raw(_shown(value))))
                values[column.name].append(text)
        arrays = []
        for column in self._columns:
            texts = pa.array(values[column.name], pa.string())
            array, wrong = convert(texts, column)
            arrays.append(array)
            for i in wrong:
                bad.setdefault(i, not_a(column, values[column.name][i]))
        good = np.array([i for i in range(len(rows)) if i not in bad], dtype=np.int64)
        table = pa.Table.from_arrays(arrays, schema=self._schema).take(pa.array(good))
        return Parsed(table, good, sorted(bad.items()))

    def _members(self, line: bytes, i: int, bad: dict[int, str]) -> dict[str, Any]:
        try:
            found = json.loads(
                line.decode(),
                parse_int=_Raw,
                parse_float=_Raw,
                parse_constant=_Raw,
                object_pairs_hook=_Members,
            )
        except UnicodeDecodeError:
            bad[i] = "the line is not valid UTF-8"
            return {}
        except (ValueError, RecursionError) as error:
            bad[i] = f"the line is not valid JSON: {error}"
            return {}
        if not isinstance(found, _Members):
            bad[i] = "the line is not a JSON object"
            return {}
        members: dict[str, Any] = {}
        for key, value in found:
            if key not in self._schema.names:
                if self._strict:
                    bad.setdefault(i, f'key "{key}" is not a column')
            elif key in members:
                bad.setdefault(i, f'key "{key}" is there twice')
            else:
                members[key] = value
        return members


def _shown(value: Any) -> str:
    """A value as JSON text."""
    if isinstance(value, _Members):
        return "{" + ", ".join(f"{json.dumps(k)}: {_shown(v)}" for k, v in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return str(value) if isinstance(value, _Raw) else json.dumps(value)


def _text(value: Any, column: Column) -> str | None:
    """The value as a text that `convert` takes, or None if it is NULL or cannot be a value of `column`."""
    if isinstance(value, bool):
        return str(value).lower() if column.type.name == "BOOLEAN" else None
    if not isinstance(value, str):
        return None
    if isinstance(value, _Raw):
        if column.type.is_integer and not value.lstrip("-").isdigit() and "n" not in value.lower():
            return _whole(value)
        return value
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    return value


def _whole(number: str) -> str:
    """1.0 and 1e2 as an integer's digits; what is not a whole number as it is."""
    try:
        exact = Decimal(number)
    except ArithmeticError:
        return number
    fits = len(number) <= 40 and abs(exact.adjusted()) <= 40  # or its digits may be more than memory holds
    return str(int(exact)) if fits and exact == exact.to_integral_value() else number
