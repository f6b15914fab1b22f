"""Fail the first, second, ... N-th call that makes something durable, until a whole scenario runs untouched.

After each failure the statement that failed is tried again, in the same process or in a reopened pond, and the scenario
goes on to its end: then the pond must hold exactly what was acknowledged, as if nothing had happened.

Parquet and index files are written by Arrow's own C++ code and do not pass here; `test_disk_full.py` makes those fail.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millpond import Pond
from millpond.errors import DiskFull, PondError
from millpond.table import manifest, work
from tests.faults.ledger import TABLE, Ledger, Operation, _was_taken, check, open_pond, perform

CALLS = ("write", "writev", "fsync", "fdatasync", "replace", "link", "ftruncate")


class Disk:
    """Stands in for the calls of `os`: the `fails_at`-th fails, and with `stays_full` all that follow but truncation."""

    def __init__(self) -> None:
        self.fails_at = 0
        self.stays_full = False
        self.count = 0
        self.failed: str | None = None

    def arm(self, fails_at: int, *, stays_full: bool) -> None:
        self.fails_at, self.stays_full, self.count, self.failed = fails_at, stays_full, 0, None

    def heal(self) -> None:
        self.fails_at, self.stays_full = 0, False

    def wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            caller = sys._getframe(1).f_code
            # The ledger is ours, and the lock file has a test of its own below.
            if self.fails_at and not caller.co_filename.endswith(("ledger.py", "lock.py")):
                self.count += 1
                full = self.count > self.fails_at and self.stays_full and name != "ftruncate"
                if self.count == self.fails_at or full:
                    self.failed = self.failed or f"os.{name} in {caller.co_name}"
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*given, **named)

        return call


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    for name in CALLS:
        monkeypatch.setattr(os, name, disk.wrap(name, getattr(os, name)))
    monkeypatch.setattr(manifest, "CHECKPOINT_EVERY", 4)
    monkeypatch.setattr(manifest, "_KEPT_COMMITS", 1)
    choose = work.choose_files
    monkeypatch.setattr("millpond.table.keeper.choose_files", lambda f, n: choose(f, n, at_least=2))
    return disk


def appended(first: int, at: int, good: int, late: int = 0, bad: int = 0, *, extra: bool = False) -> Operation:
    return {"op": "append", "first": first, "good": good, "late": late, "bad": bad, "at": at, "extra": extra}


CREATION: list[Operation] = [
    {"op": "create", "shards": 1},
    {"op": "index"},
    appended(0, 100, 10, 2, 1),
    {"op": "archive"},
]
LIFE: list[Operation] = [
    appended(100, 100, 10, 1, 1),
    {"op": "archive"},  # a second file of the same compartment, and both are merged
    appended(200, 101, 3),
    {"op": "alter"},
    appended(300, 101, 3, extra=True),
    {"op": "update", "low": 100, "high": 302, "ver": 7},
    {"op": "delete", "low": 104, "high": 106},
    {"op": "advance", "at": 160},  # everything so far is older than the history period
    {"op": "archive"},
    {"op": "reopen"},
    appended(400, 161, 4, 1, extra=True),
    {"op": "archive"},
]


class Scenario:
    def __init__(self, folder: Path, ledger: Path, disk: Disk) -> None:
        self.folder = folder
        self.ledger = Ledger(ledger)
        self.disk = disk
        self.db: Pond | None = None

    def open(self) -> Pond:
        if self.db is None:
            self.db = open_pond(self.folder, segment_bytes=1500)
        return self.db

    def close(self) -> None:
        if self.db is not None:
            self.db.close()
        self.db = None

    def do(self, operation: Operation) -> None:
        if operation["op"] == "reopen":
            self.close()
            self.open()
        elif operation["op"] == "archive":
            self.open()._workspace.rounds.archive()
        else:
            perform(self.open(), self.ledger, operation)

    def run(self, operations: list[Operation], *, reopening: bool) -> None:
        """Do the operations; one that fails is judged, then done again."""
        for operation in operations:
            try:
                self.do(operation)
            except DiskFull:
                assert self.disk.failed, "a full disk that was not"
                self.disk.heal()
                if reopening:
                    self.close()
                self.settle()
                if self.ledger.operations[-1:] != [operation]:
                    self.do(operation)

    def settle(self) -> None:
        """Find out whether the operation that failed happened nevertheless. An append must not have."""
        operation = self.ledger.under_way
        if operation is None:
            return
        taken = _was_taken(self.open(), self.ledger)
        assert not (taken and operation["op"] == "append"), "rows were taken, and refused"
        self.ledger.closed(taken=taken)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A pond and its ledger after `CREATION`."""
    folder = tmp_path_factory.mktemp("prepared")
    scenario = Scenario(folder / "pond", folder / "ledger", Disk())
    scenario.run(CREATION, reopening=False)
    scenario.close()
    return folder


@pytest.mark.parametrize(
    "mode", ["in turn", *(pytest.param(m, marks=pytest.mark.slow) for m in ("going on", "reopened", "stays full"))]
)
@pytest.mark.parametrize("part", ["creation", "life"])
def test_nth_write(tmp_path: Path, prepared: Path, disk: Disk, part: str, mode: str) -> None:
    untouched = False
    tried = 0
    while not untouched:
        tried += 7 if (part, mode) == ("life", "in turn") else 3 if mode == "in turn" else 1  # the others try every one
        folder = tmp_path / str(tried)
        if part == "life":
            shutil.copytree(prepared, folder)
        else:
            folder.mkdir()
        scenario = Scenario(folder / "pond", folder / "ledger", disk)
        disk.arm(tried, stays_full=mode == "stays full")
        reopening = bool(tried % 2) if mode == "in turn" else mode != "going on"
        try:
            scenario.run(CREATION if part == "creation" else LIFE, reopening=reopening)
        except BaseException as error:
            error.add_note(f"after failure {tried}: {disk.failed}")
            raise
        untouched = disk.failed is None
        disk.heal()
        scenario.close()
        status = check(scenario.folder, scenario.ledger)
        assert status["tail_rows"] == 0
        scenario.ledger.close()
        shutil.rmtree(folder)
    assert tried > (25 if part == "creation" else 60), f"only {tried} calls were made to fail"


def test_the_lock_file_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_pond(tmp_path / "pond") as db:

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr(os, "ftruncate", full)
            with pytest.raises(DiskFull):
                db.sql(f"CREATE STREAMING TABLE {TABLE} (a INT)")
        db.sql(f"CREATE STREAMING TABLE {TABLE} (a INT)")


def test_a_log_that_cannot_be_mended_refuses_appends_until_reopened(tmp_path: Path, disk: Disk) -> None:
    """Writing fails, and so does cutting off what was half written: the next frame could not be told from the old."""
    scenario = Scenario(tmp_path / "pond", tmp_path / "ledger", disk)
    scenario.run(CREATION, reopening=False)
    scenario.close()
    db = scenario.db = open_pond(scenario.folder)  # with room in the log file, so that the row goes to its end
    row = {"at": 200, "id": 900, "key": 1, "ver": 0}
    with pytest.MonkeyPatch.context() as patched:

        def fails(*_: object) -> None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        patched.setattr(os, "fdatasync", fails)
        with pytest.raises(OSError, match="Input/output error"):
            db.append(TABLE, [row])
    with pytest.raises(PondError) as refused:
        db.append(TABLE, [row])
    assert str(refused.value) == (
        "the intake log is closed after a failed write: [Errno 5] Input/output error; then [Errno 5] Input/output error\n"
        "Hint: Reopen the pond."
    )
    scenario.close()
    db = scenario.open()
    before = db.sql(f"SELECT count(*) FROM {TABLE} WHERE id = 900").rows()[0][0]
    assert before in (0, 1)  # it was not acknowledged
    assert db.append(TABLE, [{**row, "id": 901}]).accepted == 1
    assert db.sql(f"SELECT count(*) FROM {TABLE} WHERE id >= 900").rows() == [(before + 1,)]
    scenario.close()
