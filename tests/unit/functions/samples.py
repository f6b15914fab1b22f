"""Functions that a pond can find by their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import millpond

not_a_function = 7


def add(x: int, y: int) -> int:
    return x + y


def invert(x: int) -> int:
    return 100 // x


def or_zero(x: int | None) -> int:
    return 0 if x is None else x


@millpond.vectorized
def twice(x: pa.Array) -> pa.Array:
    return pc.multiply(x, 2)


@millpond.vectorized
def too_short(x: pa.Array) -> pa.Array:
    return x.slice(1)


def path(values: list[Any]) -> str:
    return " ".join(map(str, values))


def pairs(a: list[Any], b: list[Any]) -> str:
    return " ".join(f"{x}-{y}" for x, y in zip(a, b, strict=True))


@millpond.vectorized
def span(x: pa.Array) -> int:
    return int(pc.max(x).as_py()) - int(pc.min(x).as_py())


def count_to(n: int) -> Iterator[tuple[int, str]]:
    for i in range(1, n + 1):
        if i == 13:
            raise ValueError("unlucky")
        yield i, "x" * i


def newer(pond: millpond.Reader, t: int) -> pa.Table:
    return pond.sql(f"SELECT v, t FROM s WHERE t > {t:d} ORDER BY t").arrow()


def meddle(pond: millpond.Reader) -> pa.Table:
    return pond.sql("DELETE FROM s").arrow()


def circle(pond: millpond.Reader) -> pa.Table:
    return pond.sql("SELECT * FROM newer(0)").arrow()


class Scale:
    """A callable with a place: a method of a class."""

    @staticmethod
    def by_ten(x: int) -> int:
        return x * 10
