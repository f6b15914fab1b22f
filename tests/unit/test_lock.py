"""The writer's lock: one holder, and nobody disturbs it by asking."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from millpond.errors import SecondWriter
from millpond.lock import FILE, WriterLock, holder, is_written


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
