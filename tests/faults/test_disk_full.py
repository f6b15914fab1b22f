"""A disk that is really full: a small tmpfs. Intake stops and says so, nothing acknowledged is lost, and it goes on as
soon as there is space, in the same process and after reopening."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from millpond import Pond
from millpond.errors import DiskFull
from tests.faults.ledger import open_pond

SIZE = "8m"
ROWS = 5_000  # 200 kB a batch
DETAIL = "Nothing that was acknowledged is lost; the rows of this call were not accepted."
NOT_DONE = "Nothing that was acknowledged is lost; what was asked for was not done."


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system to fill")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "millpond-test", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def batch(first: int) -> pa.Table:
    ids = pa.array(range(first, first + ROWS), pa.int64())
    return pa.table({"at": ids, "id": ids, "a": ids, "b": ids})


def append_until_full(db: Pond, acknowledged: int) -> tuple[int, DiskFull]:
    """Append until the disk is full; returns how many rows were acknowledged in all, and the error."""
    while True:
        try:
            acknowledged += db.append("t", batch(acknowledged)).accepted
        except DiskFull as error:
            return acknowledged, error
        assert acknowledged < 1_000_000, "the disk does not get full"


def assert_rows(db: Pond, acknowledged: int) -> None:
    found = db.sql("SELECT count(*), count(DISTINCT id), min(id), max(id), max(_seq) FROM t").rows()
    assert found == [(acknowledged, acknowledged, 0, acknowledged - 1, acknowledged - 1)]


def test_a_full_disk_is_a_pause(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(3 << 20))
    db = open_pond(small_disk / "pond", segment_bytes=1 << 20)
    db.sql("CREATE STREAMING TABLE t (at BIGINT, id BIGINT, a BIGINT, b BIGINT) TIMESTAMP BY at WITH (shards = 1)")
    db.sql("CREATE INDEX ON t (id)")

    count, error = append_until_full(db, 0)
    assert str(error) == f'no space left on the disk of "log"\nDetail: {DETAIL}\nHint: Free some space and try again.'
    assert count > 2 * ROWS
    assert_rows(db, count)
    with pytest.raises(DiskFull):  # and again: the half written rows of the first try are gone
        db.append("t", batch(count))

    # Archiving needs space before it frees any; its failure changes nothing.
    (small_disk / "last bytes").write_bytes(bytes(os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize))
    with pytest.raises(DiskFull, match=r'^no space left on the disk of ".*"\nDetail: Nothing that was acknowledged'):
        db._workspace.rounds.archive()
    assert_rows(db, count)

    ballast.unlink()  # the same process goes on
    (small_disk / "last bytes").unlink()
    count += db.append("t", batch(count)).accepted
    assert_rows(db, count)
    db._workspace.rounds.archive()
    assert db.status()["tables"]["t"]["archived_rows"] == count
    assert_rows(db, count)

    count, _ = append_until_full(db, count)
    db.close()
    db = open_pond(small_disk / "pond", segment_bytes=1 << 20)  # reopened while full
    assert_rows(db, count)
    with pytest.raises(DiskFull):
        db.append("t", batch(count))
    assert_rows(db, count)
    subprocess.run(["mount", "-o", "remount,size=32m", str(small_disk)], check=True)
    count += db.append("t", batch(count)).accepted
    db._workspace.rounds.archive()
    assert_rows(db, count)
    db.close()
    with open_pond(small_disk / "pond") as again:
        assert_rows(again, count)
        assert again.append("t", batch(count)).accepted == ROWS


def test_definitions_on_a_full_disk(small_disk: Path) -> None:
    """CREATE, CREATE INDEX, ALTER and UPDATE fail whole, and can be done again."""
    db = open_pond(small_disk / "pond")
    db.sql("CREATE STREAMING TABLE t (at BIGINT, id BIGINT, a BIGINT, b BIGINT) TIMESTAMP BY at WITH (shards = 1)")
    db.append("t", batch(0))
    db._workspace.rounds.archive()
    statements = {
        "CREATE STREAMING TABLE u (a INT)": "SELECT count(*) FROM u",
        "CREATE INDEX ON t (id)": "SELECT count(*) FROM t WHERE id = 17",
        "ALTER TABLE t ADD COLUMN c INT": "SELECT c FROM t WHERE id = 17",
        "UPDATE t SET a = -1 WHERE id = 17": "SELECT count(*) FROM t WHERE a = -1",
        "DELETE FROM t WHERE id = 18": "SELECT count(*) FROM t WHERE id = 18",
        "CREATE TABLE s AS SELECT id FROM t": "SELECT count(*) FROM s",
    }
    answers = [[(0,)], [(1,)], [(None,)], [(1,)], [(0,)], [(ROWS - 1,)]]
    for (statement, query), answer in zip(statements.items(), answers, strict=True):
        free = os.statvfs(small_disk)
        (small_disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize))
        with pytest.raises(DiskFull) as refused:
            db.sql(statement)
        assert refused.value.hint == "Free some space and try again.", statement
        assert refused.value.detail == NOT_DONE, statement
        (small_disk / "ballast").unlink()
        db.sql(statement)
        assert db.sql(query).rows() == answer, statement
    db.close()
    with open_pond(small_disk / "pond") as again:
        for query, answer in zip(statements.values(), answers, strict=True):
            assert again.sql(query).rows() == answer


def test_a_full_disk_spoke_of_rows_in_a_tick_too(small_disk: Path) -> None:
    """It said that the rows of this call were not accepted, though no rows were given."""
    db = open_pond(small_disk / "pond")
    db.sql("CREATE STREAMING TABLE t (at BIGINT, id BIGINT, a BIGINT, b BIGINT) TIMESTAMP BY at WITH (shards = 1)")
    db.sql("CREATE CONTINUOUS QUERY q RANGE UNBOUNDED AS SELECT id FROM t [NOW] SAMPLE REALTIME")
    db.append("t", batch(0))
    free = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize))
    with pytest.raises(DiskFull) as refused:
        db.tick()
    assert refused.value.detail == NOT_DONE
    (small_disk / "ballast").unlink()
    db.tick()
    assert len(db.resume("q").fetch().rows()) == ROWS - 1
    db.close()
