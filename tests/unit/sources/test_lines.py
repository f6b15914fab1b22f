"""Cutting and parsing lines; the quick and the slow way against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.arrow import arrow_schema
from millpond.schema import Schema
from millpond.sources.formats.csv import CsvLines
from millpond.sources.formats.json import JsonLines
from millpond.sources.formats.lines import LineParser, batch_of
from millpond.sources.options import LineOptions

TYPES = [
    ("i", "INT"),
    ("s", "STRING"),
    ("d", "DOUBLE"),
    ("t", "TIMESTAMP"),
    ("b", "BOOLEAN"),
    ("m", "DECIMAL(6,2)"),
    ("y", "DATE"),
    ("x", "BINARY"),
]
ALL = Schema.of(TYPES)
TWO = Schema.of(TYPES[:2])


def csv(columns: Schema = TWO, **options: Any) -> CsvLines:
    return CsvLines(columns, LineOptions(**options))


def read(parser: LineParser, data: bytes, columns: Schema = TWO) -> tuple[list[tuple[Any, ...]], list[tuple[str, str]]]:
    """Rows and (reason, text) of bad rows."""
    rows = parser.split(data, True)
    batch = batch_of(parser, rows, arrow_schema(columns), str, 1, None)
    return [tuple(r.values()) for r in batch.rows.to_pylist()], [(b.reason, b.text) for b in batch.bad]


def pieces(parser: LineParser, data: bytes, whole: bool = True) -> list[bytes]:
    rows = parser.split(data, whole)
    return [rows.bytes_of(i) for i in range(len(rows))]


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\rb\r", [b"a", b"b"]),
        (b"\n\na\n\r\n\rb\n\n", [b"a", b"b"]),
        (b'1,"x\ny"\n2,z\n', [b'1,"x\ny"', b"2,z"]),
        (b'"a""\n""b"\nc', [b'"a""\n""b"', b"c"]),
        (b'5" pipe\n6" pipe\n', [b'5" pipe', b'6" pipe']),  # a quote inside a field is an ordinary character
        (b'"a"b"c\nd\n', [b'"a"b"c', b"d"]),
        (b'x"\n"a\nb"', [b'x"', b'"a\nb"']),
        (b'a\n"b\nc\n', [b"a"]),  # an open quote: the rest is not a row
        (b'x"\n"b\nc\n', [b'x"']),
    ],
)
def test_csv_rows(data: bytes, rows: list[bytes]) -> None:
    assert pieces(csv(), data) == rows


@pytest.mark.parametrize("data", [b"a\nb", b"a\r", b'a\n"b\n', b'a"\nb', b'a"\nb\r', b'a\n"b"\r'])
def test_csv_waits_for_the_end_of_a_row(data: bytes) -> None:
    assert len(pieces(csv(), data, whole=False)) == data.count(b"a\n") + data.count(b'a"\n')


def test_lines_are_counted_as_an_editor_does() -> None:
    rows = csv().split(b'1,"x\ny"\n\n2,z\n"', False)
    assert rows.lines.tolist() == [0, 3]
    assert rows.lines_after.tolist() == [2, 4]
    assert (rows.rest, rows.rest_lines) == (13, 4)


@given(st.text(alphabet='ab,"\r\n', max_size=40), st.integers(0, 40))
def test_csv_cut_anywhere_gives_the_same_rows(text: str, at: int) -> None:
    """Cutting what is there and going on from `rest` is cutting all of it."""
    data = text.encode()
    at = min(at, len(data))
    first = csv().split(data[:at], False)
    both = pieces(csv(), data[:at], False) + pieces(csv(), data[first.rest :])
    assert both == pieces(csv(), data)


@given(st.lists(st.text(alphabet='ab1,"\r\n ', max_size=12), max_size=8))
def test_arrow_cuts_csv_as_we_do(parts: list[str]) -> None:
    """Each row is read alone or among others with the same result, so places cannot shift."""
    parser = csv(Schema.of([("s", "STRING"), ("t", "STRING")]))
    rows = parser.split("\n".join(parts).encode(), True)
    if not len(rows):
        return
    together = parser.parse(rows)
    good = range(len(rows)) if together.good is None else together.good.tolist()
    alone = [parser.parse(rows.part(i, i + 1)) for i in range(len(rows))]
    assert [i for i, p in enumerate(alone) if not p.bad] == list(good)
    assert [r for p in alone for r in p.table.to_pylist()] == together.table.to_pylist()
    assert [(i, p.bad[0][1]) for i, p in enumerate(alone) if p.bad] == together.bad


VALUES = st.one_of(
    st.sampled_from(["1", "-5", "+3", "0x1F", "1.0", "1e3", "nan", "inf", "-Infinity", "99999999999", " 7 ", "\t1"]),
    st.sampled_from(["true", "FALSE", "tRuE", "1.10", "1.005", "12345.6", "123456", "", '""', '"1"', "é", "abc def"]),
    st.sampled_from(["2024-01-01", "2024-01-01 10:00:00", "2024-01-01T10:00:00.5Z", "2024-01-01T10:00:00+02:00"]),
    st.sampled_from(["2024-02-30", "2024-01-01T25:00:00", " 2024-01-01", "2024-01-01T10:00", "2024-01-01 10:00Z"]),
    st.text(alphabet="0123456789.-eE xZT:", max_size=10),
)


@given(st.lists(VALUES, min_size=len(TYPES), max_size=len(TYPES)))
def test_the_slow_way_converts_as_the_quick_way(values: list[str]) -> None:
    parser = csv(ALL)
    rows = parser.split(",".join(values).encode() + b"\n", True)
    quick = parser.parse(rows)
    slow = parser._parse_slowly(rows)
    assert repr(slow.table.to_pylist()) == repr(quick.table.to_pylist())  # as text, because NaN differs from itself
    assert slow.bad == quick.bad


def test_csv_values() -> None:
    data = "1,é,1.5,2024-01-01 10:00:00,true,1.10,2024-01-02,ab\n,,,,,,,\n".encode()
    rows, bad = read(csv(ALL), data, ALL)
    assert [str(v) for v in rows[0]][:3] == ["1", "é", "1.5"]
    assert str(rows[0][3]) == "2024-01-01 10:00:00+00:00"
    assert [str(v) for v in rows[0][4:]] == ["True", "1.10", "2024-01-02", "b'ab'"]
    assert rows[1] == (None,) * 8
    assert bad == []


def test_zones() -> None:
    """A zone is heeded, none means UTC; runs of either and mixtures of both are read."""
    parser = csv(Schema.of([("t", "TIMESTAMP")]))
    zoned, naive = b"2024-01-01T12:00:00+02:00\n", b"2024-01-01 10:00:00\n"
    for data in (zoned, naive, zoned + zoned, zoned + naive, naive):
        rows, bad = read(parser, data)
        assert {str(r[0]) for r in rows} == {"2024-01-01 10:00:00+00:00"}
        assert bad == []


def test_null_text() -> None:
    assert read(csv(), b'1,\n,""\n')[0] == [(1, None), (None, "")]
    rows, bad = read(csv(null="NULL"), b'NULL,NULL\n1,\n2,"NULL"\n,x\n')
    assert rows == [(None, None), (1, ""), (2, "NULL")]
    assert bad == [("line 4: column \"i\": '' is not an INT", ",x")]


def test_csv_reasons() -> None:
    data = b'1,a\n1\n2,b,c\nx,d\n3,\xff\n4,"e\nf",g\n99999999999,h\n5,"i,j"\n'
    rows, bad = read(csv(), data)
    assert rows == [(1, "a"), (5, "i,j")]
    assert bad == [
        ("line 2: 1 field where 2 were expected", "1"),
        ("line 3: 3 fields where 2 were expected", "2,b,c"),
        ("line 4: column \"i\": 'x' is not an INT", "x,d"),
        ("line 5: column \"s\": '\\\\xff' is not a STRING", "3,\\xff"),
        ("line 6: 3 fields where 2 were expected", '4,"e\nf",g'),
        ("line 8: column \"i\": '99999999999' is not an INT", "99999999999,h"),
    ]


def test_a_long_value_is_shortened_in_the_reason() -> None:
    _, bad = read(csv(), b"9" * 10_000 + b",a\n")
    assert len(bad[0][0]) < 120
    assert len(bad[0][1]) == 4099


def test_delimiter() -> None:
    assert read(csv(delimiter=";"), b'1;a,b\n2;"c;d"\n')[0] == [(1, "a,b"), (2, "c;d")]
    assert read(csv(delimiter="\t"), b"1\ta\n")[0] == [(1, "a")]
    assert read(csv(delimiter="|"), b"1|a|b\nx\n2|c\n")[0] == [(2, "c")]


def test_header_names_the_fields() -> None:
    parser = csv(header=True)
    assert parser.header
    renamed = parser.with_header(b'other,"S",I,s')
    assert not renamed.header
    assert read(renamed, b"1,a,2,b\n3,c,x,d\n") == (
        [(2, "a")],
        [("line 2: column \"i\": 'x' is not an INT", "3,c,x,d")],
    )
    assert read(parser.with_header(b"s"), b"a\n")[0] == [(None, "a")]
    reason = "line 1: the header names none of the columns i, s"
    assert read(parser.with_header(b"x,y"), b"1,a\n")[1] == [(reason, "1,a")]


def test_many_bad_rows_are_found() -> None:
    good = np.random.default_rng(7).random(5000) < 0.5
    data = b"".join(b"%d,a\n" % i if g else b"x%d,a\n" % i for i, g in enumerate(good))
    rows, bad = read(csv(), data)
    assert [r[0] for r in rows] == np.flatnonzero(good).tolist()
    assert [b[1] for b in bad] == [f"x{i},a" for i in np.flatnonzero(~good)]


def test_large_runs_use_several_blocks() -> None:
    data = b"".join(b"%d,%s\n" % (i, b"v" * (i % 50)) for i in range(150_000))
    parser = csv()
    table = parser.parse(parser.split(data, True)).table
    assert len(data) > 4 << 20
    assert table.column("i").to_pylist() == list(range(150_000))


# -- JSON -------------------------------------------------------------------------------------------------------------


def lines(columns: Schema = TWO, **options: Any) -> JsonLines:
    return JsonLines(columns, LineOptions(**options))


def test_json_values() -> None:
    data = (
        '{"i": 1, "s": "é\\n", "d": 1.5, "t": "2024-01-01T12:00:00+02:00", "b": true, "m": 1.10, "y": "2024-01-02", '
        '"x": "ab", "more": {"i": [1]}}\r\n\n  \n{}\n{"i": null}\n'
    ).encode()
    rows, bad = read(lines(ALL), data, ALL)
    assert [str(v) for v in rows[0]] == [
        "1", "é\n", "1.5", "2024-01-01 10:00:00+00:00", "True", "1.10", "2024-01-02", "b'ab'"
    ]  # fmt: skip
    assert rows[1:] == [(None,) * 8] * 2
    assert bad == []


def test_json_reasons() -> None:
    data = b"""{"i": 1}
{"i": "x"}
[1]
{"i": 1,}
{"s": "\xff"}
{"s": {"a": [1.50, "b"]}}
{"i": 1}{"i": 2}
{"i": true}
{"i": 1, "i": 2}
{"s": "\\ud800"}
{"i": 1.5}
{"i": 2.0, "s": 3}
{"i": "4"}
{"i":
5}
"""
    rows, bad = read(lines(), data)
    assert rows == [(1, None), (2, "3"), (4, None)]
    assert [reason.split(" (char")[0] for reason, _ in bad[:-1]] == [
        "line 2: column \"i\": 'x' is not an INT",
        "line 3: the line is not a JSON object",
        "line 4: the line is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 9",
        "line 5: the line is not valid UTF-8",
        'line 6: column "s": {"a": [1.50, "b"]} is not a STRING',
        "line 7: the line is not valid JSON: Extra data: line 1 column 9",
        'line 8: column "i": true is not an INT',
        'line 9: key "i" is there twice',
        'line 10: column "s": "\\ud800" is not a STRING',
        'line 11: column "i": 1.5 is not an INT',
        "line 14: the line is not valid JSON: Expecting value: line 1 column 6",
    ]
    assert bad[-1][0].startswith("line 15: the line is not valid JSON")


def test_json_strict() -> None:
    data = b'{"i": 1, "z": 2}\n{"i": 3}\n'
    assert read(lines(), data)[0] == [(1, None), (3, None)]
    rows, bad = read(lines(strict=True), data)
    assert rows == [(3, None)]
    assert bad == [('line 1: key "z" is not a column', '{"i": 1, "z": 2}')]


@pytest.mark.parametrize(
    "value",
    [
        *(
            "1",
            "1.5",
            "-0",
            "1e2",
            "NaN",
            "Inf",
            "Infinity",
            "123456",
            "12345678",
            "1.555",
            "1700000000",
            "0.1",
            "1e400",
        ),
        *("12345678901234567890", '"1"', '"x"', "true", "null", "[1]", '"2024-01-01"', '"2024-01-01T00:00:00Z"'),
    ],
)
@pytest.mark.parametrize("column", [c.name for c in ALL])
def test_json_slow_as_quick(column: str, value: str) -> None:
    parser = lines(ALL)
    rows = parser.split(b'{"%s": %s}\n' % (column.encode(), value.encode()), True)
    quick, slow = parser.parse(rows), parser._parse_slowly(rows)
    assert repr(slow.table.to_pylist()) == repr(quick.table.to_pylist())
    assert slow.bad == quick.bad
    if column == "m" and value == "12345678":
        assert quick.bad, "a decimal beyond its precision"
