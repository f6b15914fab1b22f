"""The writer's lock: one holder, and nobody disturbs it by asking."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import millpond
from millpond import lock
from millpond.errors import PondError, SecondWriter
from millpond.lock import FILE, SIGN, WriterLock, holder, is_written


def test_one_writer(tmp_path: Path) -> None:
    first, second = WriterLock(tmp_path), WriterLock(tmp_path)
    assert not is_written(tmp_path)
    first.acquire()
    first.acquire()
    assert is_written(tmp_path)
    with pytest.raises(SecondWriter) as caught:
        second.acquire()
    assert str(caught.value) == (
        f'pond "{tmp_path.name}" is being written by another Pond object of this process\n'
        "Hint: Use that object, which threads may share, or close it first."
    )
    first.release()
    assert not is_written(tmp_path)
    second.acquire()
    assert is_written(tmp_path)
    second.release()


def test_a_writer_in_another_process_is_named(tmp_path: Path) -> None:
    program = "import sys, pathlib; from millpond.lock import WriterLock; lock = WriterLock(pathlib.Path(sys.argv[1]))"
    program += "; lock.acquire(); print('held', flush=True); sys.stdin.read()"
    arguments = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(SecondWriter) as caught:
            WriterLock(tmp_path).acquire()
        other.communicate("")
    assert caught.value.primary == f'pond "{tmp_path.name}" is being written by another process'
    assert caught.value.detail is not None
    assert caught.value.detail.startswith(f"Process {other.pid} on ")


@pytest.mark.parametrize("damaged", [b"", b"[]", b"7", b"\xff", b'{"pid": 1}'])
def test_a_damaged_lock_file_names_nobody(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / FILE).write_bytes(damaged)
    assert holder(tmp_path) is None


def test_a_writer_whose_lock_file_was_deleted_stops_before_two_write(tmp_path: Path) -> None:
    first = millpond.connect(tmp_path / "pond", auto_archive=False)
    first.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
    first.append("r", [(1, 1)])
    (tmp_path / "pond" / FILE).unlink()
    (tmp_path / "pond" / SIGN).unlink()
    with millpond.connect(tmp_path / "pond", auto_archive=False) as second:
        second.append("r", [(2, 2)])
        for write in (
            lambda: first.append("r", [(3, 3)]),
            first.tick,
            first.archive,
            lambda: first.sql("DROP TABLE r"),
        ):
            with pytest.raises(PondError) as caught:
                write()
            assert caught.value.primary == f'"{tmp_path / "pond" / FILE}" was deleted while the pond was open'
            assert caught.value.hint == "Close the pond and open it again, if its other files are still there."
        first.close()
        assert second.sql("SELECT v FROM r ORDER BY v").rows() == [(1,), (2,)]


def test_a_deleted_lock_file_does_not_let_the_next_writer_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_MOMENT", 0.1)
    first, second = WriterLock(tmp_path), WriterLock(tmp_path)
    first.acquire()
    (tmp_path / FILE).unlink()
    with pytest.raises(SecondWriter, match="is being written by another process"):
        second.acquire()
    first.release()
    second.acquire()
    second.check()
    second.release()


def test_rows_are_not_accepted_into_a_pond_whose_folder_was_deleted(tmp_path: Path) -> None:
    db = millpond.connect(tmp_path / "pond", auto_archive=False)
    db.sql("CREATE STREAMING TABLE r (v INT, t BIGINT) TIMESTAMP BY t")
    shutil.rmtree(tmp_path / "pond")
    with pytest.raises(PondError, match="was deleted while the pond was open"):
        db.append("r", [(1, 1)])
    with pytest.raises(PondError, match="was deleted while the pond was open"):
        db.sql("CREATE TABLE s (v INT)")
    db.close()
    assert not (tmp_path / "pond").exists()


def test_asking_whether_there_is_a_writer_never_refuses_one(tmp_path: Path) -> None:
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            is_written(tmp_path)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(1500):
            lock = WriterLock(tmp_path)
            lock.acquire()
            lock.release()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
