"""A disk that is full at any call that makes a standing query durable: what was acknowledged is there, nothing else, and it goes on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millpond.errors import DiskFull
from millpond.standing.registry import Registry

CALLS = ("write", "pwrite", "fsync", "replace", "link", "mkdir")
READS = (("quotes", "quotes-0"),)


class Disk:
    """The `fails_at`-th call fails, and with `stays_full` all that follow."""

    def __init__(self) -> None:
        self.fails_at = self.count = 0
        self.stays_full = False
        self.failed = False

    def wrap(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            if self.fails_at:
                self.count += 1
                if self.count == self.fails_at or (self.count > self.fails_at and self.stays_full):
                    self.failed = True
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*given, **named)

        return call


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    for name in CALLS:
        monkeypatch.setattr(os, name, made.wrap(getattr(os, name)))
    return made


def writer(pond: Path) -> Registry:
    registry = Registry(pond)
    registry.become_writer()
    return registry


def steps(pond: Path) -> Iterator[Callable[[Registry], list[int]]]:
    """What is done, each returning the numbers of what came or, negated, went."""
    yield lambda r: [r.register("first", "SELECT 1", "auto", READS).number]
    yield lambda r: [q.number for q in r.register_each("SELECT ?", [[1], ["a\r\n"]], "auto", READS)]

    def dropped(registry: Registry) -> list[int]:
        registry.drop([1, 2])
        return [-1, -2]

    yield dropped
    yield lambda r: [r.register("first", "SELECT 2", "auto", READS).number]


@pytest.mark.parametrize("stays_full", [False, True])
@pytest.mark.parametrize("reopened", [False, True])
def test_a_disk_that_is_full_at_any_call(tmp_path: Path, disk: Disk, stays_full: bool, reopened: bool) -> None:
    number = 0
    while True:
        number += 1
        pond = tmp_path / str(number)
        pond.mkdir()
        registry = writer(pond)
        acknowledged: set[int] = set()
        disk.fails_at, disk.stays_full, disk.count, disk.failed = number, stays_full, 0, False
        for step in steps(pond):
            while True:
                try:
                    changed = step(registry)
                except DiskFull:
                    disk.fails_at = 0  # somebody made room
                    assert {q.number for q in registry.all()} == acknowledged
                    if reopened:
                        registry = writer(pond)
                        assert {q.number for q in registry.all()} == acknowledged
                    continue
                acknowledged |= {n for n in changed if n > 0}
                acknowledged -= {-n for n in changed if n < 0}
                break
        disk.fails_at = 0
        for found in (registry, writer(pond)):
            assert {q.number for q in found.all()} == acknowledged == {3, 4}
            assert found.find("first").text == "SELECT 2"
        if not disk.failed:
            break
    assert number > 8
