"""Matches against a set of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.standing.kept import bit_runs, pair_runs
from millpond.standing.kept.matches import Matches, MatchRuns


@dataclass(frozen=True)
class Block:
    places: npt.NDArray[np.int32]
    entries: npt.NDArray[np.int32]
    bits: npt.NDArray[np.uint8]


def block(entries: list[int], rows: int, true: set[tuple[int, int]]) -> Block:
    bools = np.array([[(e, r) in true for e in entries] for r in range(rows)], dtype=np.bool_).reshape(
        rows, len(entries)
    )
    some = bools.any(axis=1)  # rows that match nothing may be left out
    bools = bools[some]
    return Block(ints(np.flatnonzero(some)), ints(entries), np.packbits(bools, axis=1, bitorder="little"))


def ints(values: Any) -> npt.NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


Pairs = set[tuple[int, int]]
ENTRIES = range(12)


def check(snapshot: Matches, model: Pairs, ranges: list[tuple[int, int]]) -> None:
    assert snapshot.needed().tolist() == sorted({r for _, r in model})
    for low, below in ranges:
        assert snapshot.needed(low, below).tolist() == sorted({r for _, r in model if low <= r < below})
    for entry in ENTRIES:
        rows = sorted(r for e, r in model if e == entry)
        assert snapshot.of(entry).tolist() == rows
        for low, below in ranges:
            assert snapshot.of(entry, low, below).tolist() == [r for r in rows if low <= r < below]


@st.composite
def batch(draw: st.DrawFn) -> tuple[str, list[int], Pairs, list[list[int]]]:
    """Distances of row numbers, pairs (entry, place), and the entries of each dense block."""
    gaps = draw(st.lists(st.integers(1, 3), max_size=10))
    places = st.integers(0, max(len(gaps) - 1, 0))
    pairs = draw(st.sets(st.tuples(st.sampled_from(ENTRIES), places), max_size=30)) if gaps else set()
    order = draw(st.permutations(ENTRIES))
    cut = draw(st.lists(st.integers(0, 12), max_size=3))
    blocks = [order[a:b] for a, b in zip(sorted(cut), sorted(cut)[1:], strict=False) if b > a]
    if draw(st.booleans()):
        blocks = [sorted(b) for b in blocks]
    return "batch", gaps, pairs, blocks


ops = st.one_of(
    batch(),
    batch(),
    st.tuples(st.just("add"), st.sampled_from(ENTRIES), st.sets(st.integers(0, 80), max_size=8)),
    st.tuples(st.just("remove"), st.sets(st.sampled_from(ENTRIES), max_size=3)),
    st.tuples(st.just("forget"), st.integers(0, 60)),
    st.tuples(st.just("compact")),
)


@given(
    st.lists(ops, max_size=14), st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80)), max_size=3), st.booleans()
)
def test_matches_are_those_of_a_set(done: list[Any], ranges: list[tuple[int, int]], small: bool) -> None:
    runs, model, seq = MatchRuns(), Pairs(), 0
    old = [(runs.snapshot, set(model))]
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(pair_runs, "WHOLE", 10)
            patch.setattr(bit_runs, "WHOLE", 20)
        for what, *given_ in done:
            if what == "batch":
                gaps, pairs, blocks = given_
                seqs = seq + np.cumsum(gaps, dtype=np.int64)
                seq = int(seqs[-1]) if len(seqs) else seq
                dense = {e for b in blocks for e in b}
                sparse = sorted(p for p in pairs if p[0] not in dense)
                runs.append(
                    seqs,
                    ints([e for e, _ in sparse]),
                    ints([p for _, p in sparse]),
                    [block(b, len(seqs), pairs) for b in blocks],
                )
                model |= {(e, int(seqs[p])) for e, p in pairs}
            elif what == "add":
                entry, rows = given_
                runs.add(entry, np.array(sorted(rows), dtype=np.int64))
                model |= {(entry, r) for r in rows}
            elif what == "remove":
                runs.remove(given_[0])
                model = {(e, r) for e, r in model if e not in given_[0]}
            elif what == "forget":
                runs.forget_before(given_[0])
                model = {(e, r) for e, r in model if r >= given_[0]}
                seq = max(seq, given_[0])  # rows to come are not forgotten already
            else:
                runs.compact()
            check(runs.snapshot, model, ranges)
            old.append((runs.snapshot, set(model)))
    for snapshot, then in old:
        check(snapshot, then, ranges)


def test_batches_of_shards_interleave() -> None:
    runs = MatchRuns()
    for shard in (1, 0, 2):
        seqs = np.arange(shard, 30, 3)
        even = [(0, p) for p in range(10)]
        runs.append(seqs, ints([5] * 10), ints(range(10)), [block([0, 1], 10, set(even))])
    assert runs.snapshot.of(5).tolist() == list(range(30))
    assert runs.snapshot.of(0, 3, 20).tolist() == list(range(3, 20))
    assert len(runs.snapshot.of(1)) == 0


def test_bits_stay_in_one_run_while_entries_come_and_go() -> None:
    """A new entry takes a free column, so that runs of before and after fit together."""
    runs = MatchRuns()
    for tick in range(64):
        entries = [100 + tick if j == 3 else j for j in range(4 + tick % 7)]
        if tick:
            runs.remove([100 + tick - 1])
        runs.append(
            np.arange(tick * 8, tick * 8 + 8), ints([]), ints([]), [block(entries, 8, {(e, 0) for e in entries})]
        )
    assert len(runs.snapshot.bits) < 10
    assert runs.snapshot.of(0).tolist() == [t * 8 for t in range(64)]
    assert runs.snapshot.of(163).tolist() == [63 * 8]
    assert runs.snapshot.of(162).tolist() == []


def test_many_appends_are_few_runs() -> None:
    runs = MatchRuns()
    for i in range(1000):
        runs.append(np.array([i]), ints([i % 10]), ints([0]), [block([20, 21], 1, {(20, 0)})])
    assert len(runs.snapshot.pairs) <= 10
    assert len(runs.snapshot.bits) <= 10
    assert runs.snapshot.of(3).tolist() == list(range(3, 1000, 10))
    assert runs.snapshot.of(20, 500).tolist() == list(range(500, 1000))


def test_a_match_costs_few_bytes_and_removing_gives_them_back() -> None:
    runs = MatchRuns()
    rng = np.random.default_rng(1)
    entries = np.sort(rng.integers(0, 1000, 100_000)).astype(np.int32)
    runs.append(np.arange(100_000), entries, rng.permutation(100_000).astype(np.int32))
    assert 4 * 100_000 <= runs.bytes < 5 * 100_000
    runs.remove(range(500))
    assert runs.bytes < 2.6 * 100_000
    runs.forget_before(90_000)
    assert runs.bytes < 0.4 * 100_000
    runs.remove(range(1000))
    assert runs.bytes == 0


def test_columns_that_lie_together_are_given_back_together() -> None:
    runs = MatchRuns()
    entries = list(range(64))
    runs.append(np.arange(1000), ints([]), ints([]), [block(entries, 1000, {(r % 64, r) for r in range(1000)})])
    before = runs.bytes
    runs.remove(range(16, 32))
    runs.compact()
    assert runs.bytes < 0.8 * before
    for entry in entries:
        found = runs.snapshot.of(entry).tolist()
        assert found == ([] if 16 <= entry < 32 else [r for r in range(1000) if r % 64 == entry])


def test_the_number_of_a_removed_entry_can_be_used_again() -> None:
    runs = MatchRuns()
    runs.append(
        np.arange(100), ints([7] + [8] * 99), ints([0, *range(1, 100)]), [block([1, *range(20, 40)], 100, {(1, 5)})]
    )
    runs.remove([7, 1])
    assert runs.snapshot.of(7).tolist() == runs.snapshot.of(1).tolist() == []
    runs.append(np.array([100]), ints([7]), ints([0]), [block([1, 2], 1, {(1, 0)})])
    assert runs.snapshot.of(7).tolist() == runs.snapshot.of(1).tolist() == [100]


def test_columns_of_removed_entries_in_later_blocks_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index frees the column of a removed entry when it likes: until then no match is found in it."""
    runs = MatchRuns()
    runs.append(np.arange(8), ints([50]), ints([0]), [block([1, 2, 3, 4, 5], 8, {(e, e) for e in range(1, 6)})])
    runs.remove([2])
    monkeypatch.setattr(MatchRuns, "compact", lambda self: pytest.fail("compacted"))
    runs.append(np.arange(8, 16), ints([]), ints([]), [block([1, 2, 3, 4, 5], 8, {(1, p) for p in range(5)})])
    assert runs.snapshot.of(2).tolist() == []
    assert runs.snapshot.of(1).tolist() == [1, 8, 9, 10, 11, 12]
    assert len(runs.snapshot.bits) == 1


def test_back_fills_do_not_make_ticks_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matches of a batch are put behind those of the batch before, whatever an entry has found among old rows meanwhile."""
    runs = MatchRuns()
    for tick in range(8):
        runs.add(100 + tick, np.arange(tick, 1000, 8))
        monkeypatch.setattr(pair_runs.PairRun, "_spread", lambda self: pytest.fail("pairs are sorted"))
        seqs = np.arange(1000 + 10 * tick, 1010 + 10 * tick)
        runs.append(seqs, ints([1] * 10), ints(range(10)))
        monkeypatch.undo()
    assert runs.snapshot.of(1).tolist() == list(range(1000, 1080))
    assert runs.snapshot.of(103).tolist() == list(range(3, 1000, 8))


def test_a_back_fill_may_reach_over_a_very_long_history() -> None:
    runs = MatchRuns()
    rows = [5, 6, 2**32 + 4, 2**32 + 5, 2**34, 2**40]
    runs.add(3, np.array(rows[::-1]))
    runs.append(np.array([2**40 + 1]), ints([3]), ints([0]), [block([4], 1, {(4, 0)})])
    assert runs.snapshot.of(3).tolist() == [*rows, 2**40 + 1]
    assert runs.snapshot.of(3, 6, 2**34).tolist() == rows[1:4]
    assert runs.snapshot.of(4).tolist() == [2**40 + 1]
