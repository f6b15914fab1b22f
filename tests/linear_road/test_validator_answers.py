"""The validator's answers against evaluation by definition, on random cities, and against cases worked out by hand."""

from __future__ import annotations

import ast
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from linear_road import records, validator
from linear_road.validator import Expected, expect
from tests.linear_road.reference import Answers, Row, SmallCity, answers, random_city, report, write

seeds = st.integers(0, 2**32)
few = settings(
    max_examples=5,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a smaller seed is no smaller city: shrinking is in vain
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def expected_of(city: SmallCity, folder: Path, suffix: str = ".csv", today: int = 1) -> Expected:
    return expect(
        write(folder / f"input{suffix}", city.input, records.INPUT),
        tolls=write(folder / f"tolls{suffix}", city.tolls, records.TOLLS),
        segments=write(folder / f"segments{suffix}", city.segments, records.SEGMENT_STATISTICS),
        today=today,
    )


def agree(found: Expected, right: Answers) -> None:
    columns = (found.notifications.vid, found.notifications.time, found.notifications.lav, found.notifications.toll)
    assert sorted(zip(*(column.tolist() for column in columns), strict=True)) == sorted(right.tolls)
    columns = (found.alerts.time, found.alerts.vid, found.alerts.segment)
    assert sorted(zip(*(column.tolist() for column in columns), strict=True)) == sorted(right.alerts)

    requests = found.requests[2]
    asked = list(zip(*(requests[name].tolist() for name in ("Time", "VID", "QID")), strict=True))
    assert asked == right.balance_requests
    for back in (0, 1, 29, 30, 60):
        as_of = requests["Time"].astype(np.int64) - back
        balances = [right.balance(vid, time - back) for time, vid, _ in asked]
        assert found.balances.as_of(requests["VID"], as_of).tolist() == balances

    requests = found.requests[3]
    rows = zip(requests["Time"].tolist(), requests["QID"].tolist(), found.expenditures.tolist(), strict=True)
    assert list(rows) == right.expenditures
    requests = found.requests[4]
    rows = zip(requests["Time"].tolist(), requests["QID"].tolist(), strict=True)
    assert list(rows) == [(time, qid) for time, qid, _, _ in right.journeys]
    assert found.journeys.seconds == pytest.approx([float(one.seconds) for one in right.journeys], abs=1e-6)
    assert found.journeys.toll == pytest.approx([float(one.toll) for one in right.journeys], abs=1e-6)


@few
@given(seed=seeds, start=st.sampled_from((0, 9600, 9617)))
def test_answers_to_a_sound_file_are_those_by_definition(seed: int, start: int, tmp_path: Path) -> None:
    city = random_city(Random(seed), start=start)
    agree(expected_of(city, tmp_path), city.answers())


@few
@given(seed=seeds, today=st.integers(1, 7))
def test_answers_to_a_messy_file_are_those_by_definition(seed: int, today: int, tmp_path: Path) -> None:
    city = random_city(Random(seed), messy=True)
    agree(expected_of(city, tmp_path, ".parquet", today), city.answers(today))


@pytest.mark.slow
@settings(few, max_examples=80)
@given(seed=seeds, messy=st.booleans(), minutes=st.integers(1, 12))
def test_answers_are_those_by_definition_at_length(seed: int, messy: bool, minutes: int, tmp_path: Path) -> None:
    city = random_city(Random(seed), minutes=minutes, messy=messy)
    agree(expected_of(city, tmp_path), city.answers())


def test_random_cities_have_what_they_are_to_test() -> None:
    cities = [random_city(Random(seed), messy=seed % 2 == 1).answers() for seed in range(6)]
    assert sum(row.toll > 0 for right in cities for row in right.tolls) > 50
    assert sum(len(right.alerts) for right in cities) > 50
    assert sum(amount > 0 for right in cities for paid in right.charges.values() for _, amount in paid) > 50
    assert sum(row.balance > 0 for right in cities for row in right.expenditures) > 50
    assert sum(row.toll > 0 for right in cities for row in right.journeys) > 50


def crowd(minute: int, segment: int, cars: int = 60, speed: int = 30) -> list[Row]:
    """`cars` vehicles that report once each in a minute (counted from 0), ids from 1000."""
    return [report(minute * 60 + car % 60, 1000 + car, segment, speed=speed) for car in range(cars)]


def both(rows: list[Row], folder: Path) -> Answers:
    """The answers by definition, which the validator must share."""
    city = SmallCity(sorted(rows, key=lambda row: row[1]), [], [])
    right = city.answers()
    agree(expected_of(city, folder), right)
    return right


def test_a_toll_is_quoted_on_entry_and_charged_on_the_way_out(tmp_path: Path) -> None:
    rows = [
        *crowd(0, 10),
        report(60, 1, 10, lane=0),
        report(90, 1, 10),
        report(120, 1, 11),
        (2, 120, 1, *[-1] * 6, 5, *[-1] * 5),
    ]
    right = both(rows, tmp_path)
    # Of the crowd's minute: 60 cars at 30 mph. In minute 2, when 1 leaves, only its own two reports were there.
    assert [row for row in right.tolls if row.vid == 1] == [(1, 60, 30, 200), (1, 120, 0, 0)]
    assert right.charges[1] == [(120, 200)]
    assert (right.balance(1, 119), right.balance(1, 120)) == (0, 200)


def test_leaving_by_the_exit_ramp_is_free_but_the_segment_before_is_not(tmp_path: Path) -> None:
    rows = [
        *crowd(0, 10),
        *crowd(0, 11),
        report(60, 1, 10),
        report(90, 1, 11, lane=4),
        report(60, 2, 10),
        report(90, 2, 10, lane=4),
    ]
    right = both(rows, tmp_path)
    assert [row for row in right.tolls if row.vid in (1, 2)] == [(1, 60, 30, 200), (2, 60, 30, 200)]
    assert (right.charges.get(1), right.charges.get(2)) == ([(90, 200)], None)


@pytest.mark.parametrize(
    ("speeds", "lav", "toll"), [((40, 40), 40, 0), ((39, 40), 39, 200), ((-5, -6), -6, 200)], ids=str
)
def test_lav_is_rounded_down(speeds: tuple[int, int], lav: int, toll: int, tmp_path: Path) -> None:
    rows = [*crowd(0, 10, 60, speeds[0]), *crowd(1, 10, 60, speeds[1]), report(120, 1, 10)]
    assert [row for row in both(rows, tmp_path).tolls if row.vid == 1] == [(1, 120, lav, toll)]


def test_a_mean_of_exactly_a_whole_number_stays_it(tmp_path: Path) -> None:
    # The means of these five minutes, added up in floating point, make 39.99999999999999.
    minutes = [
        [35, 33, 46, 46, 36, 35], [43, 46, 32, 46, 38, 30], [46, 39, 49], [38, 42, 39, 46, 30, 39],
        [49, 36, 45, 35, 32, 39, 31, 47, 34],
    ]  # fmt: skip
    rows = [report(60 * m, 100 + i, 10, speed=speed) for m, own in enumerate(minutes) for i, speed in enumerate(own)]
    assert both([*rows, report(300, 1, 10)], tmp_path).tolls[-1] == (1, 300, 40, 0)


def test_cars_count_once_and_by_their_own_average(tmp_path: Path) -> None:
    rows = [report(0, 7, 10, speed=10), report(30, 7, 10, speed=30), report(10, 8, 10, speed=60), report(60, 1, 10)]
    assert both(rows, tmp_path).tolls[-1] == (1, 60, 40, 0)  # (20 + 60) / 2, not (10 + 30 + 60) / 3


def test_a_car_that_comes_back_within_the_minute_counts_once_in_it(tmp_path: Path) -> None:
    rows = [report(0, 7, 10, speed=10), report(20, 7, 11), report(40, 7, 10, speed=30), report(5, 8, 10, speed=60)]
    assert both([*rows, report(60, 1, 10)], tmp_path).tolls[-1] == (1, 60, 40, 0)


def stop(vid: int, times: range, segment: int = 12, **more: int) -> list[Row]:
    return [report(time, vid, segment, speed=0, feet=100, **more) for time in times]


def alerted_minutes(rows: list[Row], folder: Path, segment: int = 10) -> list[int]:
    """The minutes (from 1) in which a vehicle entering `segment` is alerted; one comes every 30 s."""
    probes = [report(time, 5000 + time, segment, direction=rows[0][6]) for time in range(15, 900, 30)]
    return sorted({row.time // 60 + 1 for row in both([*rows, *probes], folder).alerts if row.vid >= 5000})


def test_alerts_run_from_the_minute_after_the_fourth_report_of_the_later_one(tmp_path: Path) -> None:
    # The later one reports for the fourth time at 125, and from elsewhere at 335: held from 125 to 334, minutes 3 to 6.
    rows = [*stop(1, range(5, 400, 30)), *stop(2, range(35, 330, 30)), report(335, 2, 12, feet=900)]
    assert alerted_minutes(rows, tmp_path) == [4, 5, 6, 7]


@pytest.mark.parametrize(("last", "minutes"), [(210, [3, 4, 5]), (211, [3, 4, 5, 6])], ids=str)
def test_who_vanishes_ends_an_accident_30_seconds_later(last: int, minutes: list[int], tmp_path: Path) -> None:
    # Held until last + 29: 239 is still in minute 4, 240 in minute 5.
    phase = last % 30
    rows = [*stop(1, range(0, 700, 30)), *stop(2, range(phase, last + 1, 30))]
    assert alerted_minutes(rows, tmp_path) == minutes


def test_a_report_from_elsewhere_off_the_beat_ends_an_accident_at_once(tmp_path: Path) -> None:
    # The last equal report of 2, at 238, would do until 267; a report at 240 ends it with minute 4.
    rows = [*stop(1, range(0, 700, 30)), *stop(2, range(28, 239, 30))]
    assert alerted_minutes(rows, tmp_path) == [3, 4, 5, 6]
    assert alerted_minutes([*rows, report(240, 2, 12, feet=900)], tmp_path) == [3, 4, 5]


@pytest.mark.parametrize(
    ("other", "alerts"),
    [({}, True), ({"lane": 2}, False), ({"direction": 1}, False), ({"xway": 1}, False), ({"segment": 11}, False)],
    ids=["same place", "lane", "direction", "expressway", "position"],
)
def test_an_accident_takes_two_at_one_place(other: dict[str, int], alerts: bool, tmp_path: Path) -> None:
    rows = [*stop(1, range(0, 300, 30)), *stop(2, range(0, 300, 30), **other)]
    assert bool(alerted_minutes(rows, tmp_path)) == alerts


@pytest.mark.parametrize("lane", [0, 4], ids=["entry", "exit"])
def test_there_is_no_accident_on_a_ramp(lane: int, tmp_path: Path) -> None:
    rows = [*stop(1, range(0, 300, 30), lane=lane), *stop(2, range(0, 300, 30), lane=lane)]
    assert alerted_minutes(rows, tmp_path) == []


def test_an_accident_is_told_up_to_four_segments_upstream_and_the_nearest_is_named(tmp_path: Path) -> None:
    def at(segment: int, direction: int, vid: int) -> list[Row]:
        return [row for n in (0, 1) for row in stop(vid + n, range(0, 120, 30), segment, direction=direction)]

    rows = [*at(12, 0, 1), *at(14, 0, 3), *at(2, 1, 5)]
    rows += [report(125, 100 + segment, segment) for segment in range(6, 20)]
    rows += [report(125, 200 + segment, segment, direction=1) for segment in range(10)]
    found = {row.vid: row.segment for row in both(rows, tmp_path).alerts}
    assert found == {**{100 + s: 12 for s in range(8, 13)}, 113: 14, 114: 14, **{200 + s: 2 for s in range(2, 7)}}


def test_no_toll_is_taken_upstream_of_an_accident(tmp_path: Path) -> None:
    rows = [*crowd(1, 10), *stop(1, range(0, 90, 30)), *stop(2, range(0, 90, 30)), report(125, 3, 10)]
    assert both(rows, tmp_path).tolls[-1].toll == 200
    rows += [*stop(1, range(90, 91)), *stop(2, range(90, 91))]
    assert both(rows, tmp_path).tolls[-1].toll == 0


def test_a_journey_goes_on_past_midnight_into_the_next_day_of_the_week(tmp_path: Path) -> None:
    # Day 7 ends: today is day 1, so yesterday (history day 1) was day 7 of the week, and day 7 was again day 1.
    segments = [
        (1, 1440, 0, 0, 5, 30, 10, 0),
        (7, 1, 0, 0, 6, 20, 60, 0),
        (7, 4, 0, 0, 7, 60, 60, 0),
        (71, 4, 0, 0, 7, 1, 1, 0),
    ]
    request = (4, 9, 1, -1, 0, -1, -1, -1, -1, 3, 5, 8, 7, 1440, -1)
    city = SmallCity([request], [], segments)
    right = city.answers()
    # 2 minutes to 1442 = minute 2 of day 1, which has no row for segment 6; so still minute 2 in segment 7: no row.
    assert right.journeys == [(9, 3, 120, 0)]
    city.segments += [(7, 2, 0, 0, 6, 20, 60, 0), (7, 5, 0, 0, 7, 60, 60, 0)]
    right = city.answers()
    assert right.journeys == [(9, 3, 120 + 180 + 60, 200)]
    agree(expected_of(city, tmp_path), right)


def test_without_histories_answers_are_zero(tmp_path: Path) -> None:
    city = random_city(Random(1))
    found = expect(write(tmp_path / "input.csv", city.input, records.INPUT), tolls=None, segments=None)
    agree(found, answers(city.input))
    assert not found.expenditures.any()
    assert not found.journeys.seconds.any()
    assert len(found.journeys.seconds) > 0


def test_rows_that_are_not_of_the_benchmark_are_left_out_and_said(tmp_path: Path) -> None:
    good = report(60, 1, 10)
    odd = [report(60, 2, 100), report(60, 3, 10, lane=5), report(60, 4, 10, direction=2), (7, *good[1:])]
    path = write(tmp_path / "input.csv", [good, *odd], records.INPUT)
    with path.open("a") as file:
        file.write("0,60,5\n")
    found = expect(path, tolls=None, segments=None)
    assert found.notifications.vid.tolist() == [1]
    assert [note.split()[0] for note in found.notes] == ["3", "2"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_empty_input_asks_for_nothing(suffix: str, tmp_path: Path) -> None:
    found = expected_of(SmallCity([], [], []), tmp_path, suffix)
    assert len(found.notifications.vid) == len(found.alerts.vid) == len(found.requests[2]) == 0


def test_a_file_that_is_no_input_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "input.csv"
    path.write_text(",".join(["Type"] * 15) + "\n")
    with pytest.raises(ValueError, match=r"input\.csv is not a file of Type, Time"):
        expect(path, tolls=None, segments=None)
    with pytest.raises(ValueError, match="today is a day of the week"):
        expect(path, tolls=None, segments=None, today=0)


def test_the_validator_shares_no_code_with_the_application_or_the_engine() -> None:
    allowed = {"linear_road.records", "linear_road.validator", "linear_road.wording"}  # wording: how numbers are told
    for path in Path(validator.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{name}" for name in names]
            for name in names:
                assert not name.startswith("millpond"), path
                assert not name.startswith("linear_road") or any(name.startswith(part) for part in allowed), (
                    path,
                    name,
                )
