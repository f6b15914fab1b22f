"""How a synopsis stands in bytes: little-endian, no padding, nothing that depends on the process or on Python.

    magic    4 bytes  b"MPSY"
    kind     4 bytes  which synopsis, for example b"EHIS"
    version  u16      of that kind's body
    length   u64      bytes of body
    check    u32      CRC-32 of the body
    body              written and read in the same order by the kind

Whole numbers in bulk are packed: their smallest, the width in bits of the largest difference from it, and then each difference
in that many bits. Times in a window are near each other, so this is close to what the information needs.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from millpond.errors import MillpondError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAGIC = b"MPSY"
_HEAD = struct.Struct("<4s4sHQI")
_PACKED = struct.Struct("<QqB")


class SynopsisError(MillpondError, ValueError):
    """A synopsis was given something it cannot take, or asked something it cannot answer."""

    code = "synopsis_error"


def damaged(what: str) -> SynopsisError:
    return SynopsisError("these bytes are not a whole synopsis", detail=what)


class StateWriter:
    """Collects the body of a synopsis, field by field."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def number(self, *values: int) -> None:
        """Whole numbers of 64 bits."""
        self._parts.append(struct.pack(f"<{len(values)}q", *values))

    def real(self, *values: float) -> None:
        self._parts.append(struct.pack(f"<{len(values)}d", *values))

    def numbers(self, values: npt.ArrayLike) -> None:
        """Any number of whole numbers, packed (see the top of this module)."""
        numbers = np.ascontiguousarray(values, dtype=np.int64)
        least = int(numbers.min()) if len(numbers) else 0
        # Unsigned, so that the distance between far ends of the range does not overflow.
        over = numbers.view(np.uint64) - np.array(least, dtype=np.int64).view(np.uint64)
        width = int(over.max()).bit_length() if len(numbers) else 0
        self._parts.append(_PACKED.pack(len(numbers), least, width))
        if width:
            eights = over.astype("<u8").view(np.uint8).reshape(-1, 8)[:, : (width + 7) // 8]
            bits = np.unpackbits(eights, axis=1, bitorder="little", count=width)
            self._parts.append(np.packbits(bits.reshape(-1), bitorder="little").tobytes())

    def reals(self, values: npt.ArrayLike) -> None:
        numbers = np.ascontiguousarray(values, dtype="<f8")
        self.number(numbers.size)
        self._parts.append(numbers.tobytes())

    def array(self, values: npt.NDArray[Any]) -> None:
        """A NumPy array as it stands, for large state where packing would cost more time than it saves space."""
        dtype = values.dtype.newbyteorder("<")
        name = dtype.str.encode()
        self._parts.append(struct.pack("<BB", len(name), values.ndim) + name)
        self.number(*values.shape)
        self._parts.append(np.ascontiguousarray(values, dtype=dtype).tobytes())

    def raw(self, value: bytes) -> None:
        self.number(len(value))
        self._parts.append(value)

    def seal(self, kind: bytes, version: int) -> bytes:
        """Head and body."""
        body = b"".join(self._parts)
        return _HEAD.pack(MAGIC, kind, version, len(body), zlib.crc32(body)) + body


class StateReader:
    """Reads back what a `StateWriter` wrote, in the same order."""

    def __init__(self, body: memoryview) -> None:
        self._body = body
        self._at = 0

    def _take(self, size: int) -> memoryview:
        if size < 0 or self._at + size > len(self._body):
            raise damaged("They end too early.")
        self._at += size
        return self._body[self._at - size : self._at]

    def number(self) -> int:
        return int(struct.unpack("<q", self._take(8))[0])

    def real(self) -> float:
        return float(struct.unpack("<d", self._take(8))[0])

    def numbers(self) -> Ints:
        count, least, width = _PACKED.unpack(self._take(_PACKED.size))
        if not width:
            return np.full(count, least, dtype=np.int64)
        packed = np.frombuffer(self._take((count * width + 7) // 8), dtype=np.uint8)
        bits = np.unpackbits(packed, bitorder="little", count=count * width).reshape(count, width)
        eights = np.zeros((count, 8), dtype=np.uint8)
        few = np.packbits(bits, axis=1, bitorder="little")
        eights[:, : few.shape[1]] = few
        over = eights.reshape(-1).view("<u8").astype(np.uint64)
        numbers: Ints = (over + np.array(least, dtype=np.int64).view(np.uint64)).view(np.int64)
        return numbers

    def reals(self) -> Floats:
        count = self.number()
        return np.frombuffer(self._take(count * 8), dtype="<f8").astype(np.float64)

    def array(self) -> npt.NDArray[Any]:
        name_length, dimensions = struct.unpack("<BB", self._take(2))
        dtype = np.dtype(bytes(self._take(name_length)).decode())
        shape = tuple(self.number() for _ in range(dimensions))
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return np.frombuffer(self._take(size), dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))

    def raw(self) -> bytes:
        return bytes(self._take(self.number()))

    @property
    def left(self) -> bool:
        """Whether there is more: what later versions have at the end, earlier ones had not."""
        return self._at < len(self._body)

    def end(self) -> None:
        if self._at != len(self._body):
            raise damaged("There is more than belongs to it.")


def unseal(data: bytes | memoryview, kind: bytes, version: int) -> StateReader:
    """The body of `data`, once its head says that it is a whole synopsis of this kind and of a version known here."""
    view = memoryview(data)
    if len(view) < _HEAD.size:
        raise damaged("They are shorter than the head of one.")
    magic, found, found_version, length, check = _HEAD.unpack(view[: _HEAD.size])
    body = view[_HEAD.size :]
    if magic != MAGIC:
        raise damaged("They do not begin with the mark of one.")
    if found != kind:
        raise SynopsisError(f"these bytes hold a synopsis of kind {found!r}, not {kind!r}")
    if found_version > version:
        raise SynopsisError(
            f"these bytes were written by a newer millpond: version {found_version} of {kind!r}",
            hint=f"This one reads up to version {version}.",
        )
    if length != len(body) or zlib.crc32(body) != check:
        raise damaged("Their length or check sum is wrong.")
    return StateReader(body)
