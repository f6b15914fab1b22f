"""CSV: cut into rows, parsed by Arrow in one go; rows that Arrow refuses are found and set apart.

The rules are those of Arrow's CSV reader: a field in double quotes may hold delimiters, line ends and doubled quotes;
a quote elsewhere is an ordinary character; a row ends with LF, CRLF or CR; empty lines are no rows. A field that is the
null text (empty, unless the source says otherwise) and is not in quotes is NULL. Numbers may have blanks around them.

Invariant. The quick and the slow way give the same rows; the slow way is only taken for a run with something wrong
in it (`tests/unit/sources/test_lines.py` compares them).
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from pyarrow import csv

from millpond.arrow import arrow_schema, arrow_type
from millpond.schema import Schema
from millpond.sources.formats.convert import NAIVE, convert, not_a
from millpond.sources.formats.lines import CR, LF, QUOTE, Bytes, LineRows, Parsed, Places, cut, line_ends
from millpond.sources.options import LineOptions

_BLOCK = 1 << 20  # Arrow parses blocks in parallel; below two of them a second thread costs more than it gives
_BOM = b"\xef\xbb\xbf"


class CsvLines:
    def __init__(self, columns: Schema, options: LineOptions, fields: list[str] | None = None) -> None:
        """`fields` name the fields of a row, in order; the columns when not given."""
        self.header = options.header and fields is None
        self._columns = columns
        self._options = options
        self._schema = arrow_schema(columns)
        self._fields = columns.names if fields is None else fields
        self._present = [c for c in columns if c.name in self._fields]
        self._delimiter = options.delimiter.encode()
        plain = re.escape(self._delimiter) + rb"\r\n"
        # Possessive, so that a row is matched in one pass or not at all (an open quote).
        one = rb'(?:"(?:[^"]++|"")*+"[^' + plain + rb']*+|[^"' + plain + rb"][^" + plain + rb"]*+|)"
        self._field = re.compile(one)
        self._row = re.compile(one + rb"(?:" + re.escape(self._delimiter) + one + rb")*+(?:\r\n|\r|\n|\Z)")
        quick = {c.name: arrow_type(c.type) for c in self._present}
        # Decimals by way of text: Arrow's CSV reader does not check the precision after rescaling.
        quick = {n: pa.string() if pa.types.is_decimal(t) else t for n, t in quick.items()}
        naive = {n: NAIVE if pa.types.is_timestamp(t) else t for n, t in quick.items()}
        # Arrow wants to know whether timestamps carry a zone: what worked last is tried first.
        self._tries = [naive] if naive == quick else [naive, quick]

    def with_header(self, line: bytes) -> CsvLines:
        """This parser for rows with the fields that `line` names, in that order."""
        declared = {c.name.lower(): c.name for c in self._columns}
        names: list[str] = []
        for number, field in enumerate(self._fields_of(line)):
            if field.startswith(b'"'):
                field = field[1:].removesuffix(b'"').replace(b'""', b'"')
            name = declared.get(field.decode("utf-8", "replace").strip().lower())
            # A field that is no column, or a column named again, still needs a name of its own.
            names.append(f"\0{number}" if name is None or name in names else name)
        return CsvLines(self._columns, self._options, names)

    # -- cutting ----------------------------------------------------------------------------------------------------

    def split(self, data: bytes, whole: bool) -> LineRows:
        numbers, physical = line_ends(data)
        if b"\r" in data:
            physical = _with_lone_returns(numbers, physical, whole)
        if b'"' not in data:
            rows = cut(data, numbers, physical, physical, tail=whole)
        else:
            rows = self._split_quoted(data, numbers, physical, whole)
        return rows.without(rows.ends == rows.starts)

    def _split_quoted(self, data: bytes, numbers: Bytes, physical: Places, whole: bool) -> LineRows:
        quotes = np.flatnonzero(numbers == QUOTE)
        if not self._well_formed(numbers, quotes):
            return self._split_slowly(data, numbers, physical, whole)
        # Quotes open and close in turn: a line ends a row where an even number of quotes stands before it.
        inside = np.searchsorted(quotes, physical) & 1
        return cut(data, numbers, physical[inside == 0], physical, tail=whole and len(quotes) % 2 == 0)

    def _well_formed(self, numbers: Bytes, quotes: Places) -> bool:
        """Whether each quote opens a field, closes one, or is doubled, so that counting them is enough."""
        opening, closing = quotes[0::2], quotes[1::2]
        before = numbers[np.maximum(opening - 1, 0)]
        edge = self._delimiter[0]
        opens = (opening == 0) | (before == edge) | (before == LF) | (before == CR) | (before == QUOTE)
        after = numbers[np.minimum(closing + 1, len(numbers) - 1)]
        closes = (closing == len(numbers) - 1) | (after == edge) | (after == LF) | (after == CR) | (after == QUOTE)
        return bool(opens.all() and closes.all())

    def _split_slowly(self, data: bytes, numbers: Bytes, physical: Places, whole: bool) -> LineRows:
        breaks: list[int] = []
        at = 0
        while at < len(data):
            match = self._row.match(data, at)
            if match is None:  # an open quote
                return cut(data, numbers, np.array(breaks, np.int64), physical, tail=False)
            at = match.end()
            if at == len(data) and data[-1] != LF and not (whole and data[-1] == CR):
                return cut(data, numbers, np.array(breaks, np.int64), physical, tail=whole)
            breaks.append(at)
        return cut(data, numbers, np.array(breaks, np.int64), physical, tail=False)

    # -- parsing ----------------------------------------------------------------------------------------------------

    def parse(self, rows: LineRows) -> Parsed:
        if not self._present:
            reason = f"the header names none of the columns {', '.join(self._columns.names)}"
            return Parsed(self._schema.empty_table(), np.zeros(0, np.int64), [(i, reason) for i in range(len(rows))])
        for types in self._tries:
            try:
                table = self._read(rows, types, check_utf8=True)
                if table.num_rows == len(rows):
                    result = Parsed(self._finished(table))
                    self._tries.remove(types)
                    self._tries.insert(0, types)
                    return result
            except pa.ArrowInvalid:
                continue
        return self._parse_slowly(rows)

    def _read(self, rows: LineRows, types: dict[str, pa.DataType], *, check_utf8: bool) -> pa.Table:
        start, end = int(rows.starts[0]), int(rows.after[-1])
        data = pa.py_buffer(rows.data).slice(start, end - start)
        if rows.data.startswith(_BOM, start):
            data = pa.py_buffer(b"\n" + rows.data[start:end])  # Arrow would take it for the mark of a file's beginning
        size = end - start + 1
        threads = size > 2 * _BLOCK and not rows.joined
        if threads:
            size = max(_BLOCK, int((rows.after - rows.starts).max()) + 1)
        return csv.read_csv(
            data,
            read_options=csv.ReadOptions(column_names=self._fields, use_threads=threads, block_size=size + 1),
            parse_options=csv.ParseOptions(delimiter=self._options.delimiter, newlines_in_values=rows.joined),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=[c.name for c in self._present],
                null_values=[self._options.null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                check_utf8=check_utf8,
            ),
        )

    def _finished(self, table: pa.Table) -> pa.Table:
        """All declared columns with their own types."""
        present = dict(zip(table.column_names, table.columns, strict=True))
        arrays = [
            present[f.name].cast(f.type) if f.name in present else pa.nulls(table.num_rows, f.type)
            for f in self._schema
        ]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def _parse_slowly(self, rows: LineRows) -> Parsed:
        bad: dict[int, str] = {}
        counts = self._field_counts(rows)
        wanted = len(self._fields)
        for i in np.flatnonzero(counts != wanted).tolist():
            bad[i] = f"{counts[i]} field{'s' if counts[i] != 1 else ''} where {wanted} were expected"
        kept, texts = self._texts(rows, np.flatnonzero(counts == wanted), bad)
        arrays = {}
        for column in self._present:
            text = texts.column(column.name).combine_chunks()
            arrays[column.name], wrong = convert(text, column)
            for i in wrong:
                value = text[i].as_py().decode("utf-8", "backslashreplace")
                bad.setdefault(int(kept[i]), not_a(column, value))
        fine = np.array([int(i) not in bad for i in kept], dtype=bool)
        table = pa.table(arrays).filter(pa.array(fine))
        return Parsed(self._finished(table), kept[fine], sorted(bad.items()))

    def _field_counts(self, rows: LineRows) -> Places:
        numbers = np.frombuffer(rows.data, np.uint8)
        edges = np.concatenate(([0], np.cumsum(numbers == self._delimiter[0])))
        quotes = np.concatenate(([0], np.cumsum(numbers == QUOTE)))
        counts: Places = np.asarray(edges[rows.ends] - edges[rows.starts] + 1, dtype=np.int64)
        for i in np.flatnonzero(quotes[rows.ends] > quotes[rows.starts]).tolist():
            counts[i] = len(self._fields_of(rows.bytes_of(i)))
        return counts

    def _fields_of(self, row: bytes) -> list[bytes]:
        fields = []
        at = 0
        while (match := self._field.match(row, at)) is not None:
            fields.append(match.group())
            at = match.end() + 1
            if at > len(row):
                break
        return fields

    def _texts(self, rows: LineRows, which: Places, bad: dict[int, str]) -> tuple[Places, pa.Table]:
        """The fields of the rows `which`, unconverted, and which rows they are."""
        types = {c.name: pa.binary() for c in self._present}
        empty = pa.schema(list(types.items())).empty_table()
        if not len(which):
            return which, empty
        try:
            table = self._read(rows.chosen(which), types, check_utf8=False)
            if table.num_rows == len(which):
                return which, table
        except pa.ArrowInvalid:
            pass
        # Not reached by any row known; a row that Arrow cuts differently must not shift the others.
        if len(which) == 1:
            bad[int(which[0])] = "the line cannot be read as CSV"
            return which[:0], empty
        half = len(which) // 2
        (first, some), (second, others) = self._texts(rows, which[:half], bad), self._texts(rows, which[half:], bad)
        return np.concatenate((first, second)), pa.concat_tables([some, others])


def _with_lone_returns(numbers: Bytes, physical: Places, whole: bool) -> Places:
    """Line ends, where a CR that no LF follows is one too; a CR at the very end may still be followed by one."""
    returns = np.flatnonzero(numbers == CR)
    last = len(numbers) - 1
    lone = returns[(numbers[np.minimum(returns + 1, last)] != LF) & ((returns < last) | whole)]
    return np.sort(np.concatenate((physical, lone + 1))) if len(lone) else physical
