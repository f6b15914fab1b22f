"""Draws: a number for each row that decides in which samples it is. Pure arithmetic, alike in NumPy, DuckDB and Spark.

Idea. A sample of a fraction f of a table is the rows whose draw is less than f of all draws. A draw is a polynomial of the row's
number, of degree 4 over the integers modulo a prime, whose coefficients come from the table's seed. So it is a property of the
row, as if it had been thrown once: writing rows again, on another machine or after a crash, sorts them alike, and nothing is
stored. Five draws are independent of each other (a random polynomial of degree 4 takes any five values at five places), which is
more than variances and their errors ask for; row numbers more than 2,147,483,646 apart may share one.

All steps stay below 2 ** 62, so that no engine has to know of overflow.
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
_CHUNK = 1 << 15  # numbers at a time: they stay in the processor's cache


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

    def of_rows(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The draws of rows by their numbers."""
        found = np.empty(len(numbers), dtype=np.int64)
        for start in range(0, len(numbers), _CHUNK):
            part = numbers[start : start + _CHUNK] % DRAWS
            draw = np.full(len(part), self.coefficients[0], dtype=np.int64)
            for coefficient in self.coefficients[1:]:
                draw *= part
                draw += coefficient
                draw %= DRAWS
            found[start : start + _CHUNK] = draw
        return found

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


def limit(fraction: float) -> int:
    """Rows with a draw below this are a sample of that fraction."""
    return round(fraction * DRAWS)
