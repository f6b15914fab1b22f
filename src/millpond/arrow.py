"""Schemas as Arrow, and whatever a user hands in as Arrow batches.

`to_batch` is the door for rows: an Arrow table, a pandas frame, dicts or tuples become one record batch of the wanted
schema plus the list of rows that could not be converted, each with its reason. A mistake about the whole offer (an
unknown column, a missing time column) raises; a mistake in a row rejects that row and no other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.duration import to_micros
from millpond.errors import IntakeError, brief, counted
from millpond.schema import INTEGERS, SEQ, Column, DataType, Schema

Integer = TypeVar("Integer", bound=np.integer[Any])

_ARROW: dict[str, pa.DataType] = {
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    # Spark's TIMESTAMP is an instant; stored in UTC. Arrow carries the zone, Parquet says isAdjustedToUTC.
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
}
_NAMES = {v: k for k, v in _ARROW.items()}


def arrow_type(kind: DataType) -> pa.DataType:
    return pa.decimal128(kind.precision, kind.scale) if kind.name == "DECIMAL" else _ARROW[kind.name]


@lru_cache(4096)
def arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([pa.field(c.name, arrow_type(c.type)) for c in schema])


def data_type(kind: pa.DataType) -> DataType:
    """The column type that holds values of an Arrow type; widens where Spark has no such type."""
    if kind in _NAMES:
        return DataType(_NAMES[kind])
    if pa.types.is_decimal(kind):
        return DataType("DECIMAL", kind.precision, kind.scale)
    if pa.types.is_unsigned_integer(kind):
        return DataType({8: "SMALLINT", 16: "INT"}.get(kind.bit_width, "BIGINT"))
    if pa.types.is_timestamp(kind):
        return DataType("TIMESTAMP")
    if pa.types.is_date(kind):
        return DataType("DATE")
    if pa.types.is_float16(kind):
        return DataType("FLOAT")
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return DataType("STRING")
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return DataType("BINARY")
    raise IntakeError(f"Arrow type {kind} has no column type", hint="Convert it to one of Spark SQL's simple types.")


def schema_of(schema: pa.Schema) -> Schema:
    return Schema(tuple(Column(f.name, data_type(f.type)) for f in schema))


@dataclass
class BadRow:
    """A row that could not be taken: where it stood in the offer, why, and its text."""

    index: int
    reason: str
    text: str


@dataclass
class Offer:
    """Rows as offered, converted: `batch` holds the good ones, `index` their places in the offer (None: all)."""

    batch: pa.RecordBatch
    bad: list[BadRow] = field(default_factory=list)
    index: pa.Array | None = None


def to_batch(rows: Any, schema: Schema, table: str, *, required: Sequence[str] = ()) -> Offer:
    """Convert what a user offers. Columns may be in any order; those left out are NULL unless `required`."""
    if isinstance(rows, pa.RecordBatch):
        return _from_arrow(rows, schema, table, required)
    if isinstance(rows, pa.Table):
        rows = rows.combine_chunks()
        batches = rows.to_batches()
        batch = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema)
        return _from_arrow(batch, schema, table, required)
    if hasattr(rows, "__arrow_c_stream__"):
        return to_batch(pa.table(rows), schema, table, required=required)
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):  # a pandas frame that lacks the Arrow protocol
        return to_batch(pa.Table.from_pandas(rows, preserve_index=False), schema, table, required=required)
    if isinstance(rows, Mapping):
        return _from_objects([rows], schema, table, required)
    if isinstance(rows, Iterable) and not isinstance(rows, (str, bytes)):
        return _from_objects(list(rows), schema, table, required)
    raise IntakeError(
        f'table "{table}" cannot take rows from {type(rows).__name__}',
        hint="Offer an Arrow table, a pandas frame, or a list of dicts or tuples.",
    )


def _from_objects(rows: list[Any], schema: Schema, table: str, required: Sequence[str]) -> Offer:
    columns: dict[str, list[Any]] = {}
    bad: dict[int, str] = {}
    if rows and isinstance(rows[0], Mapping):
        for index, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise IntakeError(f'table "{table}" was offered a mixture of dicts and {type(row).__name__}')
            for name in row:
                if name in columns:
                    continue
                if isinstance(name, str):
                    columns[schema.find(name, table).name] = []
                else:
                    bad[index] = f"{brief(name)} is not the name of a column"
        lower = {c.lower(): c for c in columns}
        for index, row in enumerate(rows):
            seen = {} if index in bad else {lower[n.lower()]: v for n, v in row.items()}
            if len(seen) != len(row):
                bad.setdefault(index, "a column is given twice")
            for name, values in columns.items():
                values.append(seen.get(name))
    else:
        names = schema.names
        for index, row in enumerate(rows):
            if not isinstance(row, Sequence) or isinstance(row, (str, bytes)):
                raise IntakeError(
                    f'table "{table}" cannot take a row of type {type(row).__name__}',
                    hint="A row is a dict or a tuple with one value for each column.",
                )
            if len(row) != len(names):
                raise IntakeError(
                    f'row {index} has {counted(len(row), "value")}, table "{table}" has {counted(len(names), "column")}',
                    detail=f"The columns are: {', '.join(names)}.",
                )
        columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    arrays = {name: _from_values(values, schema.find(name, table), bad) for name, values in columns.items()}
    if not arrays and not required:  # rows that give nothing at all are rows nevertheless
        arrays = {schema.names[0]: pa.nulls(len(rows), arrow_type(schema.columns[0].type))}
    batch = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
    return _from_arrow(batch, schema, table, required, bad, originals=rows)


# Python types whose values Arrow takes as they are. A list of only these is converted at once; what it does to a value
# must be what `_convert` does to it alone, because a row's fate may not depend on its neighbours.
_NATURAL: dict[str, set[type]] = {
    **{name: {int} for name in INTEGERS},
    "BOOLEAN": {bool},
    "FLOAT": {float},
    "DOUBLE": {float},
    "STRING": {str},
    "BINARY": {bytes},
    "DATE": {date},
    "TIMESTAMP": {datetime},
    "DECIMAL": {Decimal},
}
# The first and last value of a type that Python has too.
_YEARS = {
    "TIMESTAMP": (
        to_micros(datetime.min.replace(tzinfo=UTC)),
        to_micros(datetime.max.replace(tzinfo=UTC)),
    ),
    "DATE": ((date.min - date(1970, 1, 1)).days, (date.max - date(1970, 1, 1)).days),
}
_REFUSALS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ArithmeticError, ValueError, TypeError)


def _from_values(values: list[Any], column: Column, bad: dict[int, str]) -> pa.Array:
    kind = arrow_type(column.type)
    if set(map(type, values)) <= {*_NATURAL[column.type.name], type(None)}:
        try:
            return pa.array(values, kind)
        except _REFUSALS:
            pass  # some value does not fit: find out which
    return _convert_one_by_one(values, column, bad)


def _convert_one_by_one(values: list[Any], column: Column, bad: dict[int, str]) -> pa.Array:
    kind = arrow_type(column.type)
    out: list[Any] = []
    for index, value in enumerate(values):
        try:
            out.append(None if value is None else pa.scalar(_convert(value, column.type), kind).as_py())
        except Exception:  # the value is the user's object and may do anything
            bad.setdefault(index, _not_a(column, value))
            out.append(None)
    return pa.array(out, kind)


def _convert(value: Any, kind: DataType) -> Any:
    """A value as Arrow takes it for a column of this kind, or an error. Nothing is cut off or guessed."""
    if hasattr(value, "item") and hasattr(value, "dtype"):  # a NumPy scalar
        value = value.item()
    if kind.name == "STRING":
        return _only(str, value)
    if kind.name == "BOOLEAN":
        return _from_text(value, kind) if isinstance(value, str) else _only(bool, value)
    if isinstance(value, bool):
        raise TypeError(value)
    if kind.name == "TIMESTAMP":
        if isinstance(value, str):
            return _timestamp(value)
        is_day = isinstance(value, date) and not isinstance(value, datetime)
        return datetime(value.year, value.month, value.day, tzinfo=UTC) if is_day else _only(datetime, value)
    if kind.name == "DATE" and isinstance(value, datetime):
        if value.timetz().replace(tzinfo=None) != time():
            raise ValueError(value)
        return value.date()
    if isinstance(value, str):
        return _from_text(value, kind)
    if kind.name == "DATE":
        return _only(date, value)
    if kind.name == "BINARY":
        return bytes(_only((bytes, bytearray, memoryview), value))
    if kind.name == "DECIMAL":
        return Decimal(repr(value)) if isinstance(value, float) else _only((int, Decimal), value)
    if kind.is_integer:
        whole = int(_only((int, float, Decimal), value))
        if whole != value:
            raise ValueError(value)
        return whole
    return float(_only((int, float, Decimal), value))


def _only(types: type | tuple[type, ...], value: Any) -> Any:
    if not isinstance(value, types):
        raise TypeError(value)
    return value


def _from_text(value: str, kind: DataType) -> Any:
    return pa.scalar(value).cast(arrow_type(kind)).as_py()


def _timestamp(text: str) -> datetime:
    """A timestamp written as text; without a zone it is UTC."""
    value = datetime.fromisoformat(text.strip())
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def _not_a(column: Column, value: Any) -> str:
    return f'column "{column.name}": {brief(value)} is not {_article(column.type)}'


def _article(kind: DataType) -> str:
    return f"{'an' if str(kind)[0] in 'AEIOU' else 'a'} {kind}"


def _from_arrow(
    batch: pa.RecordBatch,
    schema: Schema,
    table: str,
    required: Sequence[str],
    bad: dict[int, str] | None = None,
    originals: list[Any] | None = None,
) -> Offer:
    bad = {} if bad is None else bad
    given: dict[str, pa.Array] = {}
    for index, name in enumerate(batch.schema.names):
        column = schema.find(name, table)
        if column.name in given:
            raise IntakeError(f'column "{name}" is offered twice')
        given[column.name] = batch.column(index)
    for name in required:
        if name not in given:
            raise IntakeError(
                f'rows for table "{table}" lack the column "{name}"',
                detail=f"They have: {', '.join(batch.schema.names) or 'no columns'}.",
            )
    arrays = []
    for column in schema:
        kind = arrow_type(column.type)
        array = given.get(column.name)
        if array is None:
            arrays.append(pa.nulls(batch.num_rows, kind))
        elif array.type == kind:
            arrays.append(array)
        else:
            arrays.append(_cast(array, column, bad))
        _check_years(arrays[-1], column, bad)
    result = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))
    if not bad:
        return Offer(result)
    order = sorted(bad)
    texts = [_text(originals[i] if originals is not None else _row(batch, i)) for i in order]
    mask = pa.array([i not in bad for i in range(batch.num_rows)])
    kept = pc.indices_nonzero(mask)
    return Offer(result.filter(mask), [BadRow(i, bad[i], t) for i, t in zip(order, texts, strict=True)], kept)


def _cast(array: pa.Array, column: Column, bad: dict[int, str]) -> pa.Array:
    kind = arrow_type(column.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type) and pa.types.is_timestamp(kind) and array.type.tz is None:
        array = array.cast(pa.timestamp(array.type.unit, tz="UTC"))  # a timestamp without zone is taken as UTC
    try:
        return array.cast(kind)
    except pa.ArrowNotImplementedError as error:
        raise IntakeError(
            f'column "{column.name}" is {_article(column.type)}, but the rows offered hold {array.type}',
            hint="Convert the column first.",
        ) from error
    except pa.ArrowInvalid:
        return _convert_one_by_one(python_values(array), column, bad)


def _check_years(array: pa.Array, column: Column, bad: dict[int, str]) -> None:
    """Times that no `datetime` can be: whoever reads them in Python would fail."""
    if column.type.name not in _YEARS or len(array) == array.null_count:
        return
    low, high = _YEARS[column.type.name]
    numbers = array.view(pa.int32() if column.type.name == "DATE" else pa.int64())
    both = pc.min_max(numbers)
    if both["min"].as_py() >= low and both["max"].as_py() <= high:
        return
    for index, number in enumerate(numbers.to_pylist()):
        if number is not None and not low <= number <= high:
            bad.setdefault(index, f'column "{column.name}": the time is outside of the years 1 to 9999')


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values as Python has them; a time that no `datetime` can be is a text."""
    try:
        values: list[Any] = column.to_pylist()
        return values
    except (OverflowError, ValueError):
        return [_python_value(scalar) for scalar in column]


def _python_value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return f"{scalar.value} as {scalar.type}"


def _row(batch: pa.RecordBatch, index: int) -> dict[str, Any]:
    part = batch.slice(index, 1)
    return {name: python_values(part.column(i))[0] for i, name in enumerate(batch.schema.names)}


def _text(row: Any) -> str:
    try:
        text = json.dumps(row if isinstance(row, (Mapping, str)) else list(row), default=str, ensure_ascii=False)
    except Exception:  # the values are the user's objects and may do anything
        items = row.items() if isinstance(row, Mapping) else enumerate(row)
        text = json.dumps({key if isinstance(key, str) else brief(key): brief(value) for key, value in items})
    return text.encode(errors="backslashreplace").decode()  # half a surrogate pair is no text


def row_texts(batch: pa.RecordBatch) -> list[str]:
    """Each row as JSON text, for `_rejected` tables."""
    columns = [python_values(column) for column in batch.columns]
    return [_text(dict(zip(batch.schema.names, row, strict=True))) for row in zip(*columns, strict=True)]


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """`batch` with exactly the columns of `schema`; a column it lacks (added to the table later) is NULL."""
    if batch.schema.names == schema.names:
        return batch
    arrays = []
    for item in schema:
        at = batch.schema.get_field_index(item.name)
        arrays.append(batch.column(at) if at >= 0 else pa.nulls(batch.num_rows, item.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def conformed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """`rows` with exactly the columns of `schema`; a column they lack is NULL."""
    if rows.schema.names == schema.names:
        return rows
    there = set(rows.schema.names)
    return pa.table(
        {f.name: rows.column(f.name) if f.name in there else pa.nulls(rows.num_rows, f.type) for f in schema}
    )


def integers(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """An integer, date or timestamp column without NULLs as NumPy, without a copy where it lies in one piece.

    pyarrow's own `to_numpy` imports pandas, which would cost every small question half a second.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # no chunk at all
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    assert array.null_count == 0, "a column with NULLs has no plain integers"
    kind = array.type
    width = kind.bit_width
    signed = not pa.types.is_unsigned_integer(kind)
    dtype = np.dtype(f"{'i' if signed else 'u'}{width // 8}")
    data = array.buffers()[1]
    if data is None or len(array) == 0:
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype)[array.offset : array.offset + len(array)]


def distinct(values: npt.NDArray[Integer]) -> npt.NDArray[Integer]:
    """Each integer once, in increasing order. NumPy's `unique` hashes them, which takes a hundred times as long for many.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    found = np.sort(values)
    new = np.ones(len(found), dtype=np.bool_)
    np.not_equal(found[1:], found[:-1], out=new[1:])
    return found if new.all() else found[new]


def numbered_between(rows: pa.Table, low: int, high: int) -> pa.Table:
    """Of `rows`, which have their row numbers, those numbered from `low` up to `high`, without it."""
    numbers = integers(rows.column(SEQ))
    if len(numbers) and (int(numbers.min()) < low or int(numbers.max()) >= high):
        return rows.filter(pa.array((numbers >= low) & (numbers < high)))
    return rows


def to_ipc(rows: pa.Table) -> bytes:
    """A table as Arrow's stream of bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_ipc(data: bytes | memoryview) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(bytes(data))).read_all()
