"""Draws: a number for each row that decides in which samples it is. Pure arithmetic, alike in NumPy, DuckDB and Spark.

Idea. A sample of a fraction f of a table is the rows whose draw is less than f of all draws. A draw is a polynomial of the row's
number, of degree 4 over the integers modulo a prime, whose coefficients come from the table's seed. So it is a property of the
row, as if it had been thrown once: writing rows again, on another machine or after a crash, sorts them alike, and nothing is
stored. Five draws are independent of each other (a random polynomial of degree 4 takes any five values at five places), which is
more than variances and their errors ask for; row numbers more than 2,147,483,646 apart may share one.

All steps stay below 2 ** 62, so that no engine has to know of overflow.

Rows are written by the million, and their numbers mostly follow each other. A polynomial of degree 4 at places with equal
distances follows from five of its values by additions (Newton's forward differences): four of 32 bits a row, in place of
multiplications and divisions of 64 bits.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

DRAWS: Final = (1 << 31) - 1
"""How many draws there are, from 0 on: a prime."""

_DEGREE = 4
_CHUNK = 1 << 14  # numbers at a time: what is computed from them stays in the processor's cache
_PIECE = 1 << 20
_SPARSE = 4  # where there are more numbers than this between those that are wanted, the others are not worth drawing
_PRIME = np.uint64(DRAWS)
_BITS = np.uint64(31)
_PRIME_32 = np.uint32(DRAWS)


@dataclass(frozen=True)
class Draws:
    """The draws of a table. `coefficients` begin with that of the highest power."""

    coefficients: tuple[int, ...]

    @classmethod
    def of_seed(cls, seed: int) -> Draws:
        random = np.random.default_rng(seed)
        return cls(tuple(random.integers(1, DRAWS, _DEGREE + 1).tolist()))

    @classmethod
    def of_table(cls, folder: str) -> Draws:
        """Those of the table in a folder, whose name is never used twice in a pond."""
        return cls.of_seed(zlib.crc32(folder.encode()))

    def of_rows(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        """The draws of rows by their numbers. They have 32 bits: make them wider before they are multiplied."""
        found = np.empty(len(numbers), dtype=np.uint32)
        for start in range(0, len(numbers), _PIECE):
            part = numbers[start : start + _PIECE]
            first = int(part.min())
            between = int(part.max()) - first + 1
            if len(part) > (_DEGREE + 1) * _CHUNK and between <= _SPARSE * len(part):
                np.take(self._following(first, between), part - first, out=found[start : start + _PIECE], mode="clip")
            else:
                self._each(part, found[start : start + _PIECE])
        return found

    def _each(self, numbers: npt.NDArray[np.int64], found: npt.NDArray[np.uint32]) -> None:
        """The draws of any numbers. Modulo 2 ** 31 - 1, what is beyond 31 bits can be added to what is within (Mersenne)."""
        first, *others = (np.uint64(coefficient) for coefficient in self.coefficients)
        for start in range(0, len(numbers), _CHUNK):
            part = (numbers[start : start + _CHUNK] % DRAWS).astype(np.uint64)
            draw = np.full(len(part), first)
            for coefficient in others:
                draw *= part  # below 2 ** 63: draws are below 2 ** 32 here
                draw += coefficient
                draw = (draw & _PRIME) + (draw >> _BITS)
            draw = (draw & _PRIME) + (draw >> _BITS)
            found[start : start + _CHUNK] = draw % _PRIME

    def _following(self, first: int, count: int) -> npt.NDArray[np.uint32]:
        """The draws of as many numbers from the first on. They are laid out in rows of `_CHUNK`, and each row follows from
        the one before and its differences to earlier ones."""
        rows = max(-(-count // _CHUNK), _DEGREE + 1)
        found = np.empty((rows, _CHUNK), dtype=np.uint32)
        self._each(np.arange(first, first + (_DEGREE + 1) * _CHUNK), found[: _DEGREE + 1].reshape(-1))
        known = found[: _DEGREE + 1]
        differences = [known[-1]]
        while len(known) > 1:
            known = _modulo(known[1:] + (_PRIME_32 - known[:-1]))
            differences.append(known[-1].copy())
        less = np.empty(_CHUNK, dtype=np.uint32)
        for row in range(_DEGREE + 1, rows):
            for order in range(_DEGREE - 1, -1, -1):
                into = differences[order] if order else found[row]
                np.add(differences[order], differences[order + 1], out=into)
                np.minimum(into, np.subtract(into, _PRIME_32, out=less), out=into)
            differences[0] = found[row]
        return found.reshape(-1)[:count]

    def sql(self, number: str) -> str:
        """The draw as an expression of both engines; `number` is the row's number as one, a BIGINT.

        >>> Draws((3, 5, 7)).sql("n")
        '((3 * (n % 2147483647) + 5) % 2147483647 * (n % 2147483647) + 7) % 2147483647'
        """
        part = f"({number} % {DRAWS})"
        text = str(self.coefficients[0])
        for place, coefficient in enumerate(self.coefficients[1:], 1):
            text = f"({text} * {part} + {coefficient}) % {DRAWS}"
            if place == len(self.coefficients) - 1:
                break
        return text


def _modulo(sums: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Sums of two draws as draws. What is less than the prime becomes greater when the prime is subtracted, without a sign."""
    found: npt.NDArray[np.uint32] = np.minimum(sums, sums - _PRIME_32)
    return found


def limit(fraction: float) -> int:
    """Rows with a draw below this are a sample of that fraction."""
    return round(fraction * DRAWS)
