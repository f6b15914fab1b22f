"""Numbers for groups, against a dictionary."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some

from millpond.network.aggregates.groups import Groups

SCHEMA = pa.schema([("vid", pa.int32()), ("name", pa.string()), ("w", pa.float64())])
ROW = some.fixed_dictionaries(
    {
        "vid": some.one_of(some.none(), some.integers(-3, 3), some.sampled_from([2**31 - 1, -(2**31)])),
        "name": some.sampled_from(["", "a", "b", None]),
        "w": some.sampled_from([0.0, 1.5, None]),
    }
)
KEYS = [["vid"], ["name"], ["w"], ["vid", "name"], ["name", "w", "vid"]]


@pytest.mark.parametrize("names", KEYS, ids="-".join)
@given(batches=some.lists(some.lists(ROW, max_size=8), max_size=5))
def test_rows_have_a_number_exactly_when_a_dictionary_says_so(
    names: list[str], batches: list[list[dict[str, object]]]
) -> None:
    groups = Groups(SCHEMA, names)
    expected: dict[tuple[object, ...], int] = {}
    for batch in batches:
        found = groups.find(pa.Table.from_pylist(batch, schema=SCHEMA), len(batch)).tolist()
        for row, number in zip(batch, found, strict=True):
            assert expected.setdefault(tuple(row[n] for n in names), number) == number
        assert sorted(expected.values()) == list(range(len(expected)))  # each number once, none left out
        assert groups.size == len(expected)
    numbers = np.array(list(expected.values()), dtype=np.int64)
    for place, name in enumerate(names):
        assert groups.column(name, numbers).to_pylist() == [key[place] for key in expected]


@given(batch=some.lists(ROW, min_size=1, max_size=12), data=some.data())
def test_some_of_the_groups_by_themselves(batch: list[dict[str, object]], data: some.DataObject) -> None:
    names = ["name", "vid"]
    groups = Groups(SCHEMA, names)
    groups.find(pa.Table.from_pylist(batch, schema=SCHEMA), len(batch))
    chosen = np.array(data.draw(some.lists(some.integers(0, groups.size - 1), unique=True, min_size=1)), dtype=np.int64)
    fewer, numbers = groups.only(chosen)
    assert fewer.size == len(chosen)
    for name in names:
        assert fewer.column(name, numbers).to_pylist() == groups.column(name, chosen).to_pylist()


def test_a_query_that_is_not_grouped_has_one_group() -> None:
    groups = Groups(SCHEMA, [])
    assert groups.size == 1
    assert groups.find(pa.table({}), 3).tolist() == [0, 0, 0]


def test_many_batches_of_new_groups() -> None:
    """Columns of groups are made of chunks, which are put together now and then."""
    groups = Groups(SCHEMA, ["vid"])
    for start in range(0, 1000, 5):
        rows = pa.Table.from_pylist([{"vid": v} for v in range(start, start + 5)], schema=SCHEMA)
        found = groups.find(rows, 5)
        assert sorted(found.tolist()) == list(range(start, start + 5))
        assert groups.column("vid", found).to_pylist() == list(range(start, start + 5))
    assert sorted(groups.column("vid", np.arange(1000)).to_pylist()) == list(range(1000))
