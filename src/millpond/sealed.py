"""Small JSON files that carry a checksum of themselves.

The files of a pond that hold a definition or a position are JSON, so that a person can read them. One flipped bit can turn
such a text into another that is just as readable: 1000 into 1008, a name into another name. So the first line holds the
CRC-32 of everything after it:

    {"checksum": "5d41a3b2",
    "version": 7, "streaming": {...}}

The whole is one JSON object, and the checksum is of the bytes as they are on disk: no change goes unseen.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.durable import write_file

_FIRST_LINE = re.compile(rb'\{"checksum": "([0-9a-f]{8})",\n')


class BrokenSeal(ValueError):
    """The bytes are not those that were sealed."""


def seal(data: Mapping[str, Any]) -> bytes:
    """`data` as JSON with a checksum. Keys are texts; there is at least one.

    >>> unseal(seal({"next": 7}))
    {'next': 7}
    """
    assert data, "an empty object has nothing to protect"
    rest = json.dumps(data)[1:].encode()
    return b'{"checksum": "%08x",\n' % zlib.crc32(rest) + rest


def unseal(raw: bytes) -> dict[str, Any]:
    """What was sealed; raises `BrokenSeal` if a single bit differs."""
    head = _FIRST_LINE.match(raw)
    if head is None:
        raise BrokenSeal("it does not begin with its checksum")
    rest = raw[head.end() :]
    if zlib.crc32(rest) != int(head[1], 16):
        raise BrokenSeal("its checksum does not match its contents")
    data: dict[str, Any] = json.loads(b"{" + rest)
    return data


def write_sealed(path: Path, data: Mapping[str, Any]) -> None:
    """Replace the file by `data`, durably and as a whole."""
    write_file(path, seal(data))


def read_sealed(path: Path) -> dict[str, Any]:
    """What the file holds; raises `BrokenSeal`, or the OSError of reading it."""
    return unseal(path.read_bytes())
