"""Who does which shard of a tick."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millpond.tick.assignment import Wanted, distribute

NOBODY = ""


def shards(*owners: str, table: str = "t") -> list[Wanted]:
    return [Wanted(i, table, owner) for i, owner in enumerate(owners)]


def test_a_shard_stays_where_it_was() -> None:
    assert distribute(shards("b", "a"), ["a", "b"]) == {0: 1, 1: 0}


def test_new_shards_are_spread() -> None:
    assert distribute(shards(NOBODY, NOBODY, NOBODY), ["a", "b"]) == {0: 0, 1: 1, 2: 0}


def test_a_worker_that_has_too_many_gives_some_away() -> None:
    assert distribute(shards("a", "a", "a", "a"), ["a", "b"]) == {0: 0, 1: 0, 2: 1, 3: 1}


def test_shards_of_a_worker_that_is_not_there_go_to_who_has_least() -> None:
    assert distribute(shards("a", "gone"), ["a", "c"]) == {0: 0, 1: 1}


def test_tables_are_shared_out_one_by_one() -> None:
    wanted = [Wanted(0, "t", "a"), Wanted(1, "t", "b"), Wanted(2, "u", "a")]
    assert distribute(wanted, ["b", "a"]) == {0: 1, 1: 0, 2: 1}


@given(
    st.lists(st.tuples(st.sampled_from("tu"), st.sampled_from(["", "a", "b", "c", "gone"])), max_size=12),
    st.permutations("abc").flatmap(lambda p: st.integers(1, 3).map(lambda n: list(p[:n]))),
)
def test_every_shard_has_one_place_and_no_place_more_than_its_share(
    wanted: list[tuple[str, str]], workers: list[str]
) -> None:
    tasks = [Wanted(i, table, owner) for i, (table, owner) in enumerate(wanted)]
    given_ = distribute(tasks, workers)
    assert sorted(given_) == list(range(len(tasks)))
    for table in "tu":
        of_table = [given_[t.number] for t in tasks if t.table == table]
        assert all(of_table.count(place) <= -(-len(of_table) // len(workers)) for place in range(len(workers)))
