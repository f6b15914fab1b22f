from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millpond.table.store import tail_table
from millpond.table.tail import Tail


def batch(start: int, count: int, **more: str) -> pa.RecordBatch:
    columns = {
        "v": pa.array(range(start, start + count), pa.int64()),
        **{k: pa.array([v] * count) for k, v in more.items()},
    }
    return pa.record_batch({**columns, "_seq": pa.array(range(start, start + count), pa.int64())})


def numbers(tail: Tail) -> list[int]:
    return sorted(n for b in tail.blocks for part in b.batches for n in part["_seq"].to_pylist())


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(0, 200))
def test_holds_each_row_from_start_once(sizes: list[int], cut: int) -> None:
    tail, end = Tail(), 0
    for size in sizes:
        tail.append([batch(end, size)], end, end + size, end + size - 1)
        end += size
    assert numbers(tail) == list(range(end))
    tail.cut(min(cut, end))
    assert numbers(tail) == list(range(min(cut, end), end))
    assert tail.rows == end - min(cut, end)
    assert tail.start == min(cut, end)


def test_many_small_appends_are_few_blocks() -> None:
    tail = Tail()
    for number in range(5000):
        tail.append([batch(number, 1)], number, number, number)
    assert len(tail.blocks) < 20
    assert (min(b.least for b in tail.blocks), max(b.greatest for b in tail.blocks)) == (0, 4999)


def test_a_reader_keeps_what_it_took() -> None:
    tail = Tail()
    tail.append([batch(0, 3)], 0, 2, 2)
    taken = tail.blocks
    tail.append([batch(3, 3)], 3, 5, 5)
    tail.cut(4)
    assert [n for b in taken for part in b.batches for n in part["_seq"].to_pylist()] == [0, 1, 2]


def test_a_column_added_in_between() -> None:
    tail = Tail()
    tail.append([batch(0, 2)], 0, 1, 1)
    tail.append([batch(2, 2, w="x")], 2, 3, 3)
    schema = pa.schema([("v", pa.int64()), ("w", pa.string()), ("_seq", pa.int64())])
    assert tail_table(tail.blocks, schema)["w"].to_pylist() == [None, None, "x", "x"]
