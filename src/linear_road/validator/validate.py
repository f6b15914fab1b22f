"""Compare an output file with what its input asks for, type by type.

A `_Check` says for one type how expected answers and rows are known, when a row is right, and how to explain one that
is not. The rest is the same for all types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from linear_road import records
from linear_road.validator.compare import Admits, Matching, key, match
from linear_road.validator.expected import Expected, expect
from linear_road.validator.output import Column, Output, read_output
from linear_road.validator.progress import OnProgress, Progress
from linear_road.validator.read import Ints
from linear_road.validator.vehicles import Bools, Indices
from linear_road.validator.verdict import LIMITS, NAMES, Example, TypeVerdict, Verdict

TOLL, ACCIDENT = 0, 1
EXAMPLES: Final = 3
"""Of each kind and type, the earliest."""
OLDEST_BALANCE: Final = 60
ROUNDING: Final = 1.0 + 1e-6


def validate(
    input: Path,
    output: Path,
    *,
    tolls: Path | None,
    segments: Path | None,
    today: int = 1,
    late_ok: bool = False,
    start: int | None = None,
    on_progress: OnProgress = lambda progress: None,
) -> Verdict:
    """Check the answers in `output` to the tuples of `input`, a CSV or Parquet file, with the histories they ask for.

    `today` is the day of the week of the simulated day. With `late_ok` late answers are counted but forgiven. With
    `start` only answers to tuples from that second on are timed. The readings are in the package's description.
    """
    expected = expect(input, tolls=tolls, segments=segments, today=today, on_progress=on_progress)
    found = read_output(output, on_progress)
    types = []
    for kind in NAMES:
        types.append(_judge(_CHECKS[kind](expected, found.columns[kind]), kind, found, start))
        on_progress(Progress("comparing", len(types) / len(NAMES)))
    lines = tuple(Example("malformed", line, "no row of any type") for line in found.malformed_lines)
    return Verdict(tuple(types), found.malformed, lines, expected.reports, expected.notes, late_ok)


@dataclass(frozen=True)
class _Check:
    """The answers of one type."""

    who: Ints
    time: Ints
    """The key of each expected answer: its vehicle or query, and its time."""
    row_who: Ints
    admits: Admits
    wanted: Callable[[int], str]
    """What an expected answer should have been, in words."""
    objection: Callable[[int, int], str]
    """What is wrong with a row, as answer to an expected one."""


def _notifications(expected: Expected, rows: dict[str, Column]) -> _Check:
    right = expected.notifications

    def admits(e: Indices, r: Indices) -> Bools:
        return np.asarray((right.lav[e] == rows["Lav"][r]) & (right.toll[e] == rows["Toll"][r]), np.bool_)

    def wanted(e: int) -> str:
        return f"vehicle {right.vid[e]} at {right.time[e]}: Lav {right.lav[e]}, toll {right.toll[e]}"

    def objection(e: int, r: int) -> str:
        return f"expected Lav {right.lav[e]}, toll {right.toll[e]}; got {rows['Lav'][r]}, {rows['Toll'][r]}"

    return _Check(right.vid, right.time, rows["VID"], admits, wanted, objection)


def _alerts(expected: Expected, rows: dict[str, Column]) -> _Check:
    right = expected.alerts

    def admits(e: Indices, r: Indices) -> Bools:
        return np.asarray(right.segment[e] == rows["Seg"][r], np.bool_)

    def wanted(e: int) -> str:
        return f"vehicle {right.vid[e]} at {right.time[e]}: accident in segment {right.segment[e]}"

    def objection(e: int, r: int) -> str:
        return f"expected segment {right.segment[e]}; got {rows['Seg'][r]}"

    return _Check(right.vid, right.time, rows["VID"], admits, wanted, objection)


def _balances(expected: Expected, rows: dict[str, Column]) -> _Check:
    requests, balances = expected.requests[records.BALANCE], expected.balances

    def admits(e: Indices, r: Indices) -> Bools:
        time, as_of = requests["Time"][e], rows["ResultTime"][r]
        recent = (as_of >= time - OLDEST_BALANCE) & (as_of <= time)
        second = np.floor(np.where(recent, as_of, 0)).astype(np.int64)
        return np.asarray(recent & (balances.as_of(requests["VID"][e], second) == rows["Bal"][r]), np.bool_)

    def balance(e: int, second: float) -> int:
        return int(balances.as_of(requests["VID"][[e]], np.floor([second]).astype(np.int64))[0])

    def wanted(e: int) -> str:
        time = int(requests["Time"][e])
        return f"query {requests['QID'][e]} at {time} of vehicle {requests['VID'][e]}: {balance(e, time)} as of {time}"

    def objection(e: int, r: int) -> str:
        time, as_of = int(requests["Time"][e]), float(rows["ResultTime"][r])
        if not time - OLDEST_BALANCE <= as_of <= time:
            return f"expected a ResultTime from {time - OLDEST_BALANCE} to {time}; got {as_of:.10g}"
        vid = requests["VID"][e]
        return f"expected {balance(e, as_of)}, the balance of vehicle {vid} as of {as_of:.10g}; got {rows['Bal'][r]}"

    return _Check(requests["QID"], requests["Time"], rows["QID"], admits, wanted, objection)


def _expenditures(expected: Expected, rows: dict[str, Column]) -> _Check:
    requests, paid = expected.requests[records.EXPENDITURE], expected.expenditures

    def admits(e: Indices, r: Indices) -> Bools:
        return np.asarray(paid[e] == rows["Bal"][r], np.bool_)

    def asked(e: int) -> str:
        return f"vehicle {requests['VID'][e]}, day {requests['Day'][e]}, expressway {requests['XWay'][e]}"

    def wanted(e: int) -> str:
        return f"query {requests['QID'][e]} at {requests['Time'][e]} ({asked(e)}): {paid[e]}"

    def objection(e: int, r: int) -> str:
        return f"expected {paid[e]} ({asked(e)}); got {rows['Bal'][r]}"

    return _Check(requests["QID"], requests["Time"], rows["QID"], admits, wanted, objection)


def _journeys(expected: Expected, rows: dict[str, Column]) -> _Check:
    requests, right = expected.requests[records.TRAVEL_TIME], expected.journeys

    def admits(e: Indices, r: Indices) -> Bools:
        seconds, toll = rows["TravelTime"][r], rows["Toll"][r]

        def near(right_seconds: Column, right_toll: Column) -> Bools:
            off = np.maximum(np.abs(right_seconds[e] - seconds), np.abs(right_toll[e] - toll))
            return np.asarray(off <= ROUNDING, np.bool_)

        return near(right.seconds, right.toll) | near(right.other_seconds, right.other_toll)

    def asked(e: int) -> str:
        xway, start, end, day, minute = (requests[name][e] for name in ("XWay", "Sinit", "Send", "DOW", "TOD"))
        return f"expressway {xway}, segment {start} to {end}, day {day}, minute {minute}"

    def answer(e: int) -> str:
        return f"{right.seconds[e]:.3f} s and toll {right.toll[e]:.2f}"

    def wanted(e: int) -> str:
        return f"query {requests['QID'][e]} at {requests['Time'][e]} ({asked(e)}): {answer(e)}"

    def objection(e: int, r: int) -> str:
        return f"expected {answer(e)} ({asked(e)}); got {rows['TravelTime'][r]:.3f} and {rows['Toll'][r]:.2f}"

    return _Check(requests["QID"], requests["Time"], rows["QID"], admits, wanted, objection)


_CHECKS: Final[dict[int, Callable[[Expected, dict[str, Column]], _Check]]] = {
    TOLL: _notifications,
    ACCIDENT: _alerts,
    records.BALANCE: _balances,
    records.EXPENDITURE: _expenditures,
    records.TRAVEL_TIME: _journeys,
}


def _judge(check: _Check, kind: int, output: Output, start: int | None) -> TypeVerdict:
    rows = output.columns[kind]
    expected_keys, row_keys = key(check.who, check.time), key(check.row_who, rows["Time"])
    matching = match(expected_keys, row_keys, check.admits)
    emit, time = rows["Emit"][matching.rows], rows["Time"][matching.rows]
    timed = np.ones(len(time), np.bool_) if start is None else time >= start
    late = timed & ((emit > time + LIMITS[kind]) | (emit < time))
    response = (emit - time)[timed]
    right = int(np.count_nonzero(matching.right))
    return TypeVerdict(
        type=kind,
        expected=len(check.time),
        right=right,
        missing=len(matching.missing),
        unexpected=len(matching.unexpected),
        wrong=len(matching.right) - right,
        late=int(np.count_nonzero(late)),
        timed=len(response),
        max=float(response.max()) if len(response) else None,
        mean=float(response.mean()) if len(response) else None,
        p99=float(np.percentile(response, 99, method="higher")) if len(response) else None,
        examples=_examples(check, kind, output, matching, late),
    )


def _examples(check: _Check, kind: int, output: Output, matching: Matching, late: Bools) -> tuple[Example, ...]:
    time, emit = output.columns[kind]["Time"], output.columns[kind]["Emit"]
    examples = [
        Example("missing", f"type {kind} ({NAMES[kind]})", f"expected for {check.wanted(e)}")
        for e in _earliest(matching.missing, check.time)
    ]
    unexpected = _earliest(matching.unexpected, time)
    answered = key(check.row_who[matching.rows], time[matching.rows]) if unexpected else np.empty(0, np.int64)
    for r in unexpected:
        twin = bool((answered == key(check.row_who[[r]], time[[r]])[0]).any())
        why = "the answer was given before: a duplicate" if twin else "nothing in the input asks for it"
        examples.append(Example("unexpected", output.text(kind, r), why))
    for name, bad in (("wrong", ~matching.right), ("late", late)):
        for pair in _earliest(np.flatnonzero(bad), time[matching.rows]):
            e, r = int(matching.expected[pair]), int(matching.rows[pair])
            response = f"emitted {emit[r] - time[r]:.3f} s after its time; the limit is {LIMITS[kind]} s"
            why = check.objection(e, r) if name == "wrong" else response
            examples.append(Example(name, output.text(kind, r), why))
    return tuple(examples)


def _earliest(some: Indices, time: Ints) -> list[int]:
    """The few of `some` with the lowest `time`."""
    when = time[some]
    if len(some) > EXAMPLES:
        near = np.flatnonzero(when <= np.partition(when, EXAMPLES - 1)[EXAMPLES - 1])
        some, when = some[near], when[near]
    return [int(one) for one in some[np.argsort(when, kind="stable")][:EXAMPLES]]
