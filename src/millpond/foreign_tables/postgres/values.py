"""Values on their way: COPY's CSV to Arrow, and Arrow to COPY's text format. No value becomes a Python object.

Both formats tell NULL from the empty text: CSV has nothing between the commas for the one and `""` for the other, the text
format `\\N` and nothing. A value that does not fit its column type is an error and never another value.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from millpond.arrow import arrow_type
from millpond.errors import EngineError, IntakeError
from millpond.foreign_tables.postgres.tables import PgColumn

BLOCK = 1 << 20  # bytes that one of them parses


def parse(text: bytes, columns: Sequence[PgColumn], table: str) -> pa.Table:
    names = [c.name for c in columns]
    places = [str(i) for i in range(len(columns))]
    # Only a text can hold a line break, and looking for those takes time.
    parse_options = pacsv.ParseOptions(
        newlines_in_values=any(c.type.name == "STRING" for c in columns),
        ignore_empty_lines=False,  # such a line is a row whose only column is NULL
    )
    convert_options = pacsv.ConvertOptions(
        column_types={place: c.parsed_as for place, c in zip(places, columns, strict=True)},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=["t"],
        false_values=["f"],
    )

    def read(block: int) -> pa.Table:
        read_options = pacsv.ReadOptions(column_names=places, block_size=block)
        return pacsv.read_csv(pa.BufferReader(text), read_options, parse_options, convert_options)

    try:
        try:
            rows = read(BLOCK)
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise
            rows = read(len(text) + 1)  # a row is longer than a block
    except pa.ArrowInvalid as error:
        raise _not_ours(error, names, table) from None
    arrays = [_finish(rows.column(i), c) for i, c in enumerate(columns)]
    return pa.Table.from_arrays(arrays, schema=pa.schema([pa.field(c.name, arrow_type(c.type)) for c in columns]))


def _not_ours(error: pa.ArrowInvalid, names: Sequence[str], table: str) -> EngineError:
    place = re.search(r"CSV column #(\d+): (?:Row #\d+: )?(.*)", str(error), re.DOTALL)
    if place is None:
        return EngineError(f'PostgreSQL table "{table}" could not be read', detail=str(error))
    return EngineError(
        f'column "{names[int(place.group(1))]}" of PostgreSQL table "{table}" holds a value millpond has no equal for',
        detail=f"{place.group(2)[:200]}.",
        hint="Make a view that leaves such values out or casts the column to text, and attach that.",
    )


def _finish(values: pa.ChunkedArray, column: PgColumn) -> pa.ChunkedArray:
    if column.type_name == "bytea":
        return pa.chunked_array([_from_hex(chunk) for chunk in values.chunks], pa.binary())
    return values.cast(arrow_type(column.type)) if column.type_name == "timestamp" else values


def _from_hex(texts: pa.StringArray) -> pa.BinaryArray:
    """All values at once: their digits stand one after the other in one buffer."""
    offsets, digits = _content(texts.cast(pa.large_string()))
    data = binascii.unhexlify(digits)
    plain = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(texts), [None, pa.py_buffer(offsets // 2), pa.py_buffer(data)]
    )
    return _nulls_of(texts, plain).cast(pa.binary())


def _to_hex(values: pa.LargeBinaryArray) -> pa.LargeStringArray:
    offsets, data = _content(values)
    plain = pa.LargeStringArray.from_buffers(
        len(values), pa.py_buffer(offsets * 2), pa.py_buffer(binascii.hexlify(data))
    )
    return _nulls_of(values, plain)


def _content(array: pa.Array) -> tuple[np.ndarray[Any, np.dtype[np.int64]], memoryview]:
    """The offsets, from zero, and the bytes of an array of large texts or binaries."""
    _, offsets, data = array.buffers()
    if len(array) == 0 or data is None:
        return np.zeros(len(array) + 1, dtype=np.int64), memoryview(b"")
    places = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    return places - places[0], memoryview(data)[places[0] : places[-1]]


def _nulls_of(source: pa.Array, values: pa.Array) -> pa.Array:
    return values if source.null_count == 0 else pc.if_else(source.is_valid(), values, pa.scalar(None, values.type))


def copy_text(batch: pa.RecordBatch) -> memoryview:
    """Rows in COPY's text format: values apart by tabs, \\N for NULL, a backslash before what would be misread."""
    fields = [_field_text(array, name) for name, array in zip(batch.schema.names, batch.columns, strict=True)]
    lines = pc.binary_join_element_wise(
        *fields, pa.scalar("\t", pa.large_string()), null_handling="replace", null_replacement="\\N"
    )
    empty, end = pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string())
    return _content(pc.binary_join_element_wise(lines, empty, end))[1]


def _field_text(array: pa.Array, name: str) -> pa.Array:
    kind = array.type
    try:
        if pa.types.is_dictionary(kind):
            array, kind = array.dictionary_decode(), kind.value_type
        if pa.types.is_timestamp(kind):
            # Without its zone, which leaves the time in UTC; and so does the transaction's time zone.
            return array.cast(pa.timestamp(kind.unit)).cast(pa.large_string())
        if any(is_kind(kind) for is_kind in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
                                             pa.types.is_fixed_size_binary)):  # fmt: skip
            prefix, nothing = pa.scalar("\\\\x", pa.large_string()), pa.scalar("", pa.large_string())
            return pc.binary_join_element_wise(prefix, _to_hex(array.cast(pa.large_binary())), nothing)
        texts = array.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise IntakeError(
            f'column "{name}" holds {array.type}, which cannot be written to PostgreSQL', hint="Convert it first."
        ) from error
    if pc.any(pc.match_substring_regex(texts, r"[\\\t\n\r]")).as_py():
        for character, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
            texts = pc.replace_substring(texts, character, written)
    return texts
