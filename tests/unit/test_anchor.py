from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from millpond.anchor import Anchor
from millpond.errors import CorruptBlock, DiskFull


def test_without_a_file_nothing_is_claimed(tmp_path: Path) -> None:
    assert Anchor(tmp_path / "a").read() is None


@pytest.mark.parametrize("keep", [False, True])
def test_the_last_note_counts_also_after_reopening(tmp_path: Path, keep: bool) -> None:
    for number in range(3):
        anchor = Anchor(tmp_path / "a", keep=keep)
        anchor.read()
        for row in range(3):
            anchor.note(row=10 * number + row)
            assert Anchor(tmp_path / "a").read() == {"row": 10 * number + row}
        anchor.close()


def test_a_damaged_slot_leaves_the_other(tmp_path: Path) -> None:
    """It is one note older: a weaker claim, not a false one."""
    anchor = Anchor(tmp_path / "a")
    anchor.note(row=1)
    anchor.note(row=2)
    whole = (tmp_path / "a").read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        (tmp_path / "a").write_bytes(changed)
        found = Anchor(tmp_path / "a").read()
        assert found is not None
        assert found["row"] in (1, 2)


@pytest.mark.parametrize("content", [b"", b"x" * 512, None])
def test_a_damaged_anchor(tmp_path: Path, content: bytes | None) -> None:
    if content is None:
        (tmp_path / "a").mkdir()
    else:
        (tmp_path / "a").write_bytes(content)
    with pytest.raises(CorruptBlock) as damaged:
        Anchor(tmp_path / "a").read()
    assert str(damaged.value) == (
        f'"{tmp_path.name}/a" is damaged\nDetail: It tells how far the files beside it go. They may be whole.\n'
        "Hint: Restore it from a copy, or delete it to go on with the files as they are."
    )


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
def test_a_first_note_that_was_cut_off_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """It left a file without a note, which is damage."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    anchor = Anchor(tmp_path / "a")
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(DiskFull):
            anchor.note(row=1)
    assert Anchor(tmp_path / "a").read() is None
    anchor.note(row=2)
    assert Anchor(tmp_path / "a").read() == {"row": 2}
    assert (tmp_path / "a").stat().st_size == 512


def test_an_anchor_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before the file has its name, there is none."""
    seen = []
    monkeypatch.setattr("millpond.durable.reach", lambda mark: seen.append(Anchor(tmp_path / "a").read()))
    Anchor(tmp_path / "a").note(row=1)
    assert seen == [None, {"row": 1}]
