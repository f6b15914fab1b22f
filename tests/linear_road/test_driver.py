"""The driver's files: each second once, in order; those answered long ago are taken back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from linear_road import records
from linear_road.driver import KEPT, read_journal


def written(path: Path, seconds: range) -> Path:
    columns = {name: pa.array([-1] * len(seconds), pa.int32()) for name in records.INPUT.names}
    columns |= {"Type": pa.array([0] * len(seconds), pa.int32()), "Time": pa.array(list(seconds), pa.int32())}
    pq.write_table(pa.table(columns).select(records.INPUT.names).cast(records.INPUT), path)
    return path


def drive(folder: Path, source: Path, *more: str) -> None:
    places = ["--folder", folder / "in", "--journal", folder / "driver.csv", "--taken", folder / "taken"]
    words = [sys.executable, "-m", "linear_road.driver", "--input", source, *places, "--speed", "max", *more]
    subprocess.run([str(w) for w in words], check=True, timeout=60)


def test_files_that_were_answered_long_ago_are_taken_back(tmp_path: Path) -> None:
    """Also by a driver that goes on after a crash, of those that stand there."""
    source = written(tmp_path / "input.parquet", range(300))
    (tmp_path / "in").mkdir()
    for taken, more in ((130, ("--end", "200")), (290, ())):
        (tmp_path / "taken").write_text(str(taken))
        drive(tmp_path, source, *more)
        handed = read_journal(tmp_path / "driver.csv")
        assert [h.first for h in handed] == [0, *(h.last + 1 for h in handed[:-1])]
        standing = {int(path.stem) for path in (tmp_path / "in").glob("*.parquet")}
        assert standing == {h.first for h in handed if h.last >= taken - KEPT}
        assert len(standing) < len(handed)
    assert sum(h.tuples for h in handed) == 300
