"""Results of tasks cross from Spark's workers as text, and are the same on the other side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from millpond.table.block import BlockSpec, write_blocks
from millpond.table.manifest import ArchiveFile
from millpond.tick.task_result import FilesWritten, decode_result, encode_result


@pytest.mark.parametrize("changes", [{}, {"randomise": True}, {"copies": (1 << 20, 1 << 30)}, {"indexed": ("v",)}])
def test_files_come_back_as_they_were(tmp_path: Path, changes: dict[str, object]) -> None:
    spec = BlockSpec(str(tmp_path), "t", seed="readings-1", **changes)  # type: ignore[arg-type]
    numbers = np.arange(10_000)
    files = write_blocks(spec, pa.table({"t": numbers, "v": numbers % 7, "_seq": numbers}), 0, "a")
    assert decode_result(encode_result(FilesWritten(files))) == FilesWritten(files)
    again = [ArchiveFile.from_action(file.to_action(0)) for file in files]
    assert again == files, "and as the archive's log has them"
