"""Damage is told, with the file and the place, and costs no more than it must.

The messages are compared word for word: they are what someone reads on the worst day.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

import millpond
from millpond import Pond
from millpond.errors import CorruptBlock, NotAPond, PondError, ResultsGone, SecondWriter
from millpond.sealed import seal
from millpond.table.log import Frame, LogReader, list_segments
from tests.faults.ledger import open_pond, wait_until
from tests.faults.test_crash import SOURCE

RESTORE = "Hint: Restore the file from a copy."


def flip(path: Path, offset: int) -> None:
    """Change one bit."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 16
    path.unlink()  # a new file: readers may have mapped the old one
    path.write_bytes(data)


def rows(first: int, count: int, at: int = 0) -> list[dict[str, Any]]:
    return [{"at": at or i, "id": i, "name": f"name {i % 5}"} for i in range(first, first + count)]


def ids(db: Pond, table: str = "t", where: str = "") -> list[int]:
    return [i for (i,) in db.sql(f"SELECT id FROM {table} {where} ORDER BY id")]


@pytest.fixture
def pond(tmp_path: Path) -> Path:
    """Two tables, t and u, with 30 rows each in three frames of the log; nothing is archived."""
    folder = tmp_path / "pond"
    with open_pond(folder) as db:
        for table in ("t", "u"):
            db.sql(
                f"CREATE STREAMING TABLE {table} (at BIGINT, id BIGINT, name STRING) TIMESTAMP BY at WITH (shards = 1)"
            )
            for first in (0, 10, 20):
                db.append(table, rows(first, 10))
    return folder


def log_of(pond: Path, table: str = "t") -> Path:
    return next(pond.glob(f"tables/{table}-*")) / "log"


def frames_of(pond: Path, table: str = "t") -> list[Frame]:
    return list(LogReader(log_of(pond, table)).poll())


def archived(pond: Path) -> list[Path]:
    """Archive the three frames of t as three files of three compartments, the first first."""
    with open_pond(pond) as db:
        db.sql("CREATE STREAMING TABLE days (at BIGINT, id BIGINT, name STRING) TIMESTAMP BY at WITH (shards = 1)")
        for day in range(3):
            db.append("days", rows(10 * day, 10, at=86_400 * day + 1))
        db._workspace.rounds.archive()
    return sorted(pond.glob("tables/days-*/archive/c*/*.parquet"))


# -- the log --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["head", "rows"])
def test_a_flipped_bit_in_the_log(pond: Path, where: str) -> None:
    frame = frames_of(pond)[1]
    flip(frame.path, frame.offset + 20 if where == "head" else frame.sections[0].offset + 100)
    message = (
        f'block at byte {frame.offset} of "t-0/log/{frame.path.name}" is damaged\n'
        "Detail: Its checksum does not match its contents; the rows before it are intact.\n"
        'Hint: Restore the file from a copy, or move it and "log.anchor" away to go on without its rows.'
    )
    with open_pond(pond) as db:
        for ask in (lambda: ids(db), lambda: db.append("t", rows(30, 1)), lambda: db.sql("DELETE FROM t")):
            with pytest.raises(CorruptBlock) as damaged:
                ask()
            assert str(damaged.value) == message
        # The other table is as useful as ever.
        assert ids(db, "u") == list(range(30))
        db.append("u", rows(30, 5))
        db._workspace.rounds.archive()
        assert ids(db, "u") == list(range(35))
        db.sql("ALTER TABLE u ADD COLUMN more INT")
    with open_pond(pond) as db:
        assert ids(db, "u") == list(range(35))
    frame.path.rename(frame.path.with_suffix(".away"))  # as the hint says
    (log_of(pond).parent / "log.anchor").unlink()
    with open_pond(pond) as db:
        assert ids(db) == []
        db.append("t", rows(50, 2))
        assert ids(db) == [50, 51]


def test_a_flipped_bit_in_a_log_file_that_is_not_the_last(pond: Path) -> None:
    with open_pond(pond, segment_bytes=1000) as db:
        db.append("t", rows(30, 10))
        db.append("t", rows(40, 10))
    assert len(list_segments(log_of(pond))) > 2
    section = frames_of(pond)[2].sections[0]
    path = frames_of(pond)[2].path
    flip(path, section.offset + section.length - 1)
    with open_pond(pond) as db, pytest.raises(CorruptBlock) as damaged:
        ids(db)
    assert damaged.value.primary == f'block at byte {section.offset} of "t-0/log/{path.name}" is damaged'


def test_damage_that_is_repaired(pond: Path) -> None:
    """A reader that found damage finds the rows again once the file is restored."""
    frame = frames_of(pond)[0]
    copy = frame.path.read_bytes()
    with open_pond(pond) as db:
        flip(frame.path, frame.sections[0].offset + 8)
        with pytest.raises(CorruptBlock):
            ids(db)
        frame.path.write_bytes(copy)
        assert ids(db) == list(range(30))


@pytest.mark.parametrize("left", [1, 63, 64, 65, 200, -1])
def test_a_torn_end_of_the_log(pond: Path, left: int) -> None:
    """The last frame was not written to its end: it was never acknowledged. Its bytes are kept aside."""
    frame = frames_of(pond)[2]
    whole = frame.path.read_bytes()
    assert len(whole) == frame.offset + frame.length
    partial = whole[frame.offset : frame.offset + left % frame.length]
    frame.path.write_bytes(whole + partial)
    with open_pond(pond) as db:
        assert ids(db) == list(range(30))  # reading changes nothing
        assert not list(log_of(pond).glob("*torn*"))
        db.append("t", rows(100, 1))
        assert ids(db) == [*range(30), 100]
    (torn,) = log_of(pond).glob("*.torn-*")
    assert torn.name == f"{frame.path.stem}.torn-{len(whole)}"
    assert torn.read_bytes() == partial
    with open_pond(pond) as db:
        assert ids(db) == [*range(30), 100]


def damaged_table(pond: Path) -> str:
    """What is said of t, by whatever one does with it; u is as useful as ever."""
    said = set()
    with open_pond(pond) as db:
        for ask in (lambda: ids(db), lambda: db.append("t", rows(30, 1)), lambda: db.sql("DELETE FROM t")):
            with pytest.raises(CorruptBlock) as damaged:
                ask()
            said.add(str(damaged.value))
        assert ids(db, "u") == list(range(30))
        assert db.append("u", rows(30, 1)).accepted == 1
        db.sql("DELETE FROM u WHERE id = 30")
        problems = dict(db.sql("SELECT name, problem FROM millpond.tables").rows())
        assert problems == {"t": str(damaged.value), "u": None}
        db.sql("SHOW TABLES")
        db.status()
    (message,) = said
    return message


def hint(pond: Path) -> str:
    return f'Hint: Restore the files in "{log_of(pond)}" from a copy, or delete "log.anchor" to go on without what is missing.'


@pytest.mark.parametrize("how", ["one byte", "one frame", "a flipped bit", "the file", "the folder"])
def test_an_end_of_the_log_that_was_acknowledged(pond: Path, how: str) -> None:
    """It looks like an end that was never written; the anchor knows better."""
    frames = frames_of(pond)
    path, whole = frames[2].path, frames[2].path.read_bytes()
    lost = 10 if how in ("one byte", "one frame", "a flipped bit") else 30
    if how == "the folder":
        shutil.rmtree(log_of(pond))
    elif how == "the file":
        path.unlink()
    elif how == "a flipped bit":
        flip(path, frames[2].sections[0].offset + 100)
    else:
        path.write_bytes(whole[: -1 if how == "one byte" else frames[2].offset])
    assert damaged_table(pond) == (
        'the end of the log of "t-0" is missing\n'
        f"Detail: It had 3 frames and has {3 - lost // 10}. Rows {30 - lost} to 29 are among what is missing.\n"
        f"{hint(pond)}"
    )
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(whole)
    with open_pond(pond) as db:
        assert ids(db) == list(range(30))
        db.append("t", rows(30, 1))


def test_going_on_without_the_end_of_the_log(pond: Path) -> None:
    with open_pond(pond) as db:
        db.sql("CREATE CONTINUOUS QUERY q AS SELECT id FROM t [NOW] SAMPLE REALTIME")
        db.tick()
    frame = frames_of(pond)[2]
    frame.path.write_bytes(frame.path.read_bytes()[: frame.offset])
    (log_of(pond).parent / "log.anchor").unlink()
    with open_pond(pond) as db:
        assert ids(db) == list(range(20))
        db.append("t", rows(100, 2))
        assert ids(db) == [*range(20), 100, 101]
        assert db.sql("SELECT max(_seq) FROM t").rows() == [(31,)]  # numbers that q has seen are not given again
    for _ in range(2):
        with open_pond(pond) as db:
            assert ids(db) == [*range(20), 100, 101]
            db.archive()


def test_a_log_file_missing_in_the_middle(pond: Path) -> None:
    with open_pond(pond, segment_bytes=1000) as db:
        for first in (30, 40, 50):
            db.append("t", rows(first, 10))
    path = list_segments(log_of(pond))[1]
    first = frames_of(pond)[3].first
    assert path == frames_of(pond)[3].path
    whole = path.read_bytes()
    path.unlink()
    assert damaged_table(pond) == (
        f'rows {first} to {first + 9} are missing from the log of "t-0"\n'
        f"Detail: They were accepted, and no file holds them.\n{hint(pond)}"
    )
    path.write_bytes(whole)
    with open_pond(pond) as db:
        assert ids(db) == list(range(60))
    path.unlink()
    (log_of(pond).parent / "log.anchor").unlink()  # as the hint says
    for _ in range(2):
        with open_pond(pond) as db:
            assert ids(db) == [i for i in range(60) if not first <= i < first + 10]
            db.append("u", rows(30, 1))


def test_a_damaged_anchor(pond: Path) -> None:
    anchor = log_of(pond).parent / "log.anchor"
    anchor.write_bytes(bytes(512))
    assert damaged_table(pond) == (
        '"t-0/log.anchor" is damaged\nDetail: It tells how far the files beside it go. They may be whole.\n'
        "Hint: Restore it from a copy, or delete it to go on with the files as they are."
    )
    anchor.unlink()
    with open_pond(pond) as db:
        assert ids(db) == list(range(30))


def test_a_torn_head_of_a_log_file(pond: Path) -> None:
    (log_of(pond) / f"{30:020d}-{0:012d}-{0:06d}.log").write_bytes(b"MPLOG0")
    for _ in range(3):  # it stays readable, also when more was written after it
        with open_pond(pond) as db:
            before = ids(db)
            assert before[:30] == list(range(30))
            db.append("t", rows(100 + len(before), 1))
            assert len(ids(db)) == len(before) + 1
    assert [p.name for p in log_of(pond).glob("*torn*")] == [f"{30:020d}-{0:012d}-{0:06d}.torn-0"]


def test_a_torn_end_before_a_new_column(pond: Path) -> None:
    """The catalog has a column that the torn log file has not: the torn bytes must not end up in the middle."""
    with open_pond(pond) as db:
        db.sql("ALTER TABLE t ADD COLUMN more INT")
    with frames_of(pond)[2].path.open("ab") as file:
        file.write(b"MPFR" + bytes(100))
    for count in range(3):
        with open_pond(pond) as db:
            assert len(ids(db)) == 30 + count
            db.append("t", rows(100 + count, 1))


# -- the archive ----------------------------------------------------------------------------------------------------


def others_work(pond: Path) -> None:
    """Queries that need not read the first file answer, and so does archiving."""
    with open_pond(pond) as db:
        assert ids(db, "days", "WHERE at > 80000") == list(range(10, 30))
        assert ids(db, "days", "WHERE id >= 20") == list(range(20, 30))
        assert ids(db) == list(range(30))
        assert len(db.append("days", rows(30, 10, at=4 * 86_400)).table) == 4
        db._workspace.rounds.archive()
        assert ids(db, "days", "WHERE at > 80000") == list(range(10, 40))


def refused(pond: Path) -> str:
    with open_pond(pond) as db, pytest.raises(CorruptBlock) as damaged:
        ids(db, "days")
    return str(damaged.value)


def test_a_truncated_archive_file(pond: Path) -> None:
    first = archived(pond)[0]
    first.write_bytes(first.read_bytes()[:-100])
    name = f"{first.parent.name}/{first.name}"
    assert refused(pond) == (
        f'archive file "{name}" cannot be read\nDetail: Its checksum does not match its contents.\n{RESTORE}'
    )
    others_work(pond)


def test_queries_that_do_not_need_a_missing_archive_file(pond: Path) -> None:
    archived(pond)[0].unlink()
    others_work(pond)


def test_a_missing_archive_file(pond: Path) -> None:
    first = archived(pond)[0]
    first.unlink()
    message = refused(pond)
    name = f"{first.parent.name}/{first.name}"
    assert message.startswith(f'archive file "{name}" cannot be read\nDetail: [Errno 2] No such file or directory: ')
    assert message.endswith(RESTORE)


def test_an_update_tells_a_flipped_bit_in_a_page(pond: Path) -> None:
    """What writes files anew checks the pages' checksums: damage is not made into data."""
    first = archived(pond)[0]
    flip(first, 60)
    with open_pond(pond) as db, pytest.raises(CorruptBlock) as damaged:
        db.sql("UPDATE days SET name = 'new' WHERE at < 100")
    assert damaged.value.primary == f'archive file "{first.parent.name}/{first.name}" cannot be read'
    assert damaged.value.hint == "Restore the file from a copy."
    others_work(pond)


def test_merging_leaves_damaged_files_alone(pond: Path) -> None:
    """Small files are merged with one of them damaged: archiving goes on, no row is given up, and the file is told."""
    with open_pond(pond) as db:
        for number in range(9):
            db.append("t", rows(100 + number, 1))
            if number == 8:
                victim = max(pond.glob("tables/t-*/archive/c*/*.parquet"), key=lambda p: p.stat().st_mtime)
                victim.write_bytes(victim.read_bytes()[:-20])
            db._workspace.rounds.archive()
        table = db.status()["tables"]["t"]
        assert (table["archived_rows"], table["tail_rows"]) == (39, 0)
        with pytest.raises(CorruptBlock):
            ids(db)


def test_a_query_tells_a_flipped_bit_in_a_page(pond: Path) -> None:
    first = archived(pond)[0]
    copy = first.read_bytes()
    random = Random(1)
    for _ in range(40):
        flip(first, random.randrange(4, len(copy) // 2))
        with open_pond(pond) as db:
            try:
                found = db.sql("SELECT * FROM days WHERE at < 100 ORDER BY id").rows()
            except CorruptBlock:
                continue
            finally:
                first.write_bytes(copy)
        assert found == [(1, i, f"name {i % 5}") for i in range(10)]


def test_a_flipped_bit_never_brings_down_the_process(pond: Path) -> None:
    """Wherever it is, the file's checksum tells."""
    first = archived(pond)[0]
    copy = first.read_bytes()
    random = Random(2)
    for _ in range(40):
        flip(first, random.randrange(len(copy)))
        with open_pond(pond) as db, pytest.raises(CorruptBlock):
            ids(db, "days")
        first.write_bytes(copy)


def test_a_damaged_or_missing_index(pond: Path) -> None:
    """An index only helps to skip; without it the answer is the same."""
    archived(pond)
    with open_pond(pond) as db:
        db.sql("CREATE INDEX ON days (id)")
    for number, index in enumerate(sorted(pond.glob("tables/days-*/archive/c*/*.idx"))):
        if number:
            index.unlink()
        else:
            index.write_bytes(b"not Arrow")
    with open_pond(pond) as db:
        assert ids(db, "days", "WHERE id = 5 OR id = 15") == [5, 15]


def test_a_damaged_commit(pond: Path) -> None:
    archived(pond)
    commit = max(pond.glob("tables/days-*/archive/_delta_log/*.json"))
    copy = commit.read_text()
    commit.write_text(copy.replace('"add"', '"add', 1))
    with pytest.raises(CorruptBlock) as damaged, open_pond(pond) as db:
        ids(db, "days")
    assert str(damaged.value) == (
        f'archive commit "{commit.name}" of "days-2/archive" cannot be read\n'
        "Detail: Its checksum does not match its contents.\nHint: Restore the file from a copy."
    )
    commit.write_text(copy)
    with open_pond(pond) as db:
        assert ids(db, "days") == list(range(30))


def with_checkpoint(pond: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("millpond.table.manifest.CHECKPOINT_EVERY", 4)
    monkeypatch.setattr("millpond.table.manifest._KEPT_COMMITS", 1)
    with open_pond(pond) as db:
        for number in range(6):
            db.append("t", rows(100 + number, 1))
            db._workspace.rounds.archive()
    return next(pond.glob("tables/t-*/archive/_delta_log"))


def test_a_damaged_pointer_to_the_checkpoint(pond: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It saves looking, no more."""
    log = with_checkpoint(pond, monkeypatch)
    (log / "_last_checkpoint").write_text('{"versi')
    with open_pond(pond) as db:
        assert ids(db) == [*range(30), *range(100, 106)]


def test_a_damaged_or_missing_checkpoint(pond: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = with_checkpoint(pond, monkeypatch)
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    checkpoint.write_bytes(checkpoint.read_bytes()[:-30])
    with pytest.raises(CorruptBlock) as damaged, open_pond(pond) as db:
        ids(db)
    assert damaged.value.primary == 'checkpoint 4 of "t-0/archive" cannot be read'
    checkpoint.unlink()
    with pytest.raises(CorruptBlock) as damaged, open_pond(pond) as db:
        ids(db)
    assert damaged.value.primary == 'the archive log of "t-0/archive" has no version 4'


def standard(pond: Path) -> Path:
    """A standard table made by four statements; returns the folder of its log."""
    with open_pond(pond) as db:
        db.sql("CREATE STANDARD TABLE names (id BIGINT, name STRING)")
        for number in range(3):
            db.sql(f"INSERT INTO names VALUES ({number}, 'n')")
    return next(pond.glob("standard/names-*/_delta_log"))


def test_a_missing_newest_commit_of_a_standard_table(pond: Path) -> None:
    log = standard(pond)
    newest = max(log.glob("*.json"))
    copy = newest.read_bytes()
    newest.unlink()
    with open_pond(pond) as db:
        for statement in ("SELECT * FROM names", "INSERT INTO names VALUES (9, 'n')", "DELETE FROM names"):
            with pytest.raises(CorruptBlock) as damaged:
                db.sql(statement)
            assert str(damaged.value) == (
                'version 3 of the archive log of "standard/names-2" is missing\n'
                "Detail: It goes up to version 3. Changes of the table from version 3 on cannot be read.\n"
                f'Hint: Restore "{newest}" from a copy, or go on without these changes: delete "_anchor" and any later '
                "commit."
            )
        assert ids(db) == list(range(30))
        db.append("t", rows(30, 1))
    newest.write_bytes(copy)
    with open_pond(pond) as db:
        assert ids(db, "names") == [0, 1, 2]
    newest.unlink()
    (log.parent / "_anchor").unlink()  # as the hint says
    with open_pond(pond) as db:
        assert ids(db, "names") == [0, 1]
        db.sql("INSERT INTO names VALUES (5, 'n')")
        assert ids(db, "names") == [0, 1, 5]


def test_a_missing_commit_in_the_middle(pond: Path) -> None:
    log = standard(pond)
    (log / f"{1:020d}.json").unlink()
    with open_pond(pond) as db, pytest.raises(CorruptBlock) as damaged:
        ids(db, "names")
    assert damaged.value.primary == 'version 1 of the archive log of "standard/names-2" is missing'


def test_a_newest_commit_that_was_changed_whole(pond: Path) -> None:
    """Somebody put another valid commit in the place of the newest one."""
    log = standard(pond)
    (log / f"{3:020d}.json").write_bytes((log / f"{2:020d}.json").read_bytes())
    with open_pond(pond) as db, pytest.raises(CorruptBlock) as damaged:
        ids(db, "names")
    assert str(damaged.value) == (
        'version 3 of the archive log of "standard/names-2" is not the one that was committed\n'
        'Hint: Restore the folder from a copy, or delete "_anchor" to go on with it as it is.'
    )


def test_every_flipped_bit_of_a_commit_is_told(pond: Path) -> None:
    """A changed bound would hide rows, a changed position would lose them."""
    commit = max(standard(pond).glob("*.json"))
    whole = commit.read_bytes()
    for place in range(0, len(whole), 7):
        flip(commit, place)
        with (
            open_pond(pond) as db,
            pytest.raises(CorruptBlock, match=r'^archive commit "0+3.json" of "standard/names-2"'),
        ):
            ids(db, "names")
        commit.write_bytes(whole)


FOREIGN = """
{"commitInfo":{"timestamp":1,"operation":"WRITE"}}
{"add":{"path":"x.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}
"""


@pytest.mark.parametrize("which", ["archive", "rejected"])
def test_a_foreign_commit_stays_within_its_table(pond: Path, which: str) -> None:
    with open_pond(pond) as db:
        db.sql("CREATE CONTINUOUS QUERY of_t AS SELECT id FROM t [NOW] SAMPLE REALTIME")
        db.sql("CREATE CONTINUOUS QUERY of_u AS SELECT id FROM u [NOW] SAMPLE REALTIME")
        db.tick()
    log = next(pond.glob(f"tables/t-*/{which}/_delta_log"))
    number = len(list(log.glob("*.json")))
    foreign = log / f"{number:020d}.json"
    foreign.write_text(FOREIGN.lstrip())
    primary = f'archive commit "{foreign.name}" of "t-0/{which}" was not written by millpond'
    with open_pond(pond) as db:
        with pytest.raises(CorruptBlock) as damaged:
            db.sql(f"SELECT * FROM {'t' if which == 'archive' else 't_rejected'}")
        assert str(damaged.value) == (
            f"{primary}\n"
            "Detail: Another program wrote into the archive, or the file is damaged. The rows from before it are intact.\n"
            f'Hint: Move "{foreign}" and the later commits away to go on without it, or restore the file from a copy.'
        )
        with pytest.raises(CorruptBlock):
            db.append("t", rows(30, 1))
        db.append("u", rows(30, 2))
        db.tick()
        db._workspace.rounds.archive()
        assert ids(db, "u") == list(range(32))
        assert db.resume("of_u").fetch().arrow().num_rows == 2
        queries = db.status()["queries"]
        assert queries["of_t"]["problem"] == f'it waits for table "t", which is damaged: {primary}'
        assert queries["of_u"]["problem"] is None
        db.sql("CREATE STREAMING TABLE v (at BIGINT) TIMESTAMP BY at; SHOW CONTINUOUS QUERIES; SHOW STATE")
    foreign.unlink()
    with open_pond(pond) as db:  # the query goes on where it was
        assert ids(db) == list(range(30))
        db.append("t", rows(30, 3))
        db.tick()
        assert db.status()["queries"]["of_t"]["problem"] is None
        assert db.resume("of_t").fetch().arrow().column("id").to_pylist() == [29, 30, 31]
        db.sql("DROP CONTINUOUS QUERY of_t; DROP TABLE t")


def test_a_foreign_writer_is_refused(pond: Path) -> None:
    archived(pond)
    folder = next(pond.glob("tables/days-*/archive"))
    assert DeltaTable(folder).to_pyarrow_table().num_rows == 30
    for write in (
        lambda: write_deltalake(folder, DeltaTable(folder).to_pyarrow_table(), mode="append"),
        lambda: DeltaTable(folder).delete("id = 1"),
    ):
        with pytest.raises(DeltaError, match='Unknown\\("millpond"\\)'):
            write()
    with open_pond(pond) as db:
        assert ids(db, "days") == list(range(30))


def test_a_foreign_commit_while_the_pond_is_open(pond: Path) -> None:
    with open_pond(pond) as db:
        db.append("t", rows(30, 1))
        log = next(pond.glob("tables/t-*/archive/_delta_log"))
        (log / f"{1:020d}.json").write_text(FOREIGN.lstrip())
        with pytest.raises(PondError) as refused:
            db._workspace.rounds.archive()
        assert str(refused.value) == (
            'version 1 of "t-0/archive" was written by another program\nDetail: Nothing of this change was made.\n'
            f'Hint: Move "{log / f"{1:020d}.json"}" away, and reopen the pond.'
        )
        assert ids(db, "u") == list(range(30))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda log: shutil.rmtree(log), 'archive folder "standard/names-2" has no log'),
        (lambda log: [p.unlink() for p in log.iterdir()], 'archive folder "standard/names-2" has no first commit'),
    ],
)
def test_an_archive_without_its_log(pond: Path, damage: Callable[[Path], object], message: str) -> None:
    damage(standard(pond))
    with open_pond(pond) as db:
        with pytest.raises(CorruptBlock) as damaged:
            ids(db, "names")
        assert str(damaged.value) == f"{message}\nHint: Restore it from a copy."
        assert ids(db) == list(range(30))


def test_rejected_rows_that_cannot_be_read_concern_the_whole_table(pond: Path) -> None:
    """The log holds rows of both: without one of the archives nobody knows which of them are still to be shown."""
    commit = next(pond.glob("tables/t-*/rejected/_delta_log/*.json"))
    flip(commit, 40)
    with open_pond(pond) as db:
        for table in ("t", "t_rejected"):
            with pytest.raises(CorruptBlock, match=r'^archive commit "0+.json" of "t-0/rejected"'):
                db.sql(f"SELECT * FROM {table}")


# -- results --------------------------------------------------------------------------------------------------------


@pytest.fixture
def results(pond: Path) -> Path:
    """A query that sent 30 results in three ticks; a second query that sent none. Returns the folder of the log."""
    with open_pond(pond) as db:
        db.sql("CREATE STREAMING TABLE r (at BIGINT, id BIGINT) TIMESTAMP BY at WITH (shards = 1)")
        db.sql("CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT id FROM r [NOW] SAMPLE REALTIME")
        db.sql("CREATE CONTINUOUS QUERY none RANGE UNBOUNDED AS SELECT id FROM u [NOW] SAMPLE REALTIME")
        for first in (0, 10, 20):
            db.append("r", [{"at": i, "id": i} for i in range(first, first + 10)])
            db.advance("r", first + 10)
            db.tick()
        assert numbers(db) == list(range(30))
    return pond / "results"


def numbers(db: Pond, after: int | None = None) -> list[int]:
    return db.resume("q", after=after).fetch().arrow().column("_seq").to_pylist()  # type: ignore[no-any-return]


def damage(folder: Path, *frames: int) -> None:
    """Change a bit in frames of the last file of the result log."""
    path = max(folder.glob("*.results"))
    whole = path.read_bytes()
    places = [at for at in range(len(whole)) if whole[at : at + 4] == b"MPRF"]
    for frame in frames:
        flip(path, places[frame] + 40)


def cut_last(folder: Path, count: int = 1) -> None:
    """Cut the last frames off the result log, at the boundary of frames."""
    path = max(folder.glob("*.results"))
    whole = path.read_bytes()
    ends = [end for end in range(1, len(whole) + 1) if whole[end : end + 4] in (b"MPRF", b"")]
    path.write_bytes(whole[: ends[-1 - count]])


@pytest.mark.parametrize("how", ["the last frame", "a flipped bit", "the file", "the folder"])
def test_a_missing_end_of_the_result_log(pond: Path, results: Path, how: str) -> None:
    """It looks like a log that was never longer. Results are not numbered again as lost ones were."""
    path = max(results.glob("*.results"))
    known = 20
    if how == "the last frame":
        cut_last(results)
    elif how == "a flipped bit":
        flip(path, path.stat().st_size - 50)
    else:
        known = 0
        if how == "the file":
            path.unlink()
        else:
            shutil.rmtree(results)
    primary = f"results from number {known} on are missing from the result log"
    for number in range(2):  # told until it is acknowledged
        with open_pond(pond) as db:
            if number == 0:
                db.append("r", [{"at": 40, "id": 40}])
                db.advance("r", 50)
            db._workspace.own()
            db.tick()
            shown = db.sql("SHOW CONTINUOUS QUERIES").arrow()
            problems = dict(zip(shown["name"].to_pylist(), shown["problem"].to_pylist(), strict=True))
            assert problems["q"] == primary
            cursor = db.resume("q")
            if known:  # what was before it can be read
                assert cursor.fetch().arrow().column("_seq").to_pylist() == list(range(known))
            with pytest.raises(ResultsGone) as told:
                cursor.fetch()
            assert str(told.value) == (
                f'results of "q" after position {known - 1} are lost\n'
                "Detail: Files of the pond were deleted or damaged. The next one that is there is number 30.\n"
                "Hint: Go on with after=29, or restore the files from a copy."
            )
            came = db.resume("q", after=29).fetch().arrow()
            assert came.column("_seq").to_pylist()[0] == 30
            # Rows that are still in memory are evaluated again; else the query goes on with the present.
            assert came.column("id").to_pylist()[-1] == 40
            assert ids(db, "u") == list(range(30))
    with open_pond(pond) as db:
        db.sql("RESUME CONTINUOUS QUERY q")
        assert db.status()["queries"]["q"]["problem"] is None
    with open_pond(pond) as db:
        assert db.status()["queries"]["q"]["problem"] is None
        assert db.status()["queries"]["q"]["sent"] > 30


def test_a_torn_end_of_the_result_log_is_ordinary(pond: Path, results: Path) -> None:
    path = max(results.glob("*.results"))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:100])
    with open_pond(pond) as db:
        db.append("r", [{"at": 40, "id": 40}])
        db.advance("r", 50)
        db.tick()
        assert numbers(db) == list(range(31))
        assert db.status()["queries"]["q"]["problem"] is None


def test_a_damaged_frame_in_the_middle_of_the_result_log(pond: Path, results: Path) -> None:
    damage(results, -2)
    with open_pond(pond) as db:
        assert db.status()["queries"]["q"]["problem"].splitlines()[0] == (
            "results 10 to 19 are missing from the result log"
        )
        assert db.status()["queries"]["none"]["problem"] is None
        assert numbers(db, after=19) == list(range(20, 30))
        db.append("r", [{"at": 40, "id": 40}])
        db.advance("r", 50)
        db.tick()
        assert numbers(db, after=19) == list(range(20, 31))


def test_a_damaged_frame_hides_no_intact_frame_before_it(pond: Path, results: Path) -> None:
    """Results before it are read, as rows and by number; whoever comes to the lost ones is told, and can go on."""
    damage(results, -2)
    for _ in range(2):
        with open_pond(pond) as db:
            cursor = db.resume("q")
            assert cursor.fetch().arrow().column("_seq").to_pylist() == list(range(10))
            with pytest.raises(ResultsGone, match="after position 9 are lost"):
                cursor.fetch()
            with pytest.raises(ResultsGone, match="number 20"):
                db.resume("q", since=10).fetch()
            assert numbers(db, after=19) == list(range(20, 30))
            assert ids(db, "q") == [*range(10), *range(20, 30)]
            db.archive()


def test_every_gap_of_the_result_log_is_named(pond: Path, results: Path) -> None:
    """The message about a later gap does not take the place of that about an earlier one."""
    with open_pond(pond) as db:
        for at in (40, 50):
            db.append("r", [{"at": at, "id": at}])
            db.advance("r", at + 5)
            db.tick()
    damage(results, -4, -2)
    with open_pond(pond) as db:
        assert db.status()["queries"]["q"]["problem"].splitlines()[0] == (
            "results 10 to 19, 30 to 30 are missing from the result log"
        )
        assert numbers(db) == list(range(10))
        assert numbers(db, after=19) == list(range(20, 30))
        assert numbers(db, after=30) == [31]


def test_a_gap_of_the_result_log_is_acknowledged_for_good(pond: Path, results: Path) -> None:
    damage(results, -2)
    with open_pond(pond) as db:
        assert "acknowledged" in str(db.sql("RESUME CONTINUOUS QUERY q").message)
    for _ in range(2):
        with open_pond(pond) as db:
            db._workspace.own()
            assert db.status()["queries"]["q"]["problem"] is None


def test_lost_results_move_to_files_around_the_gap(pond: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damage(results, -2)
    monkeypatch.setattr("millpond.results.outlet.KEPT_BYTES", 100)
    with open_pond(pond) as db:
        for at in (40, 50):
            db.append("r", [{"at": at, "id": at}])
            db.advance("r", at + 5)
            db.tick()
            assert db._workspace.network.keeper.settle()
        assert db._workspace.network.outlet("q").archive.position > 20  # type: ignore[union-attr]
    with open_pond(pond) as db:
        assert numbers(db) == list(range(10))
        assert numbers(db, after=19) == list(range(20, 32))
        assert ids(db, "q") == [*range(10), *range(20, 30), 40, 50]


def test_a_subscriber_that_begins_at_the_start_is_told_of_lost_results(
    pond: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millpond.results.log.ResultLog.__init__.__kwdefaults__", {"segment_bytes": 1, "segments": 8})
    with open_pond(pond) as db:
        db.append("r", [{"at": 40, "id": 40}])
        db.advance("r", 45)
        db.tick()
    min(results.glob("*.results")).unlink()
    for _ in range(2):
        with open_pond(pond) as db:
            for how in ({}, {"after": -1}, {"since": 0}):
                with pytest.raises(ResultsGone, match="after position -1 are lost"):
                    db.resume("q", **how).fetch()  # type: ignore[arg-type]
            assert numbers(db, after=29) == [30]
            db._workspace.own()
    with open_pond(pond) as db:
        db.sql("RESUME CONTINUOUS QUERY q")
        assert numbers(db) == [30]
        with pytest.raises(ResultsGone):  # a position is a claim to have everything behind it
            db.resume("q", after=-1).fetch()
    with open_pond(pond) as db:
        assert numbers(db) == [30]


def test_a_damaged_first_frame_of_the_oldest_file_of_the_result_log(pond: Path, results: Path) -> None:
    """What comes after it does not look like the beginning of the log."""
    path = min(results.glob("*.results"))
    whole = path.read_bytes()
    frames = [at for at in range(len(whole)) if whole[at : at + 4] == b"MPRF"]
    path.write_bytes(whole[frames[3] :])  # as if older frames had been in files that are not needed any more
    flip(path, 40)
    with open_pond(pond) as db:
        assert "are missing from the result log" in db.status()["queries"]["q"]["problem"]


def test_a_missing_first_file_of_the_result_log(pond: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millpond.results.log.SEGMENT_BYTES", 1)
    monkeypatch.setattr("millpond.results.log.ResultLog.__init__.__kwdefaults__", {"segment_bytes": 1, "segments": 8})
    with open_pond(pond) as db:
        for at in (40, 50, 60):
            db.append("r", [{"at": at, "id": at}])
            db.advance("r", at + 5)
            db.tick()
    paths = sorted(results.glob("*.results"))
    assert len(paths) > 2
    paths[0].unlink()
    with open_pond(pond) as db:
        assert db.status()["queries"]["q"]["problem"].splitlines()[0] == (
            "results 0 to 29 are missing from the result log"
        )


def test_a_reader_is_told_of_a_missing_end_of_the_result_log(pond: Path, results: Path) -> None:
    cut_last(results)
    with open_pond(pond) as db:
        assert db.status()["queries"]["q"]["problem"] == "the end of the result log is missing"


def test_kept_results_that_are_missing(pond: Path, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of old results are gone with their folder, and nothing in it can tell."""
    monkeypatch.setattr("millpond.results.outlet.KEPT_BYTES", 100)
    with open_pond(pond) as db:
        for at in (40, 50):
            db.append("r", [{"at": at, "id": at}])
            db.advance("r", at + 5)
            db.tick()
            assert db._workspace.network.keeper.settle()
        position = db._workspace.network.outlet("q").archive.position  # type: ignore[union-attr]
        assert position > 0
        db.append("r", [{"at": 60, "id": 60}])
        db.advance("r", 65)
        db.tick()
        assert db._workspace.network.keeper.settle()
        position = db._workspace.network.state.archived[db._workspace.catalog.queries["q"].folder]
    folder = next(results.glob("q-*"))
    shutil.rmtree(folder)
    with open_pond(pond) as db:
        problem = db.status()["queries"]["q"]["problem"]
        assert problem == (
            f'kept results of "{folder.name}" are missing\n'
            f"Detail: Results up to number {position - 1} were in files, and now up to number -1.\n"
            f'Hint: Restore "{folder}" from a copy, or drop the query and create it again.'
        )
        with pytest.raises(CorruptBlock, match="kept results of"):
            db.resume("q").fetch()
        assert ids(db, "u") == list(range(30))


@pytest.mark.parametrize("how", ["flip", "folder"])
def test_a_damaged_last_result(pond: Path, how: str) -> None:
    """Differences to a wrong result would be wrong: the query stops."""
    standard(pond)
    with open_pond(pond) as db:
        db.sql(
            "CREATE CONTINUOUS QUERY d AS SELECT ISTREAM t.id, n.name FROM t [INTERVAL 50] JOIN names n ON t.id % 3 = n.id "
            "SAMPLE REALTIME"
        )
        db.append("t", rows(30, 2))
        db.advance("t", 40)
        db.tick()
    (path,) = (pond / "before").iterdir()
    if how == "flip":
        flip(path, 100)
        why = "Its checksum does not match its contents."
    else:
        path.unlink()
        path.mkdir()
        why = f"[Errno 21] Is a directory: '{path}'"
    with open_pond(pond) as db:
        db.append("t", rows(40, 1))
        db.advance("t", 50)
        db.tick()
        assert db.status()["queries"]["d"]["problem"] == (
            f'the last result of query "d" cannot be read\nDetail: {path}: {why}\n'
            "Hint: Restore the file from a copy, or let the query begin anew: RESUME it."
        )
        db.sql("RESUME CONTINUOUS QUERY d")
        db.append("t", rows(50, 2))
        db.advance("t", 60)
        db.tick()
        assert db.status()["queries"]["d"]["problem"] is None


# -- the folder -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "{", '{"version": 1}', "[]", "\x00" * 50])
def test_a_damaged_catalog(pond: Path, text: str) -> None:
    (pond / "catalog.json").write_text(text)
    with pytest.raises(CorruptBlock) as damaged:
        open_pond(pond)
    lines = str(damaged.value).splitlines()
    assert lines[0] == 'the catalog of pond "pond" cannot be read'
    assert lines[-1] == "Hint: Restore it from a copy."


def test_a_missing_catalog(pond: Path) -> None:
    (pond / "catalog.json").unlink()
    with pytest.raises(CorruptBlock, match=r'^the catalog of pond "pond" cannot be read'):
        open_pond(pond)


def test_not_a_pond(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "letter.txt").write_text("")
    missing = tmp_path / "missing"
    cases = [
        (file, True, f'"{file}" is a file, not a pond\nHint: Give the path of a folder.'),
        (
            strange,
            True,
            f'"{strange}" is not a pond\nDetail: It holds other files and no millpond.json.\n'
            "Hint: Give the folder of a pond, or one that is empty or does not exist yet.",
        ),
        (missing, False, f'there is no pond at "{missing}"\nHint: CREATE a table there first, or check the path.'),
    ]
    for path, create, message in cases:
        with pytest.raises(NotAPond) as refused:
            millpond.connect(path, create=create)
        assert str(refused.value) == message
    assert not missing.exists()
    assert [p.name for p in strange.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize(
    "text", ["", "{", "{}", '{"format": 2}', '{"format": 9}', '{"checksum": "00000000",\n"format": 2}']
)
def test_a_damaged_marker(pond: Path, text: str) -> None:
    (pond / "millpond.json").write_text(text)
    with pytest.raises(NotAPond) as refused:
        open_pond(pond)
    assert refused.value.primary == f'"{pond}" has a damaged millpond.json'
    assert refused.value.hint == "Restore it from a copy."


def test_a_marker_of_another_format(pond: Path) -> None:
    for text, message in [
        (
            '{"format": 1, "id": "x"}',
            'pond "pond" has format 1, this millpond reads 2\n'
            "Hint: It was made by an older millpond: export its tables there, and load them into a new pond.",
        ),
        (seal({"format": 9}).decode(), 'pond "pond" has format 9, this millpond reads 2\nHint: Update millpond.'),
    ]:
        (pond / "millpond.json").write_text(text)
        with pytest.raises(NotAPond) as refused:
            open_pond(pond)
        assert str(refused.value) == message


# -- the lock -------------------------------------------------------------------------------------------------------

HOLD = """
import sys, millpond
db = millpond.connect(sys.argv[1], engine="duckdb", auto_archive=False)
db.append("t", [{"at": 100, "id": 100, "name": ""}])
print("holding", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(pond: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes the pond."""
    program = pond.parent / "hold.py"
    program.write_text(HOLD)
    with subprocess.Popen(
        [sys.executable, str(program), str(pond)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holding\n"
        yield process
        process.kill()


def test_a_second_writer(pond: Path, holder: subprocess.Popen[str]) -> None:
    with open_pond(pond) as db:
        assert ids(db) == [*range(30), 100]  # reading is free
        assert db.status()["written"]
        for change in (lambda: db.append("t", rows(200, 1)), lambda: db.sql("DROP TABLE u"), db.archive, db.start):
            with pytest.raises(SecondWriter) as refused:
                change()
            assert str(refused.value) == (
                'pond "pond" is being written by another process\n'
                f"Detail: Process {holder.pid} on {socket.gethostname()} holds it: hold.py {pond}.\n"
                "Hint: Stop that process first, or only read: any number of readers may open the pond."
            )
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert not db.status()["written"]
        db.append("t", rows(200, 1))  # the lock went with its holder
        assert ids(db) == [*range(30), 100, 200]
    assert json.loads((pond / "writer.lock").read_text())["pid"] == os.getpid()


def test_two_ponds_in_one_process(pond: Path) -> None:
    with open_pond(pond) as one, open_pond(pond) as two:
        one.append("t", rows(100, 1))
        with pytest.raises(SecondWriter):
            two.append("t", rows(200, 1))
        assert ids(two) == [*range(30), 100]
        one.close()
        two.append("t", rows(200, 1))
        assert ids(two) == [*range(30), 100, 200]


def test_a_copy_of_a_pond_is_a_pond(pond: Path, tmp_path: Path) -> None:
    """Copied file by file while it is written: the log may be torn, but what was there at the time is there."""
    with open_pond(pond) as db:
        db.append("t", rows(30, 10))
        shutil.copytree(pond, tmp_path / "copy")
        db.append("t", rows(40, 10))
    with open_pond(tmp_path / "copy") as db:
        assert ids(db) == list(range(40))
        db.append("t", rows(100, 1))


# -- others at work -------------------------------------------------------------------------------------------------

READS = 2_000
APPENDS = 200
FORGETTING = (
    "CREATE STREAMING TABLE s (at BIGINT, id BIGINT) TIMESTAMP BY at RANGE INTERVAL '40' SECOND WITH (shards = 2)"
)


def test_a_reader_beside_a_writer(tmp_path: Path) -> None:
    """Another process appends 0, 1, 2, ..., archives, merges, expires, makes checkpoints and deletes files.

    Whenever the reader looks it sees an unbroken run of them, whose ends never go back.
    """
    folder = tmp_path / "pond"
    with open_pond(folder) as db:
        db.sql(FORGETTING)
    program = [sys.executable, str(Path(__file__).with_name("steady_writer.py")), str(folder)]
    with subprocess.Popen(
        program, env={**os.environ, "PYTHONPATH": str(SOURCE)}, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as writer:
        try:
            with open_pond(folder) as db:
                wait_until(lambda: db.status()["tables"]["s"]["rows"] > 0, "the first row")
                low = high = count = 0
                versions, expired = set(), False
                while count < READS or len(versions) < 50 or not expired:
                    count += 1
                    assert writer.poll() is None, writer.stderr.read() if writer.stderr else ""
                    assert count < 100 * READS, "the writer does not get on"
                    first, end = seen(db, by_sql=count % 40 == 0)
                    assert first >= low
                    assert end >= high
                    low, high = first, end
                    version = db._workspace.stream("s").rows.manifest.current
                    versions.add(version.number)
                    expired = expired or first > 0
        finally:
            writer.kill()


def seen(db: Pond, *, by_sql: bool) -> tuple[int, int]:
    """The first and the last row number a reader sees now; fails if there is a gap or a row twice in between."""
    if by_sql:
        low, high, count, distinct = db.sql("SELECT min(id), max(id), count(*), count(DISTINCT id) FROM s").rows()[0]
        assert count == distinct == high - low + 1
        return low, high + 1
    db._workspace.refresh()
    snapshot = db._workspace.stream("s").rows.snapshot()
    position, files = snapshot.version.position, snapshot.version.files.values()
    first = min((f.first_seq for f in files), default=position)
    assert sum(f.rows for f in files) == position - first
    tail = [n for b in snapshot.blocks for batch in b.batches for n in batch.column("_seq").to_pylist()]
    assert sorted(tail) == list(range(position, position + len(tail)))
    assert all((snapshot.folder / f.path).exists() for f in files)
    return first, position + len(tail)


def test_a_reader_that_fell_far_behind(pond: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks again after the commits and log files it knew are gone."""
    monkeypatch.setattr("millpond.table.manifest.CHECKPOINT_EVERY", 4)
    monkeypatch.setattr("millpond.table.manifest._KEPT_COMMITS", 1)
    with open_pond(pond) as reader, open_pond(pond, segment_bytes=500) as writer:
        assert ids(reader) == list(range(30))
        for number in range(30, 60):
            writer.append("t", rows(number, 1))
            writer._workspace.rounds.archive()
            if number in (36, 59):
                assert ids(reader) == list(range(number + 1))
                assert reader.now("t") == number


def test_a_reader_of_files_removed_before_a_restart(pond: Path) -> None:
    """Files that a merge replaced stay for a while, also when the writer is reopened: a reader may be using them."""
    with open_pond(pond) as writer:
        for number in range(30, 40):
            writer.append("t", rows(number, 1))
            if number == 36:
                writer._workspace.rounds.archive()
                reader = open_pond(pond)
                snapshot = reader._workspace.stream("t").rows.snapshot()
                for path in pond.glob("tables/t-*/archive/c*/*"):
                    os.utime(path, (0, 0))  # written long ago
            writer._workspace.rounds.archive()
        assert not snapshot.version.files.keys() <= writer._workspace.stream("t").rows.manifest.current.files.keys()
    with open_pond(pond) as writer:
        writer.append("t", rows(40, 1))
    assert all((snapshot.folder / path).exists() for path in snapshot.version.files)
    reader.close()


def test_threads_that_append_ask_and_archive(tmp_path: Path) -> None:
    """Two threads append, one archives, one adds columns, two ask: no gap, nothing twice, no going back."""
    failures: list[BaseException] = []
    stop = threading.Event()
    with open_pond(tmp_path / "pond", segment_bytes=4_000) as db:
        db.sql("CREATE STREAMING TABLE t (at BIGINT, writer BIGINT, id BIGINT) TIMESTAMP BY at WITH (shards = 2)")
        counts = [0, 0]

        def append(writer: int) -> None:
            random = Random(writer)
            for number in range(APPENDS):
                size = random.choice([1, 1, 1, 5, 300])
                new = range(counts[writer], counts[writer] + size)
                assert db.append("t", [{"at": 1, "writer": writer, "id": i} for i in new]).accepted == size
                counts[writer] += size
                if writer and number % 50 == 25:
                    altering.release()
                if stop.is_set():
                    return

        def alter() -> None:
            for column in range(APPENDS // 50):
                assert altering.acquire(timeout=60)
                db.sql(f"ALTER TABLE t ADD COLUMN c{column} INT")

        def archive() -> None:
            while not stop.is_set():
                db._workspace.rounds.archive()

        def ask() -> None:
            before = [0, 0]
            while not stop.is_set():
                floor = list(counts)
                found = db.sql("SELECT writer, count(*), count(DISTINCT id), max(id) FROM t GROUP BY writer").rows()
                for writer, count, distinct, highest in found:
                    assert count == distinct == highest + 1
                    assert count >= max(before[writer], floor[writer])
                    before[writer] = count

        def guarded(work: Callable[[], None]) -> None:
            try:
                work()
            except BaseException as error:
                failures.append(error)
                stop.set()

        altering = threading.Semaphore(0)
        works = [lambda: append(0), lambda: append(1), alter, archive, ask, ask]
        threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads[:3]:
            thread.join(120)
        stop.set()
        for thread in threads:
            thread.join(60)
        assert not failures, failures
        assert not any(t.is_alive() for t in threads)
    with open_pond(tmp_path / "pond") as db:
        found = db.sql("SELECT writer, count(*), count(DISTINCT id), max(id) FROM t GROUP BY writer ORDER BY 1").rows()
        assert found == [(w, n, n, n - 1) for w, n in enumerate(counts)]
        assert db.sql("SELECT count(DISTINCT _seq), max(_seq) FROM t").rows() == [(sum(counts), sum(counts) - 1)]
