"""Many counters over one window: bins with fixed boundaries, and a hash table."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from millpond.synopses.base import SynopsisError, Timeline, check_eps, in_a_row, whole
from millpond.synopses.grouped import Estimates, GroupedExponentialHistogram
from millpond.synopses.hashing import hashed
from millpond.synopses.layout import Floats, Ints, StateReader, StateWriter, unseal


class _Counters:
    """An exponential histogram in each of `size` counters; every count has a relative error of at most eps."""

    KIND: ClassVar[bytes]
    VERSION: ClassVar[int] = 1

    def __init__(self, size: int, eps: float, window: int, rows: bool) -> None:
        self.timeline = Timeline(window, rows)
        self.counters = GroupedExponentialHistogram(check_eps(eps), self.timeline.window)
        self.counters.reserve(size)

    @abstractmethod
    def _slots(self, values: Any) -> Ints:
        """Which counter each value belongs to."""

    @abstractmethod
    def parameters(self) -> tuple[Any, ...]:
        """What must be equal for two of them to merge."""

    @property
    def error(self) -> float:
        """The relative error guaranteed for every counter."""
        return self.counters.error

    def add_many(self, times: npt.ArrayLike | None, values: Any) -> None:
        """Values in the order of their times (None over rows). All are taken, or none when the call raises."""
        slots = self._slots(values)
        stamps = self.timeline.many(times, len(slots))
        if len(slots):
            self.counters.add_many(slots, stamps)
            self.timeline.now = int(stamps[-1])

    def counts(self, window: int | None = None, now: int | None = None) -> Estimates:
        """Of all counters."""
        length = self.timeline.window if window is None else window
        end = self.timeline.begin(window, now) + length
        return self.counters.estimate(None, length, max(end, self.counters.timeline.now))

    def merge(self, other: Self) -> Self:
        """Both streams together; the error grows as that of `ExponentialHistogram`."""
        if type(self) is not type(other) or self.parameters() != other.parameters():
            raise SynopsisError(f"{self!r} and {other!r} do not merge", detail="They must have the same parameters.")
        if self.timeline.rows:
            raise SynopsisError("counters over rows do not merge", hint="Use a window of time.")
        both = self.from_bytes(self.to_bytes())
        both.counters = self.counters.merge(other.counters)
        both.timeline.now = max(self.timeline.now, other.timeline.now)
        return both

    @property
    def nbytes(self) -> int:
        return self.counters.nbytes

    @abstractmethod
    def _write(self, writer: StateWriter) -> None: ...

    @classmethod
    @abstractmethod
    def _read(cls, reader: StateReader) -> Self: ...

    def to_bytes(self) -> bytes:
        writer = StateWriter()
        self._write(writer)
        writer.number(self.timeline.now)
        writer.raw(self.counters.to_bytes())
        return writer.seal(self.KIND, self.VERSION)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        reader = unseal(data, cls.KIND, cls.VERSION)
        made = cls._read(reader)
        made.timeline.now = reader.number()
        made.counters = GroupedExponentialHistogram.from_bytes(reader.raw())
        reader.end()
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.parameters()}"


class SlidingHistogram(_Counters):
    """How many values fell between fixed boundaries, in any window up to `window`.

    Bin 0 is below the first boundary, bin i holds boundary i - 1 <= value < boundary i, the last what is at or above the last
    boundary. Each count has a relative error of at most eps.
    """

    KIND = b"SHIS"

    def __init__(self, boundaries: npt.ArrayLike, eps: float, window: int, rows: bool = False) -> None:
        self.boundaries: Floats = np.array(boundaries, dtype=np.float64)
        if self.boundaries.ndim != 1 or not len(self.boundaries) or not (np.diff(self.boundaries) > 0).all():
            raise SynopsisError("boundaries must be numbers that increase")
        super().__init__(len(self.boundaries) + 1, eps, window, rows)

    def parameters(self) -> tuple[Any, ...]:
        return (tuple(self.boundaries.tolist()), self.counters.eps, self.timeline.window, self.timeline.rows)

    def _slots(self, values: Any) -> Ints:
        given = in_a_row("values", values)
        if given.size and given.dtype.kind not in "iufb":
            raise SynopsisError(f"a histogram is of numbers, not of {given.dtype}")
        numbers = given.astype(np.float64)
        if np.isnan(numbers).any():
            raise SynopsisError("a value is not a number")
        return np.searchsorted(self.boundaries, numbers, side="right")

    def _write(self, writer: StateWriter) -> None:
        writer.reals(self.boundaries)
        writer.real(self.counters.eps)
        writer.number(self.timeline.window, self.timeline.rows)

    @classmethod
    def _read(cls, reader: StateReader) -> Self:
        return cls(reader.reals(), reader.real(), reader.number(), bool(reader.number()))


class SlidingHashTable(_Counters):
    """How many values fell into each of `size` buckets of a hash table, in any window up to `window`.

    Each bucket's count has a relative error of at most eps. A value's own count is at most its bucket's: others may share it.
    """

    KIND = b"SHTA"

    def __init__(self, size: int, eps: float, window: int, rows: bool = False, seed: int = 0) -> None:
        self.size = whole("size", size, 1, (1 << 31) - 1)
        self.seed = whole("seed", seed)
        super().__init__(self.size, eps, window, rows)

    def parameters(self) -> tuple[Any, ...]:
        return (self.size, self.counters.eps, self.timeline.window, self.timeline.rows, self.seed)

    def _slots(self, values: Any) -> Ints:
        return (hashed(values, self.seed) % np.uint64(self.size)).astype(np.int64)

    def bucket_of(self, values: Any) -> Ints:
        """The bucket of each value, an index into `counts`."""
        return self._slots(values)

    def _write(self, writer: StateWriter) -> None:
        writer.number(self.size)
        writer.real(self.counters.eps)
        writer.number(self.timeline.window, self.timeline.rows, self.seed)

    @classmethod
    def _read(cls, reader: StateReader) -> Self:
        return cls(reader.number(), reader.real(), reader.number(), bool(reader.number()), reader.number())
