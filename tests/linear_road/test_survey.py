"""What a survey finds in an input, and how it refuses one that cannot be run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import millpond
from linear_road import traffic
from linear_road.generate import write_input
from linear_road.survey import Facts, survey


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("xways", [0.5, 1.5])
def test_facts_are_those_of_a_count(tmp_path: Path, format: str, xways: float) -> None:
    config = traffic.TrafficConfig(xways=xways, minutes=2, seed=3)
    path = write_input(config, tmp_path, format)  # type: ignore[arg-type]
    rows = [row for batch in traffic.simulate(config) for row in batch.to_pylist()]
    reports = [row for row in rows if row["Type"] == 0]
    times = [row["Time"] for row in rows]
    expected = Facts(len(rows), len(reports), min(times), max(times), len({(r["XWay"], r["Dir"]) for r in reports}) / 2)
    shares: list[float] = []
    assert survey(path, shares.append) == expected
    assert expected.xways == xways
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


ROW = "0,{t},1,50,0,1,0,5,27000,-1,-1,-1,-1,-1,-1\n"


def test_rows_that_are_not_in_order_are_told_by_number(tmp_path: Path) -> None:
    path = tmp_path / "input.csv"
    path.write_text("".join(ROW.format(t=t) for t in (3, 4, 4, 2, 5)))
    with pytest.raises(millpond.IntakeError) as caught:
        survey(path)
    assert caught.value.primary == f'"{path}" is not in the order of Time'
    assert caught.value.detail == "Row 4 has Time 2, the row before it 4."


def test_order_is_checked_across_pieces(tmp_path: Path) -> None:
    path = tmp_path / "input.parquet"
    config = traffic.TrafficConfig(xways=0.5, minutes=1, seed=3)
    whole = pa.Table.from_batches(list(traffic.simulate(config)))
    with pa.parquet.ParquetWriter(path, whole.schema) as writer:
        writer.write_table(whole)
        writer.write_table(whole.slice(0, 1))
    with pytest.raises(millpond.IntakeError, match=f"Row {whole.num_rows + 1:,} has Time"):
        survey(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0,1,2\n", "Row 1 is '0,1,2'."),
        (ROW.format(t=1) + ROW.format(t=2).replace("27000", "far"), "Row 2 is '0,2,1,50,0,1,0,5,far,"),
        (ROW.format(t=1) * 3 + "0,1,2\n", "Row 4 is '0,1,2'."),
        ("Type,Time,VID,Spd,XWay,Lane,Dir,Seg,Pos,QID,Sinit,Send,DOW,TOD,Day\n", "Row 1 is 'Type,"),
        ("", "Empty CSV file"),
    ],
    ids=["fields", "letters", "fields later", "header", "empty"],
)
def test_other_files_are_refused_with_the_format(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "input.csv"
    path.write_text(text)
    with pytest.raises(millpond.IntakeError) as caught:
        survey(path)
    assert says in str(caught.value)
    assert "15 whole numbers a row" in str(caught.value)


def test_what_real_files_hold_is_no_mistake(tmp_path: Path) -> None:
    """Negative speeds, and seconds without any tuple."""
    path = tmp_path / "input.csv"
    path.write_text(ROW.format(t=0).replace(",50,", ",-7,") + ROW.format(t=900))
    assert survey(path) == Facts(2, 2, 0, 900, 0.5)
