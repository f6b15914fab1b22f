"""What holds for every generated file, checked on the rows alone: nothing here looks into the simulator.

Rows are put in the order of vehicle and time; a trip is then a stretch of rows exactly 30 s apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linear_road import expressway, load, records, traffic
from linear_road.traffic import TrafficConfig
from tests.linear_road.rules import broken_rules

Column = npt.NDArray[np.int32]

# Long enough for trips to end, three accidents an expressway, congestion and second trips; a fifth of the vehicles.
CITY = TrafficConfig(xways=2.5, minutes=60, seed=7, load=0.2)


def rows(config: TrafficConfig) -> pa.Table:
    return pa.Table.from_batches(traffic.simulate(config), records.INPUT)


@pytest.fixture(scope="module")
def stream() -> pa.Table:
    return rows(CITY)


@dataclass(frozen=True)
class Trips:
    """Position reports by vehicle and time, and for each row whether it begins or ends a trip."""

    columns: dict[str, Column]
    begins: npt.NDArray[np.bool_]
    ends: npt.NDArray[np.bool_]

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    @property
    def steps(self) -> npt.NDArray[np.intp]:
        """Rows that are followed by another one of their trip."""
        return np.flatnonzero(~self.ends)


@pytest.fixture(scope="module")
def trips(stream: pa.Table) -> Trips:
    reports = stream.filter(pc.equal(stream["Type"], records.POSITION)).sort_by(
        [("VID", "ascending"), ("Time", "ascending")]
    )
    columns = {name: reports[name].to_numpy() for name in records.INPUT.names}
    apart = (np.diff(columns["VID"]) != 0) | (np.diff(columns["Time"]) != records.REPORT_SECONDS)
    return Trips(columns, np.append(True, apart), np.append(apart, True))


# --- the stream -------------------------------------------------------------------------------------------------------
def test_rows_are_in_time_order_within_the_run(stream: pa.Table) -> None:
    time = stream["Time"].to_numpy()
    assert (np.diff(time) >= 0).all()
    assert time[0] == 0
    assert time[-1] == 60 * CITY.minutes - 1


def test_reports_are_staggered_over_the_seconds(stream: pa.Table) -> None:
    last = stream.filter(pc.greater_equal(stream["Time"], 60 * CITY.minutes - 30))
    per_second = np.bincount(last["Time"].to_numpy() % 30, minlength=30)
    assert per_second.min() > 0.8 * per_second.mean()
    assert per_second.max() < 1.2 * per_second.mean()


def test_batches_are_small_whatever_the_number_of_expressways() -> None:
    sizes = [batch.num_rows for batch in traffic.simulate(TrafficConfig(xways=20, minutes=5))]
    assert max(sizes) <= 1.1 * traffic.BATCH_ROWS
    assert min(sizes) > 0


def test_rows_of_a_second_go_by_expressway(stream: pa.Table) -> None:
    reports = stream.filter(pc.equal(stream["Type"], records.POSITION))
    place = reports["Time"].to_numpy().astype(np.int64) * 3 + reports["XWay"].to_numpy()
    assert (np.diff(place) >= 0).all()


@settings(max_examples=12, deadline=None)
@given(
    xways=st.sampled_from([0.5, 1, 1.5, 2]), seed=st.integers(0, 1 << 32), minutes=st.integers(1, 60),
    share=st.integers(0, 100), load=st.sampled_from([0.002, 0.01]),
)  # fmt: skip
def test_every_stretch_obeys_the_rules(xways: float, seed: int, minutes: int, share: int, load: float) -> None:
    start = minutes * share // 101
    config = TrafficConfig(xways, minutes - start, seed, start, load)
    assert broken_rules(rows(config), start * 60, minutes * 60) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"Spd": 101}, "impossible"),
        ({"Seg": 99, "Pos": 0}, "impossible"),
        ({"Dir": 1}, "changes expressway or direction"),
        ({"Time": 31}, "begins a trip elsewhere"),
        ({"Lane": 4}, "uses a ramp the wrong way"),
        ({"Pos": 5000}, "not where its speed takes it"),
        ({"Type": 1}, "no type"),
    ],
    ids=["speed", "segment", "direction", "time", "lane", "position", "type"],
)
def test_the_check_of_the_rules_finds_a_broken_one(change: dict[str, int], complaint: str) -> None:
    trip = [
        dict.fromkeys(records.INPUT.names, -1)
        | {"Type": 0, "Time": 30 * i, "VID": 1, "Spd": 30, "XWay": 0, "Lane": lane, "Dir": 0, "Seg": 0, "Pos": 1320 * i}
        for i, lane in enumerate((0, 1, 2, 4))
    ]
    assert broken_rules(pa.Table.from_pylist(trip, records.INPUT), 0, 600) == []
    trip[1] |= change
    assert any(complaint in text for text in broken_rules(pa.Table.from_pylist(trip, records.INPUT), 0, 600))


# --- trips ------------------------------------------------------------------------------------------------------------
def test_a_vehicle_is_in_one_place_and_rests_between_trips(trips: Trips) -> None:
    same = np.diff(trips["VID"]) == 0
    gap = np.diff(trips["Time"])[same]
    assert (gap >= records.REPORT_SECONDS).all()
    assert ((gap == records.REPORT_SECONDS) | (gap >= 300)).all()


def test_some_vehicles_make_further_trips_also_on_other_expressways(trips: Trips) -> None:
    again = np.flatnonzero(trips.begins[1:] & (np.diff(trips["VID"]) == 0)) + 1
    assert len(again) > 100
    moved = trips["XWay"][again] != trips["XWay"][again - 1]
    assert 0 < moved.sum() < len(again)


def test_a_trip_stays_on_one_expressway_and_direction(trips: Trips) -> None:
    for name in ("XWay", "Dir"):
        assert (trips[name][trips.steps] == trips[name][trips.steps + 1]).all()


def test_a_trip_goes_from_entry_ramp_over_travel_lanes_to_exit_ramp(trips: Trips) -> None:
    lane = trips["Lane"]
    assert set(np.unique(lane)) == {0, 1, 2, 3, 4}
    assert (lane[trips.begins] == records.ENTRY_LANE).all()
    unfinished = trips["Time"] >= 60 * CITY.minutes - records.REPORT_SECONDS
    assert (lane[trips.ends & ~unfinished] == records.EXIT_LANE).all()
    before, after = lane[trips.steps], lane[trips.steps + 1]
    assert (after[before != records.ENTRY_LANE] != records.ENTRY_LANE).all()
    assert (after[before == records.EXIT_LANE] == records.EXIT_LANE).all()
    assert (trips["Spd"][lane == records.EXIT_LANE] <= 40).all()


def test_every_segment_passed_is_reported_from(trips: Trips) -> None:
    forward = np.where(trips["Dir"][trips.steps] == records.EAST, 1, -1)
    step = (trips["Seg"][trips.steps + 1] - trips["Seg"][trips.steps]) * forward
    assert set(np.unique(step)) == {0, 1}


def test_position_and_segment_agree(trips: Trips) -> None:
    assert (trips["Pos"] >= 0).all()
    assert (trips["Pos"] < records.EXPRESSWAY_FEET).all()
    assert (trips["Seg"] == trips["Pos"] // records.SEGMENT_FEET).all()


def test_distance_is_the_mean_of_the_two_reported_speeds_for_thirty_seconds(trips: Trips) -> None:
    speed = trips["Spd"]
    assert (speed >= 0).all()
    assert (speed <= records.MAX_SPEED).all()
    forward = np.where(trips["Dir"][trips.steps] == records.EAST, 1, -1)
    feet = (trips["Pos"][trips.steps + 1] - trips["Pos"][trips.steps]) * forward
    mean = (speed[trips.steps] + speed[trips.steps + 1]) / 2
    assert (feet == mean * records.REPORT_SECONDS * 5280 / 3600).all()


def test_a_half_expressway_has_only_eastbound_traffic(trips: Trips) -> None:
    assert set(np.unique(trips["Dir"][trips["XWay"] == 2])) == {records.EAST}
    assert set(np.unique(trips["Dir"][trips["XWay"] == 1])) == {records.EAST, records.WEST}
    counts = np.bincount(trips["XWay"])
    assert counts[2] == pytest.approx(counts[0] / 2, rel=0.1)


def test_entry_ramps_are_uniform(trips: Trips) -> None:
    first = np.append(True, np.diff(trips["VID"]) != 0)
    counts = np.bincount(trips["Seg"][trips.begins & first], minlength=records.SEGMENTS)
    chi_square = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert chi_square < 149  # 99 degrees of freedom: exceeded once in a thousand


def test_exits_are_normal_around_mile_fifty_in_the_direction_of_travel() -> None:
    random = np.random.default_rng(1)
    entry = random.integers(0, records.SEGMENTS, 400_000)
    leave = expressway.exits(entry, random)
    assert (leave >= entry).all()
    assert leave.max() < records.SEGMENTS
    from_the_start = leave[entry == 0] + 0.5  # hardly conditioned: only 0.6 % of the normal lies before mile 0
    assert from_the_start.mean() == pytest.approx(50, abs=1)
    assert from_the_start.std() == pytest.approx(20, abs=1)


# --- accidents --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Accident:
    xway: int
    direction: int
    segment: int
    detected: int
    cleared: int | None


def stays(trips: Trips) -> Iterator[tuple[tuple[int, ...], Column]]:
    """(place, times) wherever a vehicle reports the same place more than once in a row."""
    place = np.stack([trips[name] for name in ("XWay", "Lane", "Dir", "Pos")])
    moved = trips.begins | np.append(True, (np.diff(place) != 0).any(axis=0))
    starts = np.flatnonzero(moved)
    for start, end in zip(starts, np.append(starts[1:], len(moved)), strict=True):
        if end - start > 1:
            yield tuple(place[:, start].tolist()), trips["Time"][start:end]


@pytest.fixture(scope="module")
def accidents(trips: Trips) -> list[Accident]:
    at: dict[tuple[int, ...], list[Column]] = {}
    for place, times in stays(trips):
        at.setdefault(place, []).append(times)
    found = []
    for (xway, lane, direction, position), pair in at.items():
        assert lane in records.TRAVEL_LANES
        assert len(pair) == 2, "an accident is two vehicles, and nobody else ever stands"
        detected = max(times[3] for times in pair)
        left = min(times[-1] for times in pair) + records.REPORT_SECONDS
        cleared = int(left) if left < 60 * CITY.minutes else None
        found.append(Accident(xway, direction, position // records.SEGMENT_FEET, int(detected), cleared))
    return sorted(found, key=lambda accident: accident.detected)


def test_one_accident_per_expressway_every_twenty_minutes(accidents: list[Accident]) -> None:
    windows = sorted((accident.xway, accident.detected // 1200) for accident in accidents)
    assert windows == [(xway, window) for xway in range(3) for window in range(3)]


def test_accidents_are_cleared_ten_to_twenty_minutes_after_detection(accidents: list[Accident]) -> None:
    lasted = [accident.cleared - accident.detected for accident in accidents if accident.cleared]
    assert len(lasted) >= 6
    assert all(600 <= seconds <= 1200 for seconds in lasted)


def test_traffic_is_slower_at_an_accident_than_past_it(trips: Trips, accidents: list[Accident]) -> None:
    ratios = []
    for accident in accidents:
        during = (trips["Time"] > accident.detected) & (trips["Time"] < (accident.cleared or 60 * CITY.minutes))
        road = during & (trips["XWay"] == accident.xway) & (trips["Dir"] == accident.direction)
        moving = road & (trips["Spd"] > 0) & np.isin(trips["Lane"], records.TRAVEL_LANES)
        past = (trips["Seg"] - accident.segment) * (1 if accident.direction == records.EAST else -1)
        ratios.append(
            trips["Spd"][moving & (past == 0)].mean() / trips["Spd"][moving & (past > 0) & (past <= 2)].mean()
        )
    assert np.mean(ratios) < 0.75
    assert max(ratios) < 1.05


# --- load and congestion ----------------------------------------------------------------------------------------------
def test_load_grows_as_the_benchmark_says() -> None:
    """Of a whole run, on a twentieth of its vehicles: 1,118 reports in the first minute, 100,000 in the last, 12 M."""
    config = TrafficConfig(load=0.05, seed=3)
    per_minute = np.zeros(config.minutes, int)
    for batch in traffic.simulate(config):
        reports = batch.filter(pc.equal(batch["Type"], records.POSITION))
        per_minute += np.bincount(reports["Time"].to_numpy() // 60, minlength=config.minutes)
    assert per_minute[0] / config.load == pytest.approx(1118, rel=0.05)
    assert per_minute[-1] / config.load == pytest.approx(100_000, rel=0.1)
    assert per_minute.sum() / config.load == pytest.approx(12_000_000, rel=0.1)
    assert sum(load.vehicles(config)) / config.load == pytest.approx(150_000, rel=0.05)
    assert (per_minute[10:] > 0.97 * per_minute[:-10]).all()


def test_congestion_slows_traffic_and_tolls_are_charged() -> None:
    stream = rows(TrafficConfig(xways=0.5, minutes=60, seed=2))
    reports = stream.filter(pc.equal(stream["Type"], records.POSITION))
    minute = pc.divide(reports["Time"], 60)
    by_car = pa.table({"minute": minute, "seg": reports["Seg"], "vid": reports["VID"], "spd": reports["Spd"]})
    by_car = by_car.group_by(["minute", "seg", "vid"]).aggregate([("spd", "mean")])
    by_segment = by_car.group_by(["minute", "seg"]).aggregate([("spd_mean", "mean"), ("vid", "count")])
    cars, speed = by_segment["vid_count"].to_numpy(), by_segment["spd_mean_mean"].to_numpy()
    assert speed[(cars > 30) & (cars < 70)].mean() > 45
    assert speed[cars > 250].mean() < 25
    late = by_segment["minute"].to_numpy() >= 40
    assert ((cars > 50) & (speed < 40))[late].mean() > 0.2
    assert cars.max() < 3 * 5280 / 16  # bumper to bumper in three lanes, and some on the ramps


@pytest.mark.slow
def test_a_full_run_has_the_load_of_the_benchmark() -> None:
    per_minute = np.zeros(records.RUN_MINUTES, int)
    vehicles: list[Column] = []
    for batch in traffic.simulate(TrafficConfig(seed=11)):
        reports = batch.filter(pc.equal(batch["Type"], records.POSITION))
        per_minute += np.bincount(reports["Time"].to_numpy() // 60, minlength=len(per_minute))
        vehicles.append(pc.unique(reports["VID"]).to_numpy())
    assert per_minute[0] == pytest.approx(1100, rel=0.05)
    assert per_minute[-1] == pytest.approx(100_000, rel=0.05)
    assert per_minute.sum() == pytest.approx(12_000_000, rel=0.05)
    assert len(np.unique(np.concatenate(vehicles))) == sum(load.vehicles(TrafficConfig())) == 151_416


# --- requests ---------------------------------------------------------------------------------------------------------
def test_one_report_in_a_hundred_brings_a_request(stream: pa.Table) -> None:
    counts = np.bincount(stream["Type"].to_numpy(), minlength=5)
    assert counts[1] == 0
    requests = counts[2:].sum()
    assert requests / counts[records.POSITION] == pytest.approx(0.01, rel=0.05)
    assert (counts[2:] / requests).tolist() == pytest.approx([0.5, 0.1, 0.4], abs=0.02)


def test_a_request_follows_a_report_of_its_vehicle_at_the_same_second(stream: pa.Table) -> None:
    at = np.flatnonzero(stream["Type"].to_numpy())
    assert (stream["Type"].to_numpy()[at - 1] == records.POSITION).all()
    for name in ("Time", "VID"):
        assert (stream[name].to_numpy()[at] == stream[name].to_numpy()[at - 1]).all()
    assert (stream["QID"].to_numpy()[at] == np.arange(len(at))).all()


def test_nobody_asks_about_an_expressway_beyond_the_own(stream: pa.Table) -> None:
    kind, xway = stream["Type"].to_numpy(), stream["XWay"].to_numpy()
    at = np.flatnonzero(kind > records.BALANCE)
    assert (xway[at] <= xway[at - 1]).all()
    own = xway[at] == xway[at - 1]
    expenditure = kind[at] == records.EXPENDITURE
    assert own[expenditure].mean() > 0.8
    assert 0.3 < own[~expenditure].mean() < 0.7


FIELDS = {
    records.POSITION: "Type Time VID Spd XWay Lane Dir Seg Pos",
    records.BALANCE: "Type Time VID QID",
    records.EXPENDITURE: "Type Time VID XWay QID Day",
    records.TRAVEL_TIME: "Type Time VID XWay QID Sinit Send DOW TOD",
}
RANGES = {"XWay": (0, 2), "Day": (1, 69), "Sinit": (0, 99), "Send": (0, 99), "DOW": (1, 7), "TOD": (1, 1440)}


@pytest.mark.parametrize("kind", FIELDS)
def test_a_tuple_has_the_fields_of_its_type_and_no_others(stream: pa.Table, kind: int) -> None:
    tuples = stream.filter(pc.equal(stream["Type"], kind))
    for name in records.INPUT.names:
        values = tuples[name].to_numpy()
        if name in FIELDS[kind].split():
            low, high = RANGES.get(name, (0, 1 << 31))
            assert values.min() >= low
            assert values.max() <= high
        else:
            assert (values == records.NONE).all()


def test_a_journey_ends_elsewhere_and_is_eastbound_on_a_half_expressway(stream: pa.Table) -> None:
    journeys = stream.filter(pc.equal(stream["Type"], records.TRAVEL_TIME))
    start, end = journeys["Sinit"].to_numpy(), journeys["Send"].to_numpy()
    assert (start != end).all()
    assert (start > end).any()
    assert (start < end)[journeys["XWay"].to_numpy() == 2].all()


# --- repeatable -------------------------------------------------------------------------------------------------------
def test_a_stretch_is_cut_out_of_the_whole_run(stream: pa.Table) -> None:
    stretch = rows(TrafficConfig(xways=2.5, minutes=20, start_minute=40, seed=7, load=0.2))
    same_minutes = stream.filter(pc.greater_equal(stream["Time"], 40 * 60))
    assert stretch.num_rows > 100_000
    assert stretch.equals(same_minutes)


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    config = TrafficConfig(xways=3.5, minutes=6, seed=5, load=0.1)
    batches = traffic.simulate(config, threads)
    assert pa.Table.from_batches(batches).equals(rows(config))


def test_what_is_skipped_is_told_second_by_second() -> None:
    told: list[int] = []
    config = TrafficConfig(minutes=1, start_minute=2, load=0.01)
    for batch in traffic.simulate(config, on_skipped=told.append):
        assert batch["Time"][0].as_py() >= 120
    assert told == [30, 60, 90, 120]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"xways": 0.7}, "xways 0.7 is not a number of half expressways"),
        ({"xways": 0}, "xways 0 is not"),
        ({"minutes": 0}, "minutes 0 to 0 are not within a run"),
        ({"minutes": 30, "start_minute": 160}, "minutes 160 to 190 are not within a run of 180 minutes"),
        ({"load": 1.5}, "load 1.5 is not a share"),
        ({"seed": -1}, "seed -1 is negative"),
    ],
)
def test_impossible_runs_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrafficConfig(**arguments)  # type: ignore[arg-type]
