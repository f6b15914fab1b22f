"""Who does which shard of a tick."""

from __future__ import annotations

import threading
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from millpond.tick.claims import Claims, Wanted, distribute

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


def together(folder: Path, workers: list[str], wanted: list[Wanted], patience: float = 5.0) -> dict[str, list[int]]:
    """All partitions at the same time."""
    done: dict[str, list[int]] = {}

    def work(place: int, worker: str) -> None:
        done[worker] = list(Claims(folder, place, len(workers), worker, patience=patience).take(wanted))

    threads = [threading.Thread(target=work, args=(place, worker)) for place, worker in enumerate(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def test_partitions_that_run_together_agree(tmp_path: Path) -> None:
    for number in range(20):
        found = together(tmp_path / str(number), ["a", "b"], shards("b", "a", "a", NOBODY))
        assert found == {"a": [1, 2], "b": [0, 3]}


def test_one_slot_for_two_partitions_does_everything_once(tmp_path: Path) -> None:
    wanted = shards("a", "b", NOBODY, "gone")
    first = list(Claims(tmp_path / "c", 0, 2, "a", patience=0).take(wanted))
    second = list(Claims(tmp_path / "c", 1, 2, "a", patience=0).take(wanted))
    assert first == [0]
    assert sorted(first + second) == [0, 1, 2, 3]


def test_a_partition_that_is_run_again_does_the_same_again(tmp_path: Path) -> None:
    wanted = shards("a", "b", "a", "b")
    found = together(tmp_path / "c", ["a", "b"], wanted)
    assert list(Claims(tmp_path / "c", 1, 2, "another").take(wanted)) == found["b"]


def test_one_that_went_on_alone_does_the_same_again(tmp_path: Path) -> None:
    wanted = shards("a", "b")
    assert list(Claims(tmp_path / "c", 0, 2, "a", patience=0).take(wanted)) == [0]
    assert list(Claims(tmp_path / "c", 0, 2, "another", patience=0).take(wanted)) == [0]
    assert list(Claims(tmp_path / "c", 1, 2, "b", patience=0).take(wanted)) == [1]
    assert list(Claims(tmp_path / "c", 0, 2, "third", patience=0).take(wanted)) == [0]
