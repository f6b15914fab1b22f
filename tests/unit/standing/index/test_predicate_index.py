"""The index finds exactly the pairs that the predicates, evaluated one by one, are true for."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millpond.arrow import schema_of
from millpond.predicate.form import (
    Always,
    Among,
    And,
    Compare,
    CompareColumns,
    IsNull,
    Never,
    Not,
    Or,
    Predicate,
    Prefix,
)
from millpond.predicate.vector import Columns, matches
from millpond.standing.index import Matches, PredicateIndex, axes, block, equality, hashes, keys, predicates
from millpond.standing.index.entries import Entries
from tests.unit.predicate.naive import PREDICATES, TYPES, VALUES, Rows, rows

SCHEMA = schema_of(pa.schema(list(TYPES.items())))
MAX, MIN = (1 << 63) - 1, -(1 << 63)


def expected(entries: dict[int, Predicate], columns: Columns) -> list[tuple[int, int]]:
    return [(e, int(p)) for e in sorted(entries) for p in np.flatnonzero(matches(entries[e], columns))]


def pairs(found: Matches) -> list[tuple[int, int]]:
    entries, places = found.pairs()
    assert entries.dtype == places.dtype == np.int32
    return list(zip(entries.tolist(), places.tolist(), strict=True))


def check(index: PredicateIndex, entries: dict[int, Predicate], sample: list[dict[str, Any]]) -> Matches:
    found = index.match(Columns(Rows(sample)))
    wanted = expected(entries, Columns(Rows(sample)))
    assert pairs(found) == wanted
    assert found.rows == len(sample)
    again = Matches.from_bytes(found.to_bytes())
    assert pairs(again) == wanted
    for entry in entries:
        assert found.of(entry).tolist() == again.of(entry).tolist() == [p for e, p in wanted if e == entry]
    return found


# Many different predicates of the forms that an index serves, beside those of any form.
FACTORS = st.one_of(
    st.builds(Compare, st.just("whole"), st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), st.integers(-3, 3)),
    st.builds(Compare, st.just("name"), st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]), VALUES["name"]),
    st.builds(
        Compare, st.just("big"), st.sampled_from(["<", ">=", "="]), st.sampled_from([MIN, MIN + 1, -1, 0, MAX - 1, MAX])
    ),
    st.builds(Compare, st.just("day"), st.sampled_from(["<", ">=", "="]), VALUES["day"]),
    st.builds(Among, st.just("tiny"), st.frozensets(st.integers(-3, 3), min_size=1, max_size=4)),
    st.builds(Among, st.just("name"), st.frozensets(VALUES["name"], min_size=1, max_size=4)),
    st.builds(CompareColumns, st.just("big"), st.sampled_from(["<", ">=", "="]), st.just("other"), st.integers(-2, 2)),
    st.builds(Prefix, st.just("name"), VALUES["name"]),
    st.builds(lambda c: Not(IsNull(c)), st.sampled_from(sorted(VALUES))),
)
CONJUNCTIONS = st.lists(FACTORS, min_size=2, max_size=4).map(lambda parts: And(tuple(parts)))


@given(st.lists(PREDICATES | FACTORS | CONJUNCTIONS, min_size=1, max_size=20), rows())
@settings(max_examples=150, deadline=None)
def test_finds_what_the_predicates_find_one_by_one(given_: list[Predicate], sample: list[dict[str, Any]]) -> None:
    entries = dict(enumerate(given_))
    index = PredicateIndex(SCHEMA)
    index.add(entries.items())
    check(index, entries, sample)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_entries_come_and_go(data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:  # small blocks and few to a hot key, so that all paths meet
        patch.setattr(block, "BLOCK", 3)
        patch.setattr(predicates, "BLOCK", 3)
        patch.setattr(equality, "HOT", 2)
        patch.setattr(equality, "_PAIRS", 3)
        patch.setattr(predicates, "_WAITING", data.draw(st.sampled_from([1, 4, 100])))
        patch.setattr(keys, "_NEAR", data.draw(st.sampled_from([0, 1 << 16])))
        index = PredicateIndex(SCHEMA)
        there: dict[int, Predicate] = {}
        last = 0
        for _ in range(data.draw(st.integers(1, 6))):
            new = data.draw(st.lists(PREDICATES | FACTORS | CONJUNCTIONS, max_size=8))
            index.add((last + i, p) for i, p in enumerate(new))
            there |= {last + i: p for i, p in enumerate(new)}
            last += len(new) + data.draw(st.integers(0, 2))
            gone = data.draw(st.lists(st.sampled_from(sorted(there)), unique=True)) if there else []
            index.remove(gone)
            for entry in gone:
                del there[entry]
            assert len(index) == len(there)
            assert all((e in index) == (e in there) for e in range(last))
            if data.draw(st.booleans()):
                check(index, there, data.draw(rows()))
        check(index, there, data.draw(rows()))
        index.remove(there)
        check(index, {}, data.draw(rows()))
        assert index.bytes() == 0


def row(**values: Any) -> dict[str, Any]:
    return dict.fromkeys(VALUES) | values


def index_of(*given_: Predicate) -> tuple[PredicateIndex, dict[int, Predicate]]:
    index, entries = PredicateIndex(SCHEMA), dict(enumerate(given_))
    index.add(entries.items())
    return index, entries


def test_always_and_never() -> None:
    index, entries = index_of(
        Always(), Never(), And((Compare("whole", ">", 3), Compare("whole", "<", 3))), Not(Never())
    )
    found = check(index, entries, [row(), row(whole=3)])
    assert found.of(0).tolist() == found.of(3).tolist() == [0, 1]
    assert len(found.of(1)) == len(found.of(2)) == len(found.of(77)) == 0


def test_nothing_to_match() -> None:
    assert pairs(PredicateIndex(SCHEMA).match(Columns(Rows([row()])))) == []
    index, entries = index_of(
        Always(), Compare("name", "=", "a"), Compare("name", "<", "a"), Or((IsNull("name"), IsNull("day")))
    )
    assert check(index, entries, []).rows == 0
    check(index, entries, [row(), row()])


def test_the_ends_of_a_difference() -> None:
    """Of two columns that are further apart than 64 bits can say."""
    sample = [row(big=b, other=o) for b in (MIN, -1, 0, MAX) for o in (MIN, -1, 0, MAX)]
    factors = [
        CompareColumns("big", sign, "other", offset)
        for sign in ("<", "<=", "=", "<>", ">=", ">")
        for offset in (MIN, MIN + 1, -1, 0, 1, MAX - 1, MAX)
    ]
    index, entries = index_of(*factors)
    check(index, entries, sample)


def test_a_factor_of_two_columns_is_an_interval() -> None:
    """It is found by bitmaps, like any other."""
    index, entries = index_of(*(CompareColumns("big", "<", "other", offset) for offset in range(100)))
    check(index, entries, [row(big=50, other=0), row(big=3, other=1), row(big=None, other=1)])
    assert not any(b.entries.rest for b in index._blocks)


@pytest.mark.parametrize("negated", [False, True])
def test_huge_lists(negated: bool) -> None:
    numbers = Among("big", frozenset(range(0, 80_000, 4)))
    texts = Among("name", frozenset(map(str, range(0, 40_000, 2))))
    wanted: list[Predicate] = [Not(numbers), Not(texts)] if negated else [numbers, texts]
    index, entries = index_of(*wanted, And(tuple(wanted)), *(Compare("big", "<", n) for n in range(100)))
    check(index, entries, [row(big=n, name=str(n)) for n in (0, 1, 2, 4, 79_996, 80_000)] + [row(big=8), row(name="8")])
    assert index.bytes() < 10_000_000


def test_the_most_selective_column_is_chosen_whatever_the_order_of_factors() -> None:
    for turned in (1, -1):
        index = PredicateIndex(SCHEMA)
        made = [And((Compare("tiny", "=", 1), Compare("whole", "=", n))[::turned]) for n in range(2000)]
        index.add(enumerate(made[:1000]))
        for n in range(1000, 2000):
            index.add([(n, made[n])])
        check(index, dict(enumerate(made)), [row(tiny=1, whole=7), row(tiny=1, whole=1007), row(tiny=2, whole=7)])
        assert list(index._tables) == [("whole", "")]


def test_a_value_that_very_many_entries_name() -> None:
    given_ = [And((Compare("name", "=", "ab"), Compare("whole", "<", n))) for n in range(1000)]
    given_ += [
        And((Among("name", frozenset(["ab", "b"])), Or((Compare("whole", ">", n), IsNull("day"))))) for n in range(10)
    ]
    index, entries = index_of(*given_)
    sample = [row(name="ab", whole=n, day=date.min) for n in (-5, 3, 500, 2000)] + [
        row(name="b"),
        row(),
        row(name="a", whole=1),
    ]
    check(index, entries, sample)
    index.remove(range(0, 1000, 5))
    check(index, {e: p for e, p in entries.items() if e >= 1000 or e % 5}, sample)


def test_many_matches_are_bits_and_few_are_pairs() -> None:
    index, entries = index_of(*(Compare("whole", ">=", n) for n in range(256)))
    sample = [row(whole=300)] * 50
    dense = check(index, entries, sample)
    assert len(dense.places) == 0
    assert [b.bits.shape for b in dense.dense] == [(50, 32)]
    assert dense.dense[0].places.tolist() == list(range(50))
    assert dense.nbytes < 3000 < 256 * 50 * 8
    sparse = check(index, entries, [row(whole=0)] * 50)
    assert not sparse.dense
    assert len(sparse.places) == 50


def test_both_kinds_in_one_block() -> None:
    """A block is worked on in pieces, each of which is bits or pairs."""
    index, entries = index_of(*(Compare("whole", ">=", n) for n in range(4096)))
    rows_ = pa.table({"whole": pa.array([5000] * 1000 + [3] * 1000 + [5000] * 1000, pa.int32())})

    class Batch:
        size = 3000

        def column(self, name: str) -> pa.ChunkedArray:
            return rows_.column(name)

    found = index.match(Columns(Batch()))
    assert found.dense
    assert len(found.places)
    again = Matches.from_bytes(found.to_bytes())
    for entry in (0, 3, 4, 4095):
        wanted = np.flatnonzero(matches(entries[entry], Columns(Batch())))
        assert found.of(entry).tolist() == again.of(entry).tolist() == wanted.tolist()


def test_the_byte_form_of_many_rows() -> None:
    """A place beyond 65,535 takes four bytes."""
    entries, places = np.array([1, 1, 7], np.int32), np.array([0, 70_000, 65_536], np.int32)
    large = Matches(70_001, entries, places)
    assert pairs(Matches.from_bytes(large.to_bytes())) == [(1, 0), (1, 70_000), (7, 65_536)]
    small = Matches(65_536, entries[:1], np.array([65_535], np.int32))
    assert pairs(Matches.from_bytes(small.to_bytes())) == [(1, 65_535)]
    with pytest.raises(AssertionError, match="bytes that are no matches"):
        Matches.from_bytes(b"x" * 100)


def test_memory_is_given_back() -> None:
    def some(first: int) -> list[tuple[int, Predicate]]:
        named = [And((Compare("name", "=", f"s{n}"), Compare("whole", "<", n))) for n in range(3000)]
        spans = [And((Compare("whole", ">", n), Compare("big", "<=", 3 * n))) for n in range(3000)]
        return [(first + i, p) for i, p in enumerate([*named, *spans])]

    index = PredicateIndex(SCHEMA)
    index.add(some(0))
    full = index.bytes()
    for turn in range(1, 4):  # and it does not grow with what has been
        index.add(some(turn * 6000))
        index.remove(range((turn - 1) * 6000, turn * 6000))
        assert index.bytes() < 1.5 * full
    index.remove([18_000 + n for n in range(6000) if n % 10])
    assert index.bytes() < 0.2 * full
    index.remove([18_000 + n for n in range(0, 6000, 10)])
    assert index.bytes() == 0


def test_adding_one_by_one_moves_an_entry_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = 0

    def counted(entries: Entries) -> list[block.Block]:
        nonlocal moved
        moved += len(entries)
        return block.blocks_of(entries)

    monkeypatch.setattr(predicates, "blocks_of", counted)
    index = PredicateIndex(SCHEMA)
    for n in range(1000):
        index.add([(n, Compare("whole", "<", n))])
        index.bytes()
    assert moved < 20 * 1000
    assert len(index._blocks) <= 8


def test_texts_that_share_a_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys get another hash, and rows are compared with the key."""
    monkeypatch.setattr(
        keys, "hashed", lambda texts, seed: hashes.hashed(texts, seed) >> np.uint64(60 - 8 * min(seed, 7))
    )
    monkeypatch.setattr(axes, "hashed", keys.hashed)
    index, entries = index_of(*(Compare("name", "=", f"text {n}") for n in range(100)))
    check(index, entries, [row(name=f"text {n}") for n in range(0, 300, 7)])


def test_texts_longer_than_a_word() -> None:
    texts = [
        "",
        "\0",
        "\0\0",
        "12345678",
        "12345678\0",
        "123456789",
        "é" * 40,
        "é" * 39 + "e",
        "x" * 1000,
        "x" * 999 + "y",
    ]
    index, entries = index_of(*(Compare("name", "=", t) for t in texts[::2]), *(Compare("name", ">", t) for t in texts))
    check(index, entries, [row(name=t) for t in texts] + [row()])


def test_entries_are_numbered_in_order() -> None:
    index, _ = index_of(Always(), Always())
    with pytest.raises(AssertionError, match="numbered in the order"):
        index.add([(1, Always())])
    index.remove([1])
    with pytest.raises(AssertionError, match="entries that are there"):
        index.remove([1])
    with pytest.raises(AssertionError, match="numbered in the order"):
        index.add([(1, Always())])


def test_many_entries_at_once_are_one_table() -> None:
    """Not one more for those that were left over when the others were taken apart."""
    index = PredicateIndex(SCHEMA)
    index.add((n, Compare("big", "=", n)) for n in range(2 * predicates._SLAB + 7))
    index.match(Columns(Rows([row(big=3)])))
    assert [len(tables) for tables in index._tables.values()] == [1]
