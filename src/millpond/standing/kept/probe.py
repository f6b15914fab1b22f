"""Which rows of two sides fulfil `left operator right + offset`: many rows against many at once.

Idea. The values of both sides become 64-bit integers of the same order, so that a comparison is one of integers whatever the
type. The smaller side is sorted once for all rows of the other (a composite probe); then the partners of a row are a range of
it, found by binary search: for an equality the run of equal values, for an inequality all before or behind. Pairs come in
pieces of bounded size, so that a join that is larger than memory can be stopped or stored piece by piece.

NULL has no partner. NaN equals itself and is greater than every number, as in Spark; text is compared by code points. A sum that
exceeds 64 bits is greater (or less) than every value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millpond.arrow import integers
from millpond.predicate.form import MIRRORED, Operator
from millpond.standing.kept.parts import Values, values_of

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Pairs = tuple[Ints, Ints]

AT_ONCE = 1 << 18  # pairs in a piece
_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
_SIGN = np.int64(_LEAST)
_NAN = np.int64(np.array([np.nan]).view(np.int64)[0] & np.int64(_GREATEST))
_COMPARE = {
    "=": np.equal, "<>": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


@dataclass(frozen=True)
class Ranked:
    """Values as integers of their order. `beyond` is 1 (-1) where a value is greater (less) than all of 64 bits; or None."""

    numbers: Ints
    valid: Bools | None = None
    beyond: npt.NDArray[np.int8] | None = None

    def at(self, places: Ints) -> Ranked:
        return Ranked(
            self.numbers[places],
            None if self.valid is None else self.valid[places],
            None if self.beyond is None else self.beyond[places],
        )


def can_compare(left: pa.DataType, right: pa.DataType, offset: int | float = 0) -> bool:
    """Whether `ranked` takes columns of these types."""
    numbers = [pa.types.is_signed_integer(t) or t in (pa.float32(), pa.float64()) for t in (left, right)]
    if (
        left == right
        and not offset
        and (pa.types.is_string(left) or (pa.types.is_decimal128(left) and left.precision <= 18))
    ):
        return True
    dated = left == right and (left == pa.date32() or (pa.types.is_timestamp(left) and left.unit == "us"))
    return dated or all(numbers)


def ranked(left: pa.ChunkedArray, right: pa.ChunkedArray, offset: int | float = 0) -> tuple[Ranked, Ranked]:
    """Two columns as integers that compare as the values of the left one do with those of the right one plus `offset`."""
    assert can_compare(left.type, right.type, offset), f"{left.type} and {right.type}"
    if pa.types.is_string(left.type):
        return _ranked_texts(left, right)
    one, other = values_of(left), values_of(right)
    if pa.types.is_floating(left.type) or pa.types.is_floating(right.type):
        doubles = one.numbers.astype(np.float64), other.numbers.astype(np.float64) + offset
        return Ranked(_in_order(doubles[0]), one.valid), Ranked(_in_order(doubles[1]), other.valid)
    return Ranked(one.numbers, one.valid), _shifted(other, int(offset))


def holds(left: Ranked, right: Ranked, operator: Operator) -> Bools:
    """Whether `left operator right`, row by row."""
    assert left.beyond is None
    true: Bools = _COMPARE[operator](left.numbers, right.numbers)
    if right.beyond is not None:
        true = np.where(right.beyond > 0, operator in ("<", "<=", "<>"), true)
        true = np.where(right.beyond < 0, operator in (">", ">=", "<>"), true)
    for valid in (left.valid, right.valid):
        if valid is not None:
            true = true & valid
    return true


def probe(left: Ranked, right: Ranked, operator: Operator, at_once: int = AT_ONCE) -> Iterator[Pairs]:
    """All pairs of places of which `left operator right` holds, in pieces of at most `at_once`."""
    lefts, rights = _present(left), _present(right)
    if right.beyond is not None:
        beyond = right.beyond[rights]
        matching = 1 if operator in ("<", "<=") else -1 if operator in (">", ">=") else 0
        always = beyond == matching if matching else (beyond != 0) & (operator == "<>")
        yield from cross(lefts, rights[always], at_once)
        rights = rights[beyond == 0]
    mine, theirs = left.numbers[lefts], right.numbers[rights]
    if len(lefts) < len(rights):
        for j, i in _ranges(theirs, mine, operator, at_once):
            yield lefts[i], rights[j]
    else:
        for i, j in _ranges(mine, theirs, MIRRORED[operator], at_once):
            yield lefts[i], rights[j]


def cross(lefts: Ints, rights: Ints, at_once: int = AT_ONCE) -> Iterator[Pairs]:
    """All pairs."""
    begins = np.zeros(len(lefts), dtype=np.int64)
    for i, j in _spread(begins, begins + len(rights), at_once):
        yield lefts[i], rights[j]


def _ranges(asking: Ints, asked: Ints, operator: Operator, at_once: int) -> Iterator[Pairs]:
    """Pairs (i, j) with `asked[j] operator asking[i]`."""
    order = np.argsort(asked, kind="stable")
    rising = asked[order]
    begin, end = np.zeros(len(asking), dtype=np.int64), np.full(len(asking), len(asked), dtype=np.int64)
    first = rising.searchsorted(asking) if operator in ("=", "<>", "<", ">=") else begin
    behind = rising.searchsorted(asking, side="right") if operator in ("=", "<>", "<=", ">") else end
    spans = {
        "=": [(first, behind)], "<>": [(begin, first), (behind, end)], "<": [(begin, first)], "<=": [(begin, behind)],
        ">": [(behind, end)], ">=": [(first, end)],
    }  # fmt: skip
    for low, high in spans[operator]:
        for i, j in _spread(low, high, at_once):
            yield i, order[j]


def _spread(low: Ints, high: Ints, at_once: int) -> Iterator[Pairs]:
    """Pairs (i, j) with `low[i]` <= j < `high[i]`, by i."""
    ends: Ints = np.cumsum(high - low)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, at_once):
        end = min(begin + at_once, total)
        first, last = int(ends.searchsorted(begin, side="right")), int(ends.searchsorted(end - 1, side="right"))
        rows = np.arange(first, last + 1)
        stops = np.minimum(ends[rows], end)
        counts = np.diff(stops, prepend=begin)
        i = np.repeat(rows, counts)
        j: Ints = np.arange(begin, end) - (ends[i] - high[i])
        yield i, j


def _present(side: Ranked) -> Ints:
    return np.arange(len(side.numbers)) if side.valid is None else np.flatnonzero(side.valid)


def _shifted(values: Values, offset: int) -> Ranked:
    numbers = values.numbers
    if not offset:
        return Ranked(numbers, values.valid)
    over, under = numbers > _GREATEST - max(offset, 0), numbers < _LEAST - min(offset, 0)
    beyond = over.astype(np.int8) - under.astype(np.int8)
    with np.errstate(over="ignore"):
        found = Ranked(numbers + np.int64(offset), values.valid, beyond)
    return found if beyond.any() else replace(found, beyond=None)


def _in_order(doubles: npt.NDArray[np.float64]) -> Ints:
    plain = np.where(doubles == 0, 0.0, doubles)
    bits = plain.view(np.int64)
    found = np.where(bits < 0, np.bitwise_xor(np.bitwise_not(bits), _SIGN), bits)
    return np.where(np.isnan(plain), _NAN, found)


def _ranked_texts(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[Ranked, Ranked]:
    both = pa.chunked_array([*left.chunks, *right.chunks], left.type)
    coded = (pa.concat_arrays(both.chunks) if both.num_chunks else pa.array([], left.type)).dictionary_encode()
    ranks = np.empty(len(coded.dictionary) + 1, dtype=np.int64)
    ranks[integers(pc.sort_indices(coded.dictionary))] = np.arange(len(coded.dictionary))
    numbers = ranks[integers(coded.indices.fill_null(len(coded.dictionary)))]
    valid = coded.is_valid().to_numpy(zero_copy_only=False) if coded.null_count else None
    cut = len(left)
    return (
        Ranked(numbers[:cut], None if valid is None else valid[:cut]),
        Ranked(numbers[cut:], None if valid is None else valid[cut:]),
    )
