from __future__ import annotations

import json
from pathlib import Path

import pytest

from millpond.sealed import BrokenSeal, read_sealed, seal, unseal, write_sealed

DATA = {"next": 1000, "name": "größe", "list": [1, {"a": None}]}


def test_what_was_sealed_is_read(tmp_path: Path) -> None:
    write_sealed(tmp_path / "x.json", DATA)
    assert read_sealed(tmp_path / "x.json") == DATA


def test_it_is_json_that_anybody_can_read() -> None:
    assert {k: v for k, v in json.loads(seal(DATA)).items() if k != "checksum"} == DATA


def test_every_flipped_bit_and_every_truncation_is_noticed() -> None:
    whole = seal(DATA)
    for place in range(len(whole)):
        with pytest.raises(BrokenSeal):
            unseal(whole[:place])
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            with pytest.raises(BrokenSeal):
                unseal(bytes(changed))


@pytest.mark.parametrize(
    ("raw", "said"),
    [(b"", "does not begin"), (b'{"next": 1}', "does not begin"), (seal(DATA) + b" ", "does not match")],
)
def test_what_is_said(raw: bytes, said: str) -> None:
    with pytest.raises(BrokenSeal, match=said):
        unseal(raw)
