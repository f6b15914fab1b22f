"""The registry of standing queries: durable, told from damage, read by others."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from millpond.errors import CatalogError, CorruptBlock, DiskFull, UnknownName
from millpond.standing import registry as registry_module
from millpond.standing.registry import FILE, FOLDER, Registry

READS = (("quotes", "quotes-0"),)


def writer(pond: Path) -> Registry:
    registry = Registry(pond)
    registry.become_writer()
    return registry


def reader(pond: Path) -> Registry:
    registry = Registry(pond)
    registry.refresh()
    return registry


def test_what_was_registered_is_there_after_a_restart(tmp_path: Path) -> None:
    first = writer(tmp_path)
    cheap = first.register("Cheap", "SELECT 1", "auto", READS)
    many = first.register_each("SELECT ?", [[1], [2], [3]], "partial", READS)
    first.drop([many[1].number])
    for again in (writer(tmp_path), reader(tmp_path)):
        assert [q.number for q in again.all()] == [1, 2, 4]
        assert again.find("CHEAP") == cheap
        assert again.find(4).sql == "SELECT  3 "


def test_values_of_all_types_come_back_as_they_were(tmp_path: Path) -> None:
    values: list[Any] = [
        1,
        2.5,
        "it's",
        None,
        True,
        date(2026, 1, 2),
        datetime(2026, 1, 2, 3, tzinfo=UTC),
        Decimal("1.50"),
        b"\x00",
    ]
    writer(tmp_path).register_each("SELECT ?", [[value] for value in values], "auto", READS)
    assert [q.parameters for q in reader(tmp_path).all()] == [(value,) for value in values]


def test_numbers_are_never_given_twice(tmp_path: Path) -> None:
    first = writer(tmp_path)
    for _ in range(3):
        first.drop([first.register(None, "SELECT 1", "auto", READS).number])
    assert writer(tmp_path).register(None, "SELECT 1", "auto", READS).number == 4


def test_numbers_of_dropped_queries_are_not_given_again_after_the_journal_was_rewritten(tmp_path: Path) -> None:
    """A client that remembers one would be given the query of another."""
    first = writer(tmp_path)
    first.register("kept", "SELECT 1", "auto", READS)
    first.drop(q.number for q in first.register_each("SELECT ?", [[n] for n in range(50)], "auto", READS))
    for _ in range(600):
        first.drop([first.register(None, "SELECT 1", "auto", READS).number])
    assert (tmp_path / FOLDER / FILE).read_bytes().count(b"\n") < 300
    assert writer(tmp_path).register(None, "SELECT 1", "auto", READS).number == 652


@pytest.mark.parametrize("rounds", [600, 1100])
def test_a_journal_of_dropped_queries_is_rewritten_and_readers_notice(tmp_path: Path, rounds: int) -> None:
    """However often it was rewritten since they looked: the file may be the same one again to the system."""
    first = writer(tmp_path)
    kept = first.register("kept", "SELECT 1", "auto", READS)
    beside = reader(tmp_path)
    for _ in range(rounds):
        first.drop([first.register(None, "SELECT 1", "auto", READS).number])
        assert (tmp_path / FOLDER / FILE).stat().st_size < 200_000
    assert (tmp_path / FOLDER / FILE).read_bytes().count(b"\n") < 300
    beside.refresh()
    assert [q.name for q in beside.all()] == ["kept"]
    assert first.register("new", "SELECT 2", "auto", READS).number == rounds + 2
    for registry in (beside, writer(tmp_path)):
        registry.refresh()
        assert [q.name for q in registry.all()] == ["kept", "new"]
        assert registry.find("kept") == kept


def test_a_journal_that_cannot_be_rewritten_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = writer(tmp_path)
    first.register("kept", "SELECT 1", "auto", READS)

    def full(*_: object) -> None:
        raise DiskFull("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(registry_module, "write_file", full)
        for _ in range(600):
            first.drop([first.register(None, "SELECT 1", "auto", READS).number])
    assert (tmp_path / FOLDER / FILE).read_bytes().count(b"\n") > 1000
    assert [q.name for q in reader(tmp_path).all()] == ["kept"]
    assert writer(tmp_path).register("new", "SELECT 2", "auto", READS).number == 602
    assert (tmp_path / FOLDER / FILE).read_bytes().count(b"\n") < 10


def test_an_unfinished_line_is_what_a_crash_left(tmp_path: Path) -> None:
    writer(tmp_path).register("kept", "SELECT 1", "auto", READS)
    with (tmp_path / FOLDER / FILE).open("ab") as file:
        file.write(b'00000000 {"register": 2, "te')
    assert [q.name for q in reader(tmp_path).all()] == ["kept"]
    assert writer(tmp_path).register("next", "SELECT 1", "auto", READS).number == 2
    assert [q.name for q in reader(tmp_path).all()] == ["kept", "next"]


def test_every_flipped_bit_is_told(tmp_path: Path) -> None:
    """Some make a character at which texts end a line: a flipped "-" hid all queries behind it."""
    first = writer(tmp_path)
    first.register("kept-1", "SELECT 1 -- J*M", "auto", READS)
    first.drop([first.register("gone", "SELECT 1", "auto", READS).number])
    path = tmp_path / FOLDER / FILE
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
            damaged = reader(tmp_path)
            with pytest.raises(CorruptBlock):
                damaged.find("kept-1")
            with pytest.raises(CorruptBlock):
                damaged.all()


REGISTERED = {"register": 9, "text": "SELECT 1", "keep": "auto", "reads": [["quotes", "quotes-0"]]}


@pytest.mark.parametrize(
    "line",
    [
        {},
        [],
        7,
        None,
        {"drop": [99]},
        {"drop": 7},
        {"register": 9},
        {**REGISTERED, "register": "9"},
        {**REGISTERED, "register": 1},
        {**REGISTERED, "text": None},
        {**REGISTERED, "keep": "all"},
        {**REGISTERED, "name": "kept"},
        {**REGISTERED, "name": 5},
        {**REGISTERED, "reads": [["quotes"]]},
        {**REGISTERED, "each": 7},
        {**REGISTERED, "each": [[{"date": "never"}]]},
        {**REGISTERED, "each": [[{"pickle": "x"}]]},
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_a_line_that_makes_no_sense_is_damage(tmp_path: Path, line: Any, first: bool) -> None:
    """Whoever wrote it: it is not read as anything, and raises nothing else."""
    registry = writer(tmp_path)
    registry.register("kept", "SELECT 1", "auto", READS)
    path = tmp_path / FOLDER / FILE
    text = json.dumps(line).encode()
    foreign = b"%08x %s\n" % (zlib.crc32(text), text)
    path.write_bytes(foreign + path.read_bytes() if first else path.read_bytes() + foreign)
    for damaged in (reader(tmp_path), writer(tmp_path)):
        with pytest.raises(CorruptBlock, match="the journal of standing queries is damaged"):
            damaged.find("kept")
    with pytest.raises(CorruptBlock):
        writer(tmp_path).register("new", "SELECT 1", "auto", READS)


def test_a_journal_that_is_deleted_under_its_writer_is_told(tmp_path: Path) -> None:
    registry = writer(tmp_path)
    registry.register("kept", "SELECT 1", "auto", READS)
    (tmp_path / FOLDER / FILE).unlink()
    with pytest.raises(CorruptBlock, match="the journal of standing queries is damaged"):
        registry.register("new", "SELECT 1", "auto", READS)


def test_killed_at_any_byte_of_a_line(tmp_path: Path) -> None:
    """The line is there or not; the next one is whole either way."""
    first = writer(tmp_path)
    first.register("kept", "SELECT 1", "auto", READS)
    folder = tmp_path / FOLDER
    journal, anchor = (folder / FILE).read_bytes(), (folder / "queries.anchor").read_bytes()
    first.register_each("SELECT ?", [["a\r\n\u2028"], [2]], "auto", READS)
    after = (folder / FILE).read_bytes()
    for size in range(len(journal), len(after) + 1):
        (folder / FILE).write_bytes(after[:size])
        (folder / "queries.anchor").write_bytes(anchor)
        there = [1, 2, 3] if size == len(after) else [1]
        assert [q.number for q in reader(tmp_path).all()] == there
        number = writer(tmp_path).register("next", "SELECT 2", "auto", READS).number
        assert [q.number for q in reader(tmp_path).all()] == [*there, number]


@pytest.mark.parametrize("left", [0, 10, 60])
def test_a_missing_end_is_told(tmp_path: Path, left: int) -> None:
    writer(tmp_path).register("kept", "SELECT 1", "auto", READS)
    path = tmp_path / FOLDER / FILE
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(CorruptBlock, match="the end of the journal of standing queries is missing"):
        reader(tmp_path).find("kept")


def test_a_name_is_registered_once(tmp_path: Path) -> None:
    registry = writer(tmp_path)
    registry.register("cheap", "SELECT 1", "auto", READS)
    with pytest.raises(CatalogError, match='standing query "CHEAP" exists already'):
        registry.register("CHEAP", "SELECT 1", "auto", READS)


def test_an_unknown_name_offers_the_nearest(tmp_path: Path) -> None:
    registry = writer(tmp_path)
    registry.register("cheap", "SELECT 1", "auto", READS)
    with pytest.raises(UnknownName, match=r'standing query "chaep" does not exist\n.*Did you mean "cheap"'):
        registry.find("chaep")
    registry.drop([1])
    with pytest.raises(UnknownName, match=r'standing query "1" does not exist\n.*It was dropped'):
        registry.find(1)
