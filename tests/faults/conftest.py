"""Folders for tests that sync thousands of times: in memory where there is such a place, since `kill -9` leaves the
page cache intact and a real disk would only make the tests slow."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
ENOUGH = 64 << 20


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own on which syncing costs little."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="millpond-faults-", dir=MEMORY))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
