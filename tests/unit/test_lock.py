"""The writer's lock: one holder, and nobody disturbs it by asking."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from millpond.errors import SecondWriter
from millpond.lock import WriterLock, is_written


def test_one_writer(tmp_path: Path) -> None:
    first, second = WriterLock(tmp_path), WriterLock(tmp_path)
    assert not is_written(tmp_path)
    first.acquire()
    first.acquire()
    assert is_written(tmp_path)
    with pytest.raises(SecondWriter, match="is being written by another process"):
        second.acquire()
    first.release()
    assert not is_written(tmp_path)
    second.acquire()
    assert is_written(tmp_path)
    second.release()


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
