"""The files: what they hold, that they come out whole or not at all, and that a large city's file serves a small city."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest

from linear_road import generate, history, picture, records, traffic
from linear_road.generate import Progress
from linear_road.traffic import TrafficConfig
from tests.linear_road.rules import broken_rules

CITY = TrafficConfig(xways=2.5, minutes=60, seed=7, load=0.005)


@pytest.fixture(scope="module")
def stream() -> pa.Table:
    return pa.Table.from_batches(traffic.simulate(CITY), records.INPUT)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, format: generate.Format) -> None:
    config = TrafficConfig(xways=1.5, minutes=3, seed=5, load=0.2)
    first = generate.generate(config, tmp_path / "a", format, days=2)
    second = generate.generate(config, tmp_path / "b", format, days=2)
    other = generate.generate(TrafficConfig(xways=1.5, minutes=3, seed=6, load=0.2), tmp_path / "c", format, days=2)
    for name in ("input", "tolls", "segments"):
        assert digest(first[name]) == digest(second[name])
        assert digest(first[name]) != digest(other[name])


# --- history ----------------------------------------------------------------------------------------------------------
def test_every_vehicle_has_one_row_for_every_day(stream: pa.Table) -> None:
    tolls = pa.Table.from_batches(history.tolls(CITY, days=8))
    assert tolls.num_rows == history.toll_rows(CITY, days=8)
    vid, day = tolls["VID"].to_numpy(), tolls["Day"].to_numpy()
    assert (np.diff(vid.astype(np.int64) * 100 + day) > 0).all()
    assert set(np.unique(day)) == set(range(1, 9))
    homes = dict(zip(vid.tolist(), tolls["XWay"].to_pylist(), strict=True))
    first_seen: dict[int, int] = {}
    for row in stream.filter(pc.equal(stream["Type"], records.POSITION)).select(["VID", "XWay"]).to_pylist():
        first_seen.setdefault(row["VID"], row["XWay"])
    assert {vehicle: homes[vehicle] for vehicle in first_seen} == first_seen
    paid = tolls["Tolls"].to_numpy()
    assert paid.min() == 0
    assert 0.2 < (paid > 0).mean() < 0.9


def test_every_segment_has_one_row_for_every_minute() -> None:
    table = pa.Table.from_batches(history.segments(CITY, days=2))
    assert table.num_rows == history.segment_rows(CITY, days=2) == 2 * 1440 * 5 * 100
    keys = table.select(["Day", "XWay", "Min", "Dir", "Seg"])
    assert keys.group_by(keys.column_names).aggregate([]).num_rows == table.num_rows
    assert pc.min_max(table["Min"]).as_py() == {"min": 1, "max": 1440}
    lav, cnt, toll = (table[name].to_numpy() for name in ("Lav", "Cnt", "Toll"))
    assert lav.min() >= 1
    assert lav.max() <= 100
    assert cnt.min() >= 1
    assert (toll == np.where((lav < 40) & (cnt > 50), 2 * (cnt - 50) ** 2, 0)).all()
    assert 0.05 < (toll > 0).mean() < 0.4


def test_rush_hours_are_on_working_days() -> None:
    assert [history.day_of_week(day) for day in range(1, 9)] == [7, 6, 5, 4, 3, 2, 1, 7]
    by_day = list(history.segments(TrafficConfig(), days=3))
    at_eight = [batch.filter(pc.equal(batch["Min"], 480))["Cnt"].to_numpy().mean() for batch in by_day]
    assert at_eight[2] > 3 * at_eight[0]
    at_night = by_day[2].filter(pc.equal(by_day[2]["Min"], 180))
    assert at_night["Cnt"].to_numpy().mean() < at_eight[2] / 5
    assert at_night["Lav"].to_numpy().min() > 40


# --- files ------------------------------------------------------------------------------------------------------------
SMALL = TrafficConfig(xways=0.5, minutes=2, load=0.5)


def test_csv_and_parquet_hold_the_same_rows(tmp_path: Path) -> None:
    as_csv = generate.generate(SMALL, tmp_path, "csv", days=1)
    as_parquet = generate.generate(SMALL, tmp_path, "parquet", days=1)
    schemas = {"input": records.INPUT, "tolls": records.TOLLS, "segments": records.SEGMENT_STATISTICS}
    for name, schema in schemas.items():
        reading = pyarrow.csv.ReadOptions(column_names=schema.names)
        converting = pyarrow.csv.ConvertOptions(column_types=schema)
        read = pyarrow.csv.read_csv(as_csv[name], reading, convert_options=converting)
        assert read.to_pydict() == pyarrow.parquet.read_table(as_parquet[name]).to_pydict()
        assert read.num_rows > 100
    line = as_csv["input"].read_text().splitlines()[0].split(",")
    assert len(line) == 15
    assert line[0] == "0"
    assert line[9:] == ["-1"] * 6


def test_progress_goes_up_to_one_for_each_file(tmp_path: Path) -> None:
    seen: list[Progress] = []
    generate.generate(TrafficConfig(xways=1, minutes=20), tmp_path, days=2, on_progress=seen.append)
    assert list(dict.fromkeys(progress.file for progress in seen)) == [
        "input.parquet",
        "tolls.parquet",
        "segments.parquet",
    ]
    for file in {progress.file for progress in seen}:
        shares = [progress.share for progress in seen if progress.file == file]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1)
        assert len(shares) > 1 or file == "tolls.parquet"


def test_a_failure_leaves_the_old_file_and_no_partial_one(tmp_path: Path) -> None:
    path = generate.write_input(SMALL, tmp_path)
    before = digest(path)

    def stop(progress: Progress) -> None:
        assert digest(path) == before, "the file changed before it was complete"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate.write_input(TrafficConfig(minutes=5, seed=1), tmp_path, on_progress=stop)
    assert digest(path) == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["input.parquet"]


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="format 'avro' is not one of parquet, csv"):
        generate.write_tolls(SMALL, tmp_path, "avro")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_row_group_holds_whole_seconds(tmp_path: Path) -> None:
    config = TrafficConfig(xways=6, minutes=12, seed=3)
    file = pyarrow.parquet.ParquetFile(generate.write_input(config, tmp_path))
    assert file.num_row_groups > 3
    times = [file.read_row_group(i)["Time"].to_numpy() for i in range(file.num_row_groups)]
    assert all(a[-1] < b[0] for a, b in itertools.pairwise(times))


def test_progress_of_a_stretch_counts_the_time_before_it(tmp_path: Path) -> None:
    seen: list[Progress] = []
    generate.write_input(TrafficConfig(minutes=1, start_minute=3, load=0.01), tmp_path, on_progress=seen.append)
    assert [(p.rows > 0, p.share) for p in seen[:2]] == [(False, 0.125), (False, 0.25)]
    assert seen[-1].share == 1
    assert seen[-1].rows > 0


# --- a small city out of a large one ----------------------------------------------------------------------------------
def small_city(stream: pa.Table, xways: float) -> list[dict[str, int]]:
    """As `first_expressways` says, one row after another."""
    kept: list[dict[str, int]] = []
    inside = False
    for row in stream.to_pylist():
        if row["Type"] == records.POSITION:
            inside = row["XWay"] + (1 if row["Dir"] == records.WEST else 0.5) <= xways
        westbound = row["Type"] == records.TRAVEL_TIME and row["Send"] < row["Sinit"]
        if inside and not (westbound and row["XWay"] + 1 > xways):
            kept.append(row)
    return kept


@pytest.mark.parametrize("xways", [0.5, 1, 1.5, 2, 2.5])
def test_the_first_expressways_of_a_city_are_a_city(stream: pa.Table, xways: float) -> None:
    found = generate.first_expressways(stream, xways)
    assert found.to_pylist() == small_city(stream, xways)
    assert broken_rules(found, 0, 60 * CITY.minutes) == []
    assert pc.max(found["XWay"]).as_py() == int(xways - 0.5)
    assert set(pc.unique(found["Type"]).to_pylist()) == {0, 2, 3, 4}
    assert (found.num_rows == stream.num_rows) == (xways == 2.5)


def test_a_small_city_has_vehicles_of_the_large_one_that_come_later(stream: pa.Table) -> None:
    found = generate.first_expressways(stream, 1)
    homes = found["VID"].to_numpy() % 3
    assert (homes == 0).mean() > 0.9
    assert (homes != 0).any()


def test_a_request_without_its_report_is_refused(stream: pa.Table) -> None:
    first = int(np.flatnonzero(stream["Type"].to_numpy())[0])
    with pytest.raises(ValueError, match="begin with a request without its report"):
        generate.first_expressways(stream.slice(first), 1)


# --- the picture ------------------------------------------------------------------------------------------------------
def test_a_picture_shows_every_panel_and_is_the_same_from_either_format(tmp_path: Path) -> None:
    config = TrafficConfig(minutes=45, seed=7, load=0.05)
    pictures = []
    for format in ("csv", "parquet"):
        input = generate.write_input(config, tmp_path, format)
        picture.draw(input, tmp_path / "traffic.svg")
        pictures.append((tmp_path / "traffic.svg").read_text().replace(input.name, ""))
    assert pictures[0] == pictures[1]
    root = ElementTree.fromstring(pictures[0])
    titles = [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}text") if e.get("class") == "title"]
    expected = ["reports per minute", "cars", "mean speed", "cars", "mean speed", "accident at mile"]
    assert len(titles) == len(expected)
    assert all(title.startswith(start) for title, start in zip(titles, expected, strict=True))
    picture.draw(tmp_path / "input.csv", tmp_path / "traffic.html")
    assert (tmp_path / "traffic.html").read_text().startswith("<!doctype html>")


def test_a_half_expressway_has_no_westbound_panel(tmp_path: Path) -> None:
    input = generate.write_input(TrafficConfig(xways=0.5, minutes=2, load=0.1), tmp_path)
    picture.draw(input, tmp_path / "traffic.svg")
    text = (tmp_path / "traffic.svg").read_text()
    assert "eastbound" in text
    assert "westbound" not in text


def test_an_expressway_without_reports_cannot_be_drawn(tmp_path: Path) -> None:
    input = generate.write_input(TrafficConfig(minutes=1, load=0.1), tmp_path)
    with pytest.raises(ValueError, match=r"input.parquet has no position report from expressway 4"):
        picture.draw(input, tmp_path / "traffic.svg", xway=4)
