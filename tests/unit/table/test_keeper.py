"""What the keeper chooses: which frames make a block, which files are worth merging."""

from __future__ import annotations

from pathlib import Path

from millpond.table.log import Frame, IntakeState, Section
from millpond.table.manifest import ArchiveFile
from millpond.table.work import choose_files, choose_frames


def frame(number: int, *rows: tuple[int, int], at: int = 100) -> Frame:
    """A frame with (shard, rows) sections."""
    sections = tuple(Section(0, shard, count, 0, 0, 0) for shard, count in rows)
    total = sum(count for _, count in rows)
    return Frame(Path("x.log"), number, 64, number * 10, total, 0, 0, 0, 0, IntakeState(at=at), sections)


def file(number: int, rows: int, *, compartment: int = 0, shard: int = 0) -> ArchiveFile:
    return ArchiveFile(
        f"c{compartment}/{number}.parquet", 1, rows, number, number, number, number, compartment, shard, (), {}, {}
    )


def test_nothing_is_due_until_a_shard_has_a_block() -> None:
    frames = [frame(i, (0, 3), (1, 2)) for i in range(5)]
    assert choose_frames(frames, 100, oldest=0, force=False) == []
    assert choose_frames(frames, 6, oldest=0, force=False) == frames[:2]


def test_old_frames_are_due_however_small() -> None:
    frames = [frame(0, (0, 1), at=5), frame(1, (0, 1), at=50)]
    assert choose_frames(frames, 100, oldest=4, force=False) == []
    assert choose_frames(frames, 100, oldest=5, force=False) == frames


def test_force_takes_all_but_no_more_than_a_block() -> None:
    frames = [frame(i, (0, 4)) for i in range(5)]
    assert choose_frames(frames, 100, oldest=0, force=True) == frames
    assert choose_frames(frames, 8, oldest=0, force=True) == frames[:2]
    assert choose_frames([], 8, oldest=0, force=True) == []


def test_eight_small_neighbours_are_merged() -> None:
    files = [file(i, 2) for i in range(8)]
    assert choose_files(files[:7], 100) == []
    assert choose_files(files, 100) == [files]
    assert choose_files(list(reversed(files)), 100) == [files]


def test_files_that_are_grown_up_or_apart_are_left() -> None:
    grown = [file(i, 25) for i in range(10)]
    assert choose_files(grown, 100) == []
    apart = [file(i, 2, compartment=i % 2) for i in range(14)] + [file(20 + i, 2, shard=i) for i in range(1, 8)]
    assert choose_files(apart, 100) == []


def test_a_merged_file_is_no_larger_than_a_block() -> None:
    files = [file(i, 20) for i in range(12)]
    (run,) = choose_files(files, 100)
    assert sum(f.rows for f in run) <= 100
