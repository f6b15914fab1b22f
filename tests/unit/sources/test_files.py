"""Folders of files: order, resuming, files that are not finished, files that cannot be read."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millpond.catalog import Source
from millpond.clock import ManualClock
from millpond.errors import CorruptBlock, DiskFull, PondError, SecondWriter
from millpond.schema import Schema
from millpond.sources import files, journal
from millpond.sources.base import RowSource, SourceBatch
from millpond.sources.registry import open_source
from millpond.testing import check_source

COLUMNS = Schema.of([("i", "INT"), ("s", "STRING")])
MANY = 1 << 30


class Folder:
    """A folder of files and a journal, opened as often as a test likes; the clock stands still unless moved."""

    def __init__(self, path: Path) -> None:
        self.path = path / "in"
        self.path.mkdir()
        self.journal = path / "journal"
        self.clock = ManualClock()
        self.form = "csv"
        self.options: dict[str, str] = {}
        self._opened: list[RowSource] = []

    def write(self, name: str, data: str | bytes) -> None:
        (self.path / name).write_bytes(data.encode() if isinstance(data, str) else data)

    def append(self, name: str, data: str) -> None:
        with (self.path / name).open("a") as file:
            file.write(data)

    def open(self, position: Any = None) -> RowSource:
        source = Source("s", "files", str(self.path), COLUMNS, self.form, self.options)
        opened = open_source(source, self.journal, self.clock)
        self._opened.append(opened)
        if position is not None:
            opened.seek(position)
        return opened

    def close(self) -> None:
        for opened in self._opened:
            opened.close()

    def check(self, rows: int) -> None:
        """The laws of sources, for the files as they are."""
        self.close()
        for path in self.path.iterdir():
            os.utime(path, (-10, -10))  # long settled, by a clock at 0
        check_source(self.open, rows)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    yield made
    made.close()


def batches(source: RowSource, most: int = MANY) -> list[SourceBatch]:
    found = []
    while (batch := source.next_batch(most)) is not None:
        found.append(batch)
    return found


def rows(source: RowSource, most: int = MANY) -> list[tuple[Any, ...]]:
    return [tuple(r.values()) for b in batches(source, most) for r in b.rows.to_pylist()]


def numbers(source: RowSource, most: int = MANY) -> list[int]:
    return [r[0] for r in rows(source, most)]


def bad(source: RowSource) -> list[tuple[str, str]]:
    return [(b.places(row.index), row.reason) for b in batches(source) for row in b.bad]


def test_files_in_the_order_of_names_and_then_of_arrival(folder: Folder) -> None:
    source = folder.open()
    assert source.next_batch(MANY) is None
    folder.write("b.csv", "2,x\n")
    folder.write("a.csv", "1,é\n")
    assert rows(source) == [(1, "é"), (2, "x")]
    folder.write("0.csv", "3,y\n")
    folder.write("c.csv", "4,z\n")
    assert numbers(source) == [3, 4]
    folder.check(4)


def test_a_listing_that_has_a_file_but_not_the_one_before(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a folder's listing may be: files come while it is made, and it is behind the place of the first already."""
    source = folder.open()
    scandir = os.scandir

    @contextlib.contextmanager
    def torn(path: Path) -> Iterator[list[os.DirEntry[str]]]:
        monkeypatch.undo()
        for name, data in (("1.csv", "1,x\n"), ("2.csv", "2,x\n"), ("3.csv", "3,x\n")):
            folder.write(name, data)
        with scandir(path) as entries:
            yield [e for e in entries if e.name != "1.csv" and e.name != "3.csv"]

    monkeypatch.setattr(os, "scandir", torn)
    assert numbers(source) == [1, 2, 3]
    folder.check(3)


def test_a_folder_that_did_not_change_is_not_listed_again(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = []
    scandir = os.scandir

    def counted(path: Path) -> Any:
        listed.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    clock = ManualClock(time.time_ns() // 1000 + 10_000_000)  # what changes now changed ten seconds ago
    monkeypatch.setattr(folder, "clock", clock)
    folder.write("1.csv", "1,x\n")
    source = folder.open()
    assert numbers(source) == [1]
    listed.clear()
    assert numbers(source) == numbers(source) == []
    assert len(listed) <= 1
    folder.write("2.csv", "2,x\n")
    assert numbers(source) == [2]
    numbers(source)
    listed.clear()
    clock.advance(2)
    assert numbers(source) == []
    assert listed  # after a while in any case
    clock = ManualClock(time.time_ns() // 1000)  # what has changed just now may change again at the same time
    monkeypatch.setattr(folder, "clock", clock)
    position = {"serial": 2, "offset": 4, "line": 1, "end": True}
    folder.close()
    source = folder.open(position)
    for _ in range(3):
        listed.clear()
        os.utime(folder.path, ns=(0, clock.micros() * 1000))
        numbers(source)
        assert listed


def test_a_smaller_name_that_arrives_in_the_middle_of_a_file(folder: Folder) -> None:
    folder.write("b.csv", "1,x\n2,x\n3,x\n")
    source = folder.open()
    first = source.next_batch(2)
    assert first is not None
    folder.write("a.csv", "4,x\n")
    position = first.position
    assert position == {"serial": 1, "offset": 8, "line": 2, "end": False}
    source.close()
    assert numbers(folder.open(position)) == [3, 4]
    folder.close()
    assert numbers(folder.open(position), most=1) == [3, 4]


def test_names_that_are_not_read(folder: Folder) -> None:
    folder.options = {"pattern": "*.csv"}
    for name in (".a.csv", "_a.csv", "a.csv.tmp", "a.txt", "a.CSV"):
        folder.write(name, "1,x\n")
    (folder.path / "dir.csv").mkdir()
    source = folder.open()
    assert numbers(source) == []
    os.rename(folder.path / ".a.csv", folder.path / "a.csv")
    assert numbers(source) == [1]


def test_places_and_reasons(folder: Folder) -> None:
    folder.write("a.csv", 'x,1\n\n1,"p\nq"\n2,r\n3\n')
    folder.write("b.csv", "4,t\n5,u,v\n6,w\n")
    found = batches(folder.open())
    assert [b.places(i) for b in found for i in range(b.rows.num_rows)] == ["a.csv:3", "a.csv:5", "b.csv:1", "b.csv:3"]
    assert [(b.places(r.index), r.reason, r.text) for b in found for r in b.bad] == [
        ("a.csv:1", "line 1: column \"i\": 'x' is not an INT", "x,1"),
        ("a.csv:6", "line 6: 1 field where 2 were expected", "3"),
        ("b.csv:2", "line 2: 3 fields where 2 were expected", "5,u,v"),
    ]
    folder.check(7)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("", []),
        ("\n\n\r\n", []),
        ("1,a\r\n2,b\r\n\r\n3,c", [(1, "a"), (2, "b"), (3, "c")]),
        ("1,a\r2,b\r", [(1, "a"), (2, "b")]),
        ("\ufeff1,a\n\ufeff\n", [(1, "a")]),
        ('1,"a\r\nb"\n2,"c""d"\n3,"e,f"', [(1, "a\r\nb"), (2, 'c"d'), (3, "e,f")]),
        ("1,日本\n2,\U0001f600\n", [(1, "日本"), (2, "\U0001f600")]),
    ],
)
def test_texts(folder: Folder, data: str, expected: list[tuple[Any, ...]]) -> None:
    folder.write("a.csv", data)
    folder.write("b.csv", "9,z\n")
    folder.check(len(expected) + 1 + data.count("\n\ufeff"))
    assert rows(folder.open()) == [*expected, (9, "z")]


def test_header(folder: Folder) -> None:
    folder.options = {"header": "true"}
    folder.write("a.csv", "s,extra,I\na,b,1\nc,d,2\ne,f,3\n")
    folder.write("b.csv", "\ufeffi,s\r\n4,g\r\n")
    folder.write("c.csv", "i,s")
    folder.write("d.csv", "no,such\n5,h\n")
    folder.write("e.csv", "")
    folder.check(5)
    source = folder.open()
    singles = batches(source, most=1)
    assert [(b.places(0), b.rows.to_pylist()) for b in singles[2:4]] == [
        ("a.csv:4", [{"i": 3, "s": "e"}]),
        ("b.csv:2", [{"i": 4, "s": "g"}]),
    ]
    folder.close()
    assert bad(folder.open()) == [("d.csv:2", "line 2: the header names none of the columns i, s")]


def test_header_that_arrives_late(folder: Folder) -> None:
    folder.options = {"header": "true"}
    folder.write("a.csv", "s,")
    source = folder.open()
    assert numbers(source) == []
    folder.append("a.csv", "i\nx,1\n")
    assert rows(source) == [(1, "x")]


def test_torn_last_line(folder: Folder) -> None:
    folder.write("a.csv", "1,a\n2,b")
    folder.write("b.csv", "3,c\n")
    source = folder.open()
    assert numbers(source) == [1]
    folder.clock.advance(1.9)
    assert numbers(source) == []  # it waits, and so does the next file
    folder.append("a.csv", "b\n")
    assert rows(source) == [(2, "bb"), (3, "c")]
    folder.append("b.csv", "4,d")
    assert numbers(source) == []
    folder.clock.advance(1.9)
    assert numbers(source) == []
    folder.clock.advance(0.1)
    assert numbers(source) == [4]


def test_a_file_that_has_long_not_changed_is_not_waited_for(folder: Folder) -> None:
    folder.write("a.csv", "1,a")
    os.utime(folder.path / "a.csv", (-2, -2))
    assert numbers(folder.open()) == [1]


def test_the_last_file_may_grow(folder: Folder) -> None:
    folder.write("a.csv", "1,a\n")
    source = folder.open()
    assert numbers(source) == [1]
    folder.append("a.csv", "2,b\n")
    found = batches(source)
    assert found[0].rows.to_pylist() == [{"i": 2, "s": "b"}]
    folder.append("a.csv", "3,c\n")
    folder.write("0.csv", "4,d\n")
    source.close()
    assert numbers(folder.open(found[0].position)) == [3, 4]


def test_a_quote_that_is_not_closed_costs_one_line(folder: Folder) -> None:
    folder.write("a.csv", '1,a\n2,"b\n3,c\n4,d\n')
    folder.write("b.csv", "5,e\n")
    source = folder.open()
    assert numbers(source) == [1]
    folder.clock.advance(2)
    assert numbers(source) == [3, 4, 5]
    folder.check(5)
    assert bad(folder.open()) == [("a.csv:2", "line 2: a quote is not closed")]


def test_rows_longer_than_a_chunk(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 16)
    folder.write("a.csv", "1,a\n2," + "b" * 40 + "\n3,c\n" + '4,"' + "d\n" * 20 + '"\n5,e\n6,' + "f" * 50)
    os.utime(folder.path / "a.csv", (-10, -10))
    source = folder.open()
    assert numbers(source) == [1, 3, 5]
    folder.close()
    reasons = [reason for _, reason in bad(folder.open())]
    assert reasons[0] == "line 2: the line is longer than 8 MB"
    assert reasons[1] == "line 4: a quote is not closed"
    assert reasons[-1] == "line 26: the line is longer than 8 MB"
    folder.check(3 + len(reasons))


def test_chunks_do_not_show(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("a.csv", "".join(f'{i},"{"v" * (i % 5)}\n{i}"\r\n' + "\n" * (i % 3) for i in range(60)))
    whole = rows(folder.open())
    folder.close()
    monkeypatch.setattr(files, "CHUNK_BYTES", 64)
    assert rows(folder.open()) == whole
    folder.check(60)


def test_resume_anywhere(folder: Folder) -> None:
    folder.write("a.csv", "".join(f"{i},x\n" for i in range(20)))
    folder.write("b.csv", "".join(f"{i},x\n" if i % 3 else "oops\n" for i in range(20)))
    folder.write("c.csv", "100,x")
    folder.check(41)


def test_json(folder: Folder) -> None:
    folder.form = "json"
    folder.write("a.json", '{"i": 1, "s": "é"}\r\n\n{"i": "x"}\n{"s": "a", "z": 1}\n')
    folder.write("b.json", '{"i": 2}')
    folder.check(4)
    assert bad(folder.open()) == [("a.json:3", "line 3: column \"i\": 'x' is not an INT")]
    folder.close()
    folder.options = {"strict": "true"}
    assert bad(folder.open())[1] == ("a.json:4", 'line 4: key "z" is not a column')


def test_invalid_utf8(folder: Folder) -> None:
    folder.write("a.csv", b"1,a\n2,\xff\xfe\n3,c\n")
    folder.check(3)
    found = batches(folder.open())
    assert [(b.reason, b.text) for b in found[0].bad] == [
        ("line 2: column \"s\": '\\\\xff\\\\xfe' is not a STRING", "2,\\xff\\xfe")
    ]


def test_a_name_that_is_not_utf8(folder: Folder) -> None:
    with open(os.fsencode(folder.path) + b"/\xff.csv", "w") as file:
        file.write("1,a\n2\n")
    source = folder.open()
    found = batches(source)
    assert found[0].places(0) == "\ufffd.csv:1"
    source.close()
    assert batches(folder.open(found[0].position)) == []


def test_parquet(folder: Folder) -> None:
    folder.form = "parquet"
    table = pa.table({"extra": [[1], [2], [3], [4], [5]], "I": pa.array([1, 2, 3 << 40, 4, 5]), "s": list("abcde")})
    pq.write_table(table, folder.path / "a.parquet", row_group_size=2)
    pq.write_table(pa.table({"s": pa.array(["f", "g"]).dictionary_encode()}), folder.path / "b.parquet")
    folder.write("c.parquet", b"PAR1 this is not Parquet")
    folder.write("d.parquet", b"")
    pq.write_table(pa.table({"i": [[1]], "s": ["x"]}), folder.path / "e.parquet")
    pq.write_table(pa.table({"z": [1]}), folder.path / "f.parquet")
    pq.write_table(pa.table({"i": pa.array([], pa.int64())}), folder.path / "g.parquet")
    folder.check(5 + 2 + 1 + 1 + 1 + 1)
    source = folder.open()
    found = batches(source)
    assert [tuple(r.values()) for b in found for r in b.rows.to_pylist()] == [
        (1, "a"), (2, "b"), (4, "d"), (5, "e"), (None, "f"), (None, "g"), (None, None)
    ]  # fmt: skip
    refused = [(b.places(row.index), row.reason) for b in found for row in b.bad]
    assert refused[0] == ("a.parquet:3", 'row 3: column "i": 3298534883328 is not an INT')
    assert [place for place, _ in refused[1:]] == ["c.parquet", "d.parquet", "e.parquet"]
    assert refused[1][1].startswith("the file cannot be read as Parquet: ")
    assert refused[3][1].startswith('column "i" is an INT, but the rows offered hold list<')
    assert found[1].places(0) == "a.parquet:4"


def test_a_parquet_file_that_is_being_written_is_waited_for(folder: Folder) -> None:
    folder.form = "parquet"
    pq.write_table(pa.table({"i": [1]}), folder.path / ".a")
    data = (folder.path / ".a").read_bytes()
    folder.write("a.parquet", data[:-20])
    source = folder.open()
    assert batches(source) == []
    folder.write("a.parquet", data)
    assert numbers(source) == [1]


def test_a_damaged_row_group_costs_that_group(folder: Folder) -> None:
    folder.form = "parquet"
    path = folder.path / "a.parquet"
    pq.write_table(pa.table({"s": ["a" * 50, "b" * 50, "c" * 50]}), path, row_group_size=1, compression="gzip")
    place = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[place : place + 12] = b"\xff" * 12
    path.write_bytes(data)
    source = folder.open()
    found = batches(source)
    assert [r["s"][0] for b in found for r in b.rows.to_pylist()] == ["a", "c"]
    assert [row.reason[:25] for b in found for row in b.bad] == ["rows 2 to 2 cannot be rea"]


def test_thousands_of_files(folder: Folder) -> None:
    count = 3000
    for i in range(count):
        folder.write(f"{i:05}.csv", f"{i},x\n")
    source = folder.open()
    assert numbers(source) == list(range(count))
    position = {"serial": count - 1, "offset": len("2998,x\n"), "line": 1, "end": True}
    source.close()
    assert numbers(folder.open(position)) == [count - 1]


def packed(kind: str, data: bytes) -> bytes:
    if kind == "zstd":
        return bytes(pa.compress(data, codec="zstd", asbytes=True))
    if kind == "zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("a.csv", data)
        return buffer.getvalue()
    return {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}[kind](data)


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz", "zstd", "zip"])
def test_a_packed_file_is_told_in_one_row(kind: str, folder: Folder) -> None:
    folder.write("0.csv", "0,x\n")
    (folder.path / "1.csv").write_bytes(packed(kind, b"1,x\n" * 5000))
    folder.write("2.csv", "2,x\n")
    source = folder.open()
    found = batches(source)
    assert [r["i"] for b in found for r in b.rows.to_pylist()] == [0, 2]
    reason = f'file "1.csv" is packed by {kind} and was not read: unpack it, under another name'
    assert [row.reason for b in found for row in b.bad] == [reason]
    source.close()
    assert [row for b in batches(folder.open(found[1].position)) for row in b.bad] == []


def test_a_text_that_begins_like_a_packed_file_is_read(folder: Folder) -> None:
    folder.write("0.csv", "1,BZh9\n")
    (folder.path / "1.csv").write_text("BZh91,x\n2,y\n")
    found = batches(folder.open())
    assert [r["i"] for b in found for r in b.rows.to_pylist()] == [1, 2]


def test_deleted_files(folder: Folder) -> None:
    for i in range(4):
        folder.write(f"{i}.csv", f"{i},x\n{i},y\n")
    source = folder.open()
    first = source.next_batch(1)
    assert first is not None
    os.unlink(folder.path / "0.csv")  # open, so it can still be read
    os.unlink(folder.path / "2.csv")
    found = batches(source)
    assert [r["i"] for b in found for r in b.rows.to_pylist()] == [0, 1, 1, 3, 3]
    missing = 'file "{}.csv" disappeared before it was read to its end'
    assert [row.reason for b in found for row in b.bad] == [missing.format(2)]
    source.close()
    # After a restart: what was read to its end is not missed, what was not is.
    assert [reason for _, reason in bad(folder.open(found[0].position))] == [missing.format(2)]
    folder.close()
    assert [reason for _, reason in bad(folder.open(first.position))] == [missing.format(0), missing.format(2)]
    folder.close()
    assert batches(folder.open(found[-1].position)) == []


def test_a_folder_that_is_gone_may_come_back(folder: Folder) -> None:
    source = folder.open()
    os.rename(folder.path, folder.path.with_name("away"))
    with pytest.raises(PondError, match=r'folder ".*in" of source "s" cannot be read'):
        source.next_batch(1)
    os.rename(folder.path.with_name("away"), folder.path)
    folder.write("a.csv", "1,a\n")
    assert numbers(source) == [1]


# -- the journal ------------------------------------------------------------------------------------------------------


def test_the_journal_comes_before_the_rows(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("a.csv", "1,a\n")
    source = folder.open()
    monkeypatch.setattr(journal.os, "fsync", _full)
    with pytest.raises(DiskFull):
        source.next_batch(1)
    assert (folder.journal / journal.FILE).read_bytes() == b""
    monkeypatch.undo()
    folder.write("0.csv", "0,a\n")
    assert numbers(source) == [0, 1]
    assert (folder.journal / journal.FILE).read_bytes() == line(1, "0.csv") + line(2, "a.csv")


def line(serial: int, name: str) -> bytes:
    """A line of a journal."""
    text = f'[{serial}, "{name}"'
    return f"{text}, {zlib.crc32(f'{text}]'.encode())}]\n".encode()


def _full(_: int) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "tail", [b'[2, "b.c', b'[2, "b.csv"]\n', b"\0\0\0\n", b'[7, "b.csv", 1]\n', b"{}\n", b"[2, 3, 4]\n"]
)
def test_what_a_crash_left_in_the_journal_is_overwritten(folder: Folder, tail: bytes) -> None:
    for name in "abc":
        folder.write(f"{name}.csv", f"1,{name}\n")
    folder.journal.mkdir()
    (folder.journal / journal.FILE).write_bytes(line(1, "c.csv") + tail)
    assert [r[1] for r in rows(folder.open())] == ["c", "a", "b"]
    folder.close()
    assert [r[1] for r in rows(folder.open())] == ["c", "a", "b"]


def test_a_flipped_bit_in_the_journal(folder: Folder) -> None:
    """A damaged name must not be taken for another file: the right one would be read again."""
    folder.write("a.csv", "1,a\n")
    source = folder.open()
    assert len(rows(source)) == 1
    position = {"serial": 1, "offset": 4, "line": 1, "end": True}
    folder.close()
    file = folder.journal / journal.FILE
    whole = file.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        file.write_bytes(changed)
        with pytest.raises(CorruptBlock, match="the journal of source"):
            folder.open(position)
        folder.close()


def test_a_folder_in_the_place_of_the_journal(folder: Folder) -> None:
    (folder.journal / journal.FILE).mkdir(parents=True)
    with pytest.raises(CorruptBlock) as caught:
        folder.open()
    assert str(caught.value) == (
        f'journal "{folder.journal / journal.FILE}" is a folder, not a file\nHint: Restore the journal from a copy.'
    )


def test_a_journal_that_lacks_what_was_read(folder: Folder) -> None:
    with pytest.raises(CorruptBlock, match='the journal of source "s" has no file 3'):
        folder.open({"serial": 3, "offset": 0, "line": 0, "end": False})


def test_two_readers_need_two_journals(folder: Folder) -> None:
    folder.open()
    with pytest.raises(SecondWriter, match="is in use"):
        folder.open()
