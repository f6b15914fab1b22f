"""Read the file under test: rows of five kinds and widths, in any order.

A block of the file is sorted into one text for each type by the first character of its lines, and each text, whose
lines are then of one width, is read as CSV. A line that is no row of any type is malformed; it answers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from linear_road.validator.progress import OnProgress, Progress

BLOCK_BYTES: Final = 1 << 25
EXAMPLES: Final = 5
WHOLE, LONG, DECIMAL = pa.int32(), pa.int64(), pa.float64()

ROWS: Final[dict[int, dict[str, pa.DataType]]] = {
    0: {"VID": WHOLE, "Time": WHOLE, "Emit": DECIMAL, "Lav": WHOLE, "Toll": WHOLE},
    1: {"Time": WHOLE, "Emit": DECIMAL, "VID": WHOLE, "Seg": WHOLE},
    2: {"Time": WHOLE, "Emit": DECIMAL, "ResultTime": DECIMAL, "QID": WHOLE, "Bal": LONG},
    3: {"Time": WHOLE, "Emit": DECIMAL, "QID": WHOLE, "Bal": LONG},
    4: {"Time": WHOLE, "Emit": DECIMAL, "QID": WHOLE, "TravelTime": DECIMAL, "Toll": DECIMAL},
}
"""The fields of a row after its type."""

Column = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]


@dataclass
class Output:
    columns: dict[int, dict[str, Column]]
    """By type and field; the rows in the order of the file."""
    malformed: int = 0
    malformed_lines: list[str] = field(default_factory=list)
    """The first few."""

    def rows(self, kind: int) -> int:
        return len(self.columns[kind]["Time"])

    def text(self, kind: int, row: int) -> str:
        """A row as it could stand in the file."""
        values = (column[row].item() for column in self.columns[kind].values())
        return ",".join([str(kind), *(f"{value:.10g}" if isinstance(value, float) else str(value) for value in values)])

    def reject(self, line: str) -> None:
        self.malformed += 1
        if len(self.malformed_lines) < EXAMPLES:
            self.malformed_lines.append(line[:200])


def read_output(path: Path, on_progress: OnProgress) -> Output:
    output = Output({})
    parts: dict[int, list[dict[str, Column]]] = {kind: [] for kind in ROWS}
    size, done = max(path.stat().st_size, 1), 0
    for block in _blocks(path):
        for kind, text in _by_type(block, output):
            parts[kind].append(_parse(kind, text, output))
        done += len(block)
        on_progress(Progress("reading the output", done / size))
    for kind, fields in ROWS.items():
        some = parts.pop(kind) or [_empty(kind)]
        output.columns[kind] = {name: np.concatenate([part[name] for part in some]) for name in fields}
    return output


def _blocks(path: Path) -> Iterator[bytes]:
    """The file in blocks of whole lines, each line with its end."""
    rest = b""
    with path.open("rb") as file:
        while read := file.read(BLOCK_BYTES):
            cut = read.rfind(b"\n") + 1
            if cut:
                yield rest + read[:cut]
                rest = read[cut:]
            else:
                rest += read
    if rest:
        yield rest + b"\n"


def _by_type(block: bytes, output: Output) -> Iterator[tuple[int, bytes]]:
    """The lines of each type; lines of none are rejected, empty ones dropped."""
    text: Bytes = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(text == ord("\n")) + 1
    starts = np.append(0, ends[:-1])
    lengths = ends - starts
    kinds = text[starts].astype(np.int16) - ord("0")
    kinds[text[np.minimum(starts + 1, len(text) - 1)] != ord(",")] = -1
    for line in np.flatnonzero((kinds < 0) | (kinds >= len(ROWS))):
        if wrong := block[starts[line] : ends[line]].strip():
            output.reject(wrong.decode(errors="replace"))
    for kind in ROWS:
        here = kinds == kind
        if here.all():
            yield kind, block
        elif here.any():
            yield kind, text[np.repeat(here, lengths)].tobytes()


def _parse(kind: int, text: bytes, output: Output) -> dict[str, Column]:
    """The rows of one type; lines that are none are rejected."""

    skipped: list[str] = []

    def skip(row: Any) -> str:
        skipped.append(row.text)
        return "skip"

    fields = {"Type": pa.int8(), **ROWS[kind]}
    try:
        table = pyarrow.csv.read_csv(
            pa.py_buffer(text),
            pyarrow.csv.ReadOptions(column_names=list(fields), use_threads=False),
            pyarrow.csv.ParseOptions(invalid_row_handler=skip, quote_char=False),
            pyarrow.csv.ConvertOptions(column_types=fields, null_values=[]),
        )
    except pa.ArrowInvalid:
        return _parse_by_line(kind, text, output)
    columns = {name: table[name].to_numpy() for name in ROWS[kind]}
    finite = np.ones(table.num_rows, np.bool_)
    for name, type_ in ROWS[kind].items():
        if type_ is DECIMAL:
            finite &= np.isfinite(columns[name])
    if not finite.all():
        return _parse_by_line(kind, text, output)
    for line in skipped:
        output.reject(line)
    return columns


def _parse_by_line(kind: int, text: bytes, output: Output) -> dict[str, Column]:
    """The same, for a text in which some field is no number: line by line, to find out where."""
    fields = ROWS[kind]
    kept: list[list[float]] = []
    for line in text.decode(errors="replace").split("\n"):
        values = line.rstrip("\r").split(",")[1:]
        if not values:
            continue
        if len(values) != len(fields) or None in (row := list(map(_number, values, fields.values()))):
            output.reject(line)
        else:
            kept.append(row)  # type: ignore[arg-type]
    if not kept:
        return _empty(kind)
    return {
        name: np.array(column, type_.to_pandas_dtype())
        for (name, type_), column in zip(fields.items(), zip(*kept, strict=True), strict=True)
    }


def _number(text: str, type_: pa.DataType) -> float | None:
    try:
        if type_ is DECIMAL:
            value = float(text)
            return value if np.isfinite(value) else None
        whole = int(text)
    except ValueError:
        return None
    return whole if abs(whole) < 1 << (type_.bit_width - 1) else None


def _empty(kind: int) -> dict[str, Column]:
    return {name: np.empty(0, type_.to_pandas_dtype()) for name, type_ in ROWS[kind].items()}
