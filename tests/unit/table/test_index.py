from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millpond.table.index import find_groups, index_path, write_index


def naive(values: list[Any], wanted: list[Any], group: int) -> set[int]:
    return {i // group for i, v in enumerate(values) if v is not None and v in wanted}


@given(
    st.lists(st.none() | st.integers(-3, 3), max_size=30), st.lists(st.integers(-4, 4), max_size=4), st.integers(1, 7)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_integers(tmp_path: Path, values: list[int | None], wanted: list[int], group: int) -> None:
    path = tmp_path / "i.idx"
    write_index(path, pa.array(values, pa.int32()), group)
    assert find_groups(path, wanted) == naive(values, wanted, group)


@given(
    st.lists(st.none() | st.sampled_from(["", "a", "b", "é", "日"]), max_size=30),
    st.lists(st.sampled_from(["", "a", "z", "日"]), max_size=3),
    st.integers(1, 7),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_texts(tmp_path: Path, values: list[str | None], wanted: list[str], group: int) -> None:
    path = tmp_path / "s.idx"
    write_index(path, pa.array(values, pa.string()), group)
    assert find_groups(path, wanted) == naive(values, wanted, group)


def test_values_no_column_can_hold(tmp_path: Path) -> None:
    write_index(tmp_path / "i.idx", pa.array([1, 2], pa.int8()), 1)
    assert find_groups(tmp_path / "i.idx", [2**40, -(2**62)]) == set()


def test_dates_are_found_as_bounds_write_them(tmp_path: Path) -> None:
    """Bounds hold a day as text, as the manifest does."""
    write_index(tmp_path / "d.idx", pa.array([dt.date(2026, 1, 1), None, dt.date(2026, 1, 2)], pa.date32()), 1)
    assert find_groups(tmp_path / "d.idx", ["2026-01-02"]) == {2}


def test_an_index_lies_beside_its_file() -> None:
    assert index_path(Path("c0/a-s0.parquet"), "vid") == Path("c0/a-s0.vid.idx")
