"""What every synopsis is: a summary of a stream in little memory that can be added to, merged, asked, and written as bytes.

Times are whole numbers in a unit of the caller's choice (seconds, microseconds, ...) and never go back; a window has the
same unit. The window of length w at time t holds what came in (t - w, t]. With `rows=True` the position in the stream stands
in for the time: a window of w holds the last w rows, and nobody gives times.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from millpond.errors import counted
from millpond.synopses.layout import Floats, Ints, StateReader, StateWriter, SynopsisError, unseal

__all__ = [
    "LONG_AGO",
    "TOO_LARGE",
    "Estimate",
    "Floats",
    "Ints",
    "StateReader",
    "Synopsis",
    "SynopsisError",
    "Timeline",
    "StateWriter",
    "amounts",
    "check_eps",
    "whole",
    "whole_numbers",
]

# Before every time. Also stands for "not known any more" where a first time is remembered.
LONG_AGO = -(1 << 62)
# Times and totals stay below this, so that sums and differences of two of them fit in 64 bits.
TOO_LARGE = 1 << 62


class Estimate(NamedTuple):
    """An answer and what is known about it: the true one lies in [lower, upper] (at the stated rate, where there is chance)."""

    value: float
    lower: float
    upper: float

    @classmethod
    def between(cls, lower: float, upper: float) -> Estimate:
        """The best value when nothing but these bounds is known.

        Of all values, the harmonic mean has the smallest relative error in the worst case: (upper - lower) / (upper + lower).
        """
        value = 2 * lower * upper / (lower + upper) if lower > 0 else lower
        return cls(value if lower != upper else lower, lower, upper)

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        return cls(value, value, value)

    @property
    def error(self) -> float:
        """The largest relative error that `value` can have: against the truth, wherever in the bounds it lies."""
        if self.lower == self.upper:
            return 0.0
        if self.lower <= 0:
            return float("inf")
        return max(self.value / self.lower - 1, 1 - self.value / self.upper)

    def __float__(self) -> float:
        return float(self.value)

    def __contains__(self, truth: object) -> bool:
        return isinstance(truth, int | float | np.number) and self.lower <= float(truth) <= self.upper


class Synopsis(ABC):
    """A summary of a stream. `millpond.testing.check_synopsis` holds one to what is said here.

    - `add_many(times, values)` leaves the same promises standing as `add` one by one.
    - `merge` gives a new synopsis of both streams together and changes neither; `error` of the result says what it still
      promises. Only synopses with equal `parameters()` merge.
    - `from_bytes(to_bytes())` answers every question as the original does, in any process and in later versions.
    - `estimate(window, now)` covers (now - window, now]; without `window` the declared one, without `now` the latest time.
    """

    KIND: ClassVar[bytes]
    """Four bytes that name the kind in its bytes."""
    VERSION: ClassVar[int] = 1
    """Of the layout of its body. A reader takes every version up to its own."""

    @abstractmethod
    def parameters(self) -> tuple[Any, ...]:
        """What must be equal for two of them to merge."""

    def add(self, time: int | None = None, value: Any = 1) -> None:
        """One element; `time` is None in a synopsis over rows."""
        self.add_many(None if time is None else [time], [value])

    @abstractmethod
    def add_many(self, times: npt.ArrayLike | None, values: Any = None) -> None:
        """Elements in the order of their times. All are taken, or none when the call raises."""

    @abstractmethod
    def merge(self, other: Self) -> Self:
        """Both streams together."""

    @abstractmethod
    def estimate(self, window: int | None = None, now: int | None = None) -> Estimate:
        """The statistic over a window, with bounds."""

    @property
    @abstractmethod
    def error(self) -> float:
        """The relative error that is guaranteed now; it grows by merging only, and each class says how."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of the numbers held in memory."""

    @abstractmethod
    def _write(self, writer: StateWriter) -> None:
        """Everything, parameters first."""

    @classmethod
    @abstractmethod
    def _read(cls, reader: StateReader, version: int) -> Self:
        """What `_write` wrote in this or an earlier version."""

    def to_bytes(self) -> bytes:
        """All of it; see `layout`."""
        writer = StateWriter()
        self._write(writer)
        return writer.seal(self.KIND, self.VERSION)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> Self:
        reader = unseal(data, cls.KIND, cls.VERSION)
        made = cls._read(reader, int.from_bytes(bytes(memoryview(data)[8:10]), "little"))
        reader.end()
        return made

    def _check_mergeable(self, other: Synopsis) -> None:
        if type(self) is not type(other):
            raise SynopsisError(f"a {type(self).__name__} does not merge with a {type(other).__name__}")
        mine, theirs = self.parameters(), other.parameters()
        if mine != theirs:
            raise SynopsisError(
                f"two {type(self).__name__} with different parameters do not merge",
                detail=f"One has {mine}, the other {theirs}.",
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.parameters()}"


class Timeline:
    """The times of a stream: checks that they do not go back, and tells where a window begins.

    `now` is the latest time seen, or the number of rows with `rows=True`.
    """

    __slots__ = ("now", "rows", "window")

    def __init__(self, window: int, rows: bool, now: int | None = None) -> None:
        self.window = whole("a window", window, 1)
        self.rows = bool(rows)
        self.now = now if now is not None else (0 if rows else LONG_AGO)

    def begin(self, window: int | None, now: int | None) -> int:
        """Just before the first time in the window: an element counts when its time is greater."""
        length = self.window if window is None else window
        if length > self.window or length < 1:
            raise SynopsisError(
                f"a window of {length} cannot be answered",
                detail=f"Windows of 1 to {self.window} were declared.",
            )
        if now is None:
            now = self.now
        elif self.rows:
            raise SynopsisError("a window of rows ends with the latest row", hint="Leave out now.")
        elif now < self.now:
            raise SynopsisError(f"the window at {now} is past", detail=f"The latest time seen is {self.now}.")
        return now - length

    def one(self, time: int | None) -> int:
        """The time of the next element. The caller sets `now` once nothing can fail any more."""
        if self.rows:
            if time is not None:
                raise SynopsisError("a synopsis over rows takes no times", hint="Give None.")
            return self.now + 1
        time = whole("a time", time)
        if time < self.now:
            raise _goes_back(time, self.now)
        return time

    def many(self, times: npt.ArrayLike | None, count: int | None) -> Ints:
        """The times of the next `count` elements (None: as many as there are times)."""
        if self.rows:
            if times is not None:
                raise SynopsisError("a synopsis over rows takes no times", hint="Give None.")
            if count is None:
                raise SynopsisError("a synopsis over rows needs the values")
            return np.arange(self.now + 1, self.now + 1 + count, dtype=np.int64)
        if times is None:
            raise SynopsisError("a synopsis over time needs the times", hint="Or make it with rows=True.")
        stamps = whole_numbers("times", times)
        if count is not None and len(stamps) != count:
            raise SynopsisError(f"got {counted(len(stamps), 'time')} and {counted(count, 'value')}")
        if len(stamps):
            before = np.flatnonzero(stamps[1:] < stamps[:-1])
            if len(before):
                raise _goes_back(int(stamps[before[0] + 1]), int(stamps[before[0]]))
            if int(stamps[0]) < self.now:
                raise _goes_back(int(stamps[0]), self.now)
            if int(stamps[0]) <= LONG_AGO or int(stamps[-1]) >= TOO_LARGE:
                raise SynopsisError("a time is out of range", detail="Times have at most 62 bits.")
        return stamps


def _goes_back(time: int, last: int) -> SynopsisError:
    return SynopsisError(
        f"time goes back from {last} to {time}",
        detail="Nothing of this call was taken.",
        hint="Sort what comes out of order before it gets here.",
    )


def whole(what: str, value: Any, least: int = LONG_AGO + 1, most: int = TOO_LARGE - 1) -> int:
    """`value` as an int, when it is a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise SynopsisError(f"{what} must be a whole number, not {value!r}")
    if not least <= value <= most:
        raise SynopsisError(f"{what} must be from {least} to {most}, not {value}")
    return int(value)


_WHOLE = {
    "times": 'Choose a unit in which they are whole; of datetime64, give .astype("int64").',
    "slots": "Number the groups from 0.",
    "values": "Choose a unit in which they are whole: cents, not euros.",
}


def whole_numbers(what: str, values: npt.ArrayLike) -> Ints:
    """`values` as 64-bit whole numbers, in one dimension; nothing is rounded to make them so."""
    array = in_a_row(what, values)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iub":
        raise SynopsisError(
            f"{what} must be whole numbers, not {array.dtype}",
            hint=_WHOLE.get(what),
        )
    if array.dtype == np.uint64 and int(array.max()) >= TOO_LARGE:
        raise SynopsisError(f"{what} must have at most 62 bits")
    return array.astype(np.int64, copy=False)


def amounts(values: npt.ArrayLike, most: int) -> Ints:
    """`values` as whole numbers, when all are from 0 to `most`."""
    numbers = whole_numbers("values", values)
    least, greatest = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    if least < 0 or greatest > most:
        raise SynopsisError(
            f"a value must be from 0 to {most}, not {least if least < 0 else greatest}",
            hint="Sum negative numbers apart, or give a larger max_value.",
        )
    return numbers


LEAST_EPS = 1e-9


def which_count(values: npt.ArrayLike) -> npt.NDArray[Any]:
    """`values` that say whether rows count."""
    bits = in_a_row("values", values)
    if bits.dtype != np.bool_ and bits.size and not ((bits == 0) | (bits == 1)).all():
        raise SynopsisError("a row counts, 1, or it does not, 0", hint="Sums are for SlidingSum and GroupedSlidingSum.")
    return bits


def in_a_row(what: str, values: Any) -> npt.NDArray[Any]:
    """`values` as an array of one dimension."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise SynopsisError(f"{what} must be in one dimension, not {array.ndim}")
    return array


def check_eps(eps: float) -> float:
    """A relative error: more than 0 and less than 1."""
    if isinstance(eps, bool) or not isinstance(eps, int | float) or not 0 < eps < 1:
        raise SynopsisError(f"eps must be more than 0 and less than 1, not {eps!r}")
    if eps < LEAST_EPS:
        raise SynopsisError(
            f"an eps of {eps!r} is too small", hint="Keep the rows: they take less than a synopsis would."
        )
    return float(eps)
