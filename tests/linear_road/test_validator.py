"""The verdict: right output passes in any admissible form, and every kind of fault in it is counted and explained.

The city is a random one; its right answers come from evaluation by definition, not from the validator.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from linear_road import records
from linear_road.validator import Progress, TypeVerdict, Verdict, validate
from linear_road.validator.compare import key, match
from tests.linear_road.reference import LIMITS, Answers, SmallCity, perfect_output, random_city, report, write

FAULTS = ("missing", "unexpected", "wrong", "late")
TYPES = (0, 1, 2, 3, 4)
TIME_FIELD = {0: 2, 1: 1, 2: 1, 3: 1, 4: 1}
VALUE_FIELD = {0: 5, 1: 4, 2: 5, 3: 4, 4: 4}
QUERY_FIELD = {2: 4, 3: 3, 4: 3}


class Run:
    """A city on disk, and its right output in memory."""

    def __init__(self, folder: Path, city: SmallCity, seed: int = 5) -> None:
        self.folder, self.right = folder, city.answers()
        self.lines = perfect_output(self.right, Random(seed))
        self.input = write(folder / "input.parquet", city.input, records.INPUT)
        self.tolls = write(folder / "tolls.csv", city.tolls, records.TOLLS)
        self.segments = write(folder / "segments.csv", city.segments, records.SEGMENT_STATISTICS)

    def validate(
        self, lines: list[str], *, end: str = "\n", late_ok: bool = False, start: int | None = None
    ) -> Verdict:
        output = self.folder / "output.csv"
        output.write_text("".join(line + end for line in lines), newline="")
        return validate(
            self.input, output, tolls=self.tolls, segments=self.segments, late_ok=late_ok, start=start
        )  # fmt: skip

    def of_type(self, kind: int) -> list[str]:
        return [line for line in self.lines if line.startswith(f"{kind},")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A city whose answers of every type are many, and not all zero."""
    for seed in range(100):
        city = random_city(Random(seed), start=9600)
        run = Run(tmp_path_factory.mktemp("city"), city)
        charged = any(amount for paid in run.right.charges.values() for _, amount in paid)
        if charged and all(len(run.of_type(kind)) > 4 for kind in TYPES):
            return run
    raise AssertionError("no city has all types of answers")


def counts(verdict: Verdict, kind: int) -> dict[str, int]:
    answers = verdict.types[kind]
    return {fault: count for fault in FAULTS if (count := getattr(answers, fault))}


def field(line: str, at: int) -> str:
    return line.split(",")[at]


def with_field(line: str, at: int, change: Callable[[float], float | str]) -> str:
    fields = line.split(",")
    fields[at] = str(change(float(fields[at])))
    return ",".join(fields)


def test_right_output_is_valid(run: Run) -> None:
    verdict = run.validate(run.lines)
    assert verdict.ok, str(verdict)
    assert verdict.examples == ()
    right: Answers = run.right
    sizes = [
        len(right.tolls),
        len(right.alerts),
        len(right.balance_requests),
        len(right.expenditures),
        len(right.journeys),
    ]
    assert [answers.expected for answers in verdict.types] == sizes
    assert [answers.right for answers in verdict.types] == sizes
    assert str(verdict).endswith("are right and in time.")


def test_rows_may_come_in_any_order_and_with_any_line_end(run: Run) -> None:
    assert run.validate(sorted(run.lines)).ok
    assert run.validate(sorted(run.lines, reverse=True), end="\r\n").ok
    assert run.validate([*run.lines[:5], "", *run.lines[5:]]).ok
    assert run.validate(["\n".join(run.lines)], end="").ok, "the last line may lack its end"


@pytest.mark.parametrize("kind", TYPES)
def test_a_missing_answer_is_found(run: Run, kind: int) -> None:
    lost, *_ = run.of_type(kind)
    verdict = run.validate([line for line in run.lines if line != lost])
    assert counts(verdict, kind) == {"missing": 1}
    assert not verdict.ok
    (example,) = verdict.examples
    assert example.kind == "missing"
    assert field(lost, TIME_FIELD[kind]) in example.why


@pytest.mark.parametrize("kind", TYPES)
def test_a_doubled_answer_is_found(run: Run, kind: int) -> None:
    twice = run.of_type(kind)[0]
    verdict = run.validate([*run.lines, twice, twice])
    assert counts(verdict, kind) == {"unexpected": 2}
    assert not verdict.ok
    assert {(example.kind, example.why) for example in verdict.examples} == {
        ("unexpected", "the answer was given before: a duplicate")
    }


@pytest.mark.parametrize("kind", TYPES)
def test_a_right_answer_among_wrong_ones_of_its_key_counts(run: Run, kind: int) -> None:
    line = run.of_type(kind)[0]
    wrong = with_field(line, VALUE_FIELD[kind], lambda value: int(value) + 7)
    for lines in ([wrong, *run.lines], [*run.lines, wrong]):
        assert counts(run.validate(lines), kind) == {"unexpected": 1}


@pytest.mark.parametrize("kind", TYPES)
def test_an_answer_nobody_asked_for_is_found(run: Run, kind: int) -> None:
    line = run.of_type(kind)[0]
    verdict = run.validate([*run.lines, with_field(line, TIME_FIELD[kind], lambda time: int(time) - 5000)])
    assert counts(verdict, kind) == {"unexpected": 1}
    assert verdict.examples[0].why == "nothing in the input asks for it"


@pytest.mark.parametrize("kind", TYPES)
def test_a_wrong_answer_is_found_and_explained(run: Run, kind: int) -> None:
    line = run.of_type(kind)[0]
    wrong = with_field(line, VALUE_FIELD[kind], lambda value: int(value) + 2)
    verdict = run.validate([wrong if one == line else one for one in run.lines])
    assert counts(verdict, kind) == {"wrong": 1}
    assert verdict.types[kind].right == verdict.types[kind].expected - 1
    (example,) = verdict.examples
    assert example.kind == "wrong"
    assert "expected" in example.why
    assert str(int(float(field(wrong, VALUE_FIELD[kind])))) in example.why.split("got")[1]


@pytest.mark.parametrize(
    ("emit", "late"), [(0.0, 0), (1.0, 0), (1.001, 1), (-0.001, 1)], ids=["at once", "limit", "after", "before"]
)
@pytest.mark.parametrize("kind", TYPES)
def test_a_response_is_in_time_from_0_to_its_limit(run: Run, kind: int, emit: float, late: int) -> None:
    line, time = run.of_type(kind)[0], int(field(run.of_type(kind)[0], TIME_FIELD[kind]))
    at = time + LIMITS[kind] * emit if 0 <= emit <= 1 else time + (LIMITS[kind] + 0.001 if emit > 0 else -0.001)
    shifted = with_field(line, TIME_FIELD[kind] + 1, lambda _: f"{at:.3f}")
    lines = [shifted if one == line else one for one in run.lines]
    verdict = run.validate(lines)
    assert counts(verdict, kind) == ({"late": 1} if late else {})
    assert verdict.ok is not bool(late)
    assert verdict.correct
    assert run.validate(lines, late_ok=True).ok
    assert run.validate(lines, start=time).ok is not bool(late)
    assert run.validate(lines, start=time + 1).ok, "what is replayed before the start is not timed"


def test_response_times_are_those_of_the_rows(run: Run) -> None:
    verdict = run.validate(run.lines)
    for kind, answers in zip(TYPES, verdict.types, strict=True):
        at = TIME_FIELD[kind]
        responses = sorted(float(field(line, at + 1)) - int(field(line, at)) for line in run.of_type(kind))
        assert answers.max == pytest.approx(responses[-1])
        assert answers.mean == pytest.approx(sum(responses) / len(responses))
        assert answers.p99 is not None
        assert sum(response <= answers.p99 + 1e-9 for response in responses) >= 0.99 * len(responses)
        assert sum(response < answers.p99 - 1e-9 for response in responses) <= 0.99 * len(responses)
    untimed = run.validate(run.lines, start=10**6)
    assert all((answers.timed, answers.max, answers.p99) == (0, None, None) for answers in untimed.types)
    assert untimed.ok


def balance_lines(run: Run, change: Callable[[int, int, int], tuple[float, int]]) -> list[str]:
    """The run's output with every balance answered as `change(time, vid, qid)` says: ResultTime and Bal."""
    others = [line for line in run.lines if not line.startswith("2,")]
    mine = [(row, change(*row)) for row in run.right.balance_requests]
    return others + [f"2,{time},{time}.5,{as_of},{qid},{bal}" for (time, _, qid), (as_of, bal) in mine]


@pytest.mark.parametrize("back", [0, 1, 30, 59, 60, 17.5], ids=str)
def test_a_balance_may_be_up_to_60_seconds_old(run: Run, back: float) -> None:
    lines = balance_lines(run, lambda time, vid, _: (time - back, run.right.balance(vid, time - back)))
    assert run.validate(lines).ok


@pytest.mark.parametrize("back", [61, 60.001, -1], ids=str)
def test_a_balance_may_not_be_older_or_of_the_future(run: Run, back: float) -> None:
    lines = balance_lines(run, lambda time, vid, _: (time - back, run.right.balance(vid, time - back)))
    verdict = run.validate(lines)
    assert verdict.types[2].wrong == verdict.types[2].expected
    assert "expected a ResultTime from" in verdict.examples[0].why


def test_a_balance_must_be_right_as_of_the_time_it_states(run: Run) -> None:
    right, requests = run.right, run.right.balance_requests
    changed = [(time, vid) for time, vid, _ in requests if right.balance(vid, time) != right.balance(vid, time - 60)]
    assert changed, "some vehicle must have been charged in the last minute"
    verdict = run.validate(balance_lines(run, lambda time, vid, _: (time, right.balance(vid, time - 60))))
    assert counts(verdict, 2) == {"wrong": len(changed)}


@pytest.mark.parametrize(("seconds", "toll", "right"), [(0.99, 0, True), (-0.99, 0.99, True), (1.01, 0, False), (0, -1.01, False)], ids=str)  # fmt: skip
def test_a_journey_may_be_rounded_any_way(run: Run, seconds: float, toll: float, right: bool) -> None:
    others = [line for line in run.lines if not line.startswith("4,")]
    mine = [f"4,{time},{time},{qid},{float(s) + seconds},{float(t) + toll}" for time, qid, s, t in run.right.journeys]
    verdict = run.validate(others + mine)
    assert verdict.types[4].wrong == (0 if right else len(mine))


MALFORMED = [
    "5,1,2,3,4,5",
    "hello",
    "0,1,2",
    "0,1,2,3,4,5,6",
    "0,a,1,1.0,1,1",
    "1,1,nan,1,1",
    "2,1,1.0,,1,1",
    "3,1.5,2,1,1",
    "-1,2,3",
    "0",
]


@pytest.mark.parametrize("line", MALFORMED)
def test_a_malformed_line_is_counted_and_stops_nothing(run: Run, line: str) -> None:
    verdict = run.validate([*run.lines[:9], line, *run.lines[9:]])
    assert (verdict.malformed, verdict.ok) == (1, False)
    assert [example.row for example in verdict.malformed_examples] == [line]
    assert all(counts(verdict, kind) == {} for kind in TYPES)


def test_an_empty_output_lacks_everything(run: Run) -> None:
    verdict = run.validate([])
    assert all(answers.missing == answers.expected for answers in verdict.types)
    assert all(len(answers.examples) == 3 for answers in verdict.types)


def test_examples_are_the_earliest(run: Run) -> None:
    verdict = run.validate([line for line in run.lines if not line.startswith("0,")])
    first = sorted(run.right.tolls, key=lambda row: row.time)[:3]
    assert [f" at {row.time}:" in example.why for row, example in zip(first, verdict.examples, strict=True)] == [
        True
    ] * 3


def test_query_ids_are_of_their_type_and_may_repeat(tmp_path: Path) -> None:
    def request(kind: int, time: int, vid: int, qid: int, xway: int, day: int) -> tuple[int, ...]:
        return (kind, time, vid, -1, xway, -1, -1, -1, -1, qid, -1, -1, -1, -1, day)

    rows = [
        request(3, 7, 1, 1, 0, 5),
        request(3, 7, 2, 1, 0, 5),
        request(3, 8, 2, 1, 0, 6),
        request(2, 7, 1, 1, -1, -1),
    ]
    run = Run(tmp_path, SmallCity(rows, [(1, 5, 0, 10), (2, 5, 0, 20), (2, 6, 0, 30)], []))
    assert run.validate(run.lines).ok
    assert run.validate(["3,7,7,1,20", "3,7,7,1,10", "3,8,8,1,30", "2,7,7,7,1,0"]).ok
    verdict = run.validate(["3,7,7,1,10", "3,7,7,1,10", "3,7,7,1,20", "3,8,8,1,30", "2,7,7,7,1,0"])
    assert counts(verdict, 3) == {"unexpected": 1}
    assert counts(run.validate(["3,7,7,1,20", "3,8,8,1,31", "2,7,7,7,1,0"]), 3) == {"missing": 1, "wrong": 1}


def test_a_vehicle_in_two_places_at_once_has_two_answers(tmp_path: Path) -> None:
    run = Run(tmp_path, SmallCity([report(60, 1, 10), report(60, 1, 20, xway=1)], [], []))
    assert counts(run.validate(["0,1,60,60,0,0"]), 0) == {"missing": 1}
    assert run.validate(["0,1,60,60,0,0"] * 2).ok
    assert counts(run.validate(["0,1,60,60,0,0"] * 3), 0) == {"unexpected": 1}


def test_pairs_are_made_by_key_as_by_trying(tmp_path: Path) -> None:
    """`match` against the greedy rule said in words, on few keys and values so that all kinds of collision occur."""
    random = np.random.default_rng(3)
    for _ in range(300):
        e_key, e_value = random.integers(0, 5, (2, random.integers(0, 8))).astype(np.int32)
        r_key, r_value = random.integers(0, 5, (2, random.integers(0, 8))).astype(np.int32)
        e_value, r_value = e_value % 2, r_value % 2
        zero = np.zeros_like
        found = match(key(e_key, zero(e_key)), key(r_key, zero(r_key)), lambda e, r, a=e_value, b=r_value: a[e] == b[r])
        right = wrong = 0
        for k in range(5):
            want, have = e_value[e_key == k].tolist(), r_value[r_key == k].tolist()
            equal = sum(min(want.count(value), have.count(value)) for value in (0, 1))
            right += equal
            wrong += min(len(want), len(have)) - equal
        assert (found.right.sum(), (~found.right).sum()) == (right, wrong)
        assert len(found.missing) == len(e_key) - right - wrong
        assert sorted([*found.expected, *found.missing]) == list(range(len(e_key)))
        assert sorted([*found.rows, *found.unexpected]) == list(range(len(r_key)))
        assert (e_key[found.expected] == r_key[found.rows]).all()


def test_a_verdict_can_be_read_by_people_and_programs(run: Run) -> None:
    verdict = run.validate(run.lines[1:])
    text, data = str(verdict), json.loads(verdict.to_json())
    assert text.splitlines()[0].split() == [
        "type", "expected", "right", "missing", "unexpected", "wrong", "late", "limit", "max", "mean", "p99"
    ]  # fmt: skip
    assert text.splitlines()[-1].startswith("Not valid: ")
    assert (data["ok"], data["late"], data["malformed"]) == (False, 0, 0)
    assert list(data["types"]) == ["toll", "accident", "balance", "expenditure", "travel time"]
    for answers in verdict.types:
        assert isinstance(answers, TypeVerdict)
        assert data["types"][answers.name]["missing"] == answers.missing
        assert answers.right + answers.wrong + answers.missing == answers.expected


def test_progress_goes_through_every_stage_to_its_end(run: Run) -> None:
    output = run.folder / "progress.csv"
    output.write_text("\n".join(run.lines))
    seen: list[Progress] = []
    validate(run.input, output, tolls=run.tolls, segments=run.segments, on_progress=seen.append)
    last = {progress.stage: progress.share for progress in seen}
    assert list(last) == [
        "reading the input", "working out the answers", "reading the toll history", "reading the segment history",
        "reading the output", "comparing",
    ]  # fmt: skip
    assert all(share == pytest.approx(1, abs=0.01) for share in last.values())
