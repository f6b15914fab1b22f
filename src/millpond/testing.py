"""Checks for what others build on millpond: a new kind of source, or a test of your own, can be held to the same laws.

Each `check_*` takes a function that makes the thing under test and raises `AssertionError` with what went wrong.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from millpond.errors import counted
from millpond.reductions.base import Portion
from millpond.sinks.base import Event, Sink
from millpond.sources.base import RowSource, SourceBatch
from millpond.synopses.base import Synopsis, SynopsisError

# A call that may not wait has not returned after this many seconds: it waits. Also how long rows may be on their way.
PATIENCE = 20.0


@dataclass
class _Reading:
    """What a source gave: rows and bad rows as plain values, each with its place, and the position after each batch."""

    rows: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    bad: list[tuple[str, str, str]] = field(default_factory=list)
    marks: list[tuple[Any, int, int]] = field(default_factory=list)  # position, rows and bad rows up to there

    def count(self) -> int:
        return len(self.rows) + len(self.bad)

    def add(self, batch: SourceBatch) -> None:
        self.rows += [(batch.places(i), row) for i, row in enumerate(batch.rows.to_pylist())]
        self.bad += [(batch.places(b.index), b.reason, b.text) for b in batch.bad]
        self.marks.append((batch.position, len(self.rows), len(self.bad)))


def check_source(
    make: Callable[[], RowSource], rows: int, *, replayable: bool = True, sizes: Sequence[int] = (1, 2, 3, 7, 1000)
) -> None:
    """Check the promises of `RowSource`.

    `make` gives a new source at its beginning each time; it is closed before the next one is made. Each gives the same
    `rows` rows, good and bad together (a few dozen: they are read many times), and then nothing. `replayable=False` is
    for sources that cannot go back, like a socket; resuming is then not checked.

    - `next_batch` returns without waiting, never an empty batch, never more than asked for, None when there is nothing;
    - rows, bad rows and their places are the same whatever number is asked for at once;
    - positions are JSON values, and after `seek` to any of them the rest follows, without gap or repeat, in a new
      source as well as in one that has read on;
    - `close` can be called twice.
    """
    everything = _read_new(make, rows, 1 << 30)
    assert everything.count() == rows, f"read {counted(everything.count(), 'row')} instead of {rows}"
    finest = everything
    for most in sizes:
        reading = _read_new(make, rows, most)
        assert reading.rows == everything.rows, f"asked for {most} at once, the rows or their places differ"
        assert reading.bad == everything.bad, f"asked for {most} at once, the bad rows or their places differ"
        finest = max(finest, reading, key=lambda r: len(r.marks))
    if not replayable:
        return
    for position, good, bad in finest.marks:
        assert json.loads(json.dumps(position)) == position, f"position {position!r} is not a JSON value"
        source = make()
        try:
            source.seek(json.loads(json.dumps(position)))
            for again in ("", " a second time"):
                rest = _read(source, rows - good - bad, 2)
                where = f"after seek to {position}{again}"
                assert rest.rows == everything.rows[good:], f"rows are lost or repeated {where}"
                assert rest.bad == everything.bad[bad:], f"bad rows are lost or repeated {where}"
                source.seek(position)
        finally:
            source.close()


def check_sink(make: Callable[[], Sink], received: Callable[[], Sequence[str]]) -> None:
    """Check the promises of `Sink`.

    `make` gives a new sink to the same receiver each time; it is closed before the next one is made. `received` gives the ids
    of all rows that have arrived there, in the order in which they did.

    - when `flush` has returned, the rows sent before have arrived, in their order, whatever values they have;
    - an event is not changed;
    - a row that is sent again, as after a crash, is taken; it may arrive again or be recognised by its id;
    - `close` can be called twice, and another sink goes on where it ended.
    """
    sent: list[str] = []
    for number, size in enumerate((1, 2, 7)):
        sink = make()
        try:
            assert sink.batch >= 1, f"batch is {sink.batch}"
            for first in range(0, size, sink.batch):
                events = [_event(f"{number}-{place}") for place in range(first, min(size, first + sink.batch))]
                for event in events:
                    before = dict(event)
                    sink.send(event)
                    assert repr(event) == repr(before), "an event was changed"
                sink.flush()
                sent += [event["id"] for event in events]
                assert list(received()) == sent, f"{list(received())} arrived, {sent} were sent"
        finally:
            sink.close()
            sink.close()
    sink = make()
    try:
        sink.send(_event("2-6"))
        sink.flush()
    finally:
        sink.close()
    assert list(received()) in (sent, [*sent, "check:2-6"]), "a row sent again must arrive again, or be recognised"


def check_reduction(fraction: Callable[[Portion], float]) -> None:
    """Check the promises of a reduction: `fraction` is what a `ReductionKind` opens, or a function of a portion.

    - a fraction is a number, more than 0 and at most 1, of portions of any age and size and at any load;
    - it follows from the portion: asked again, in any order, it is the same.
    """
    portions = [
        Portion(timedelta(seconds=age), rows, 30 * rows, load, read)
        for age in (0, 59, 86_400, 400 * 86_400)
        for rows in (1, 2_000_000)
        for load in (0.0, 0.7, 1.0, 40.0)
        for read in (0, 1 << 40)
    ]
    answers = [fraction(portion) for portion in portions]
    for portion, answer in zip(portions, answers, strict=True):
        is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
        is_fraction = is_number and 0 < answer <= 1
        assert is_fraction, f"{answer!r} is no fraction of {portion}"
    again = [fraction(portion) for portion in reversed(portions)][::-1]
    changed = [portion for portion, a, b in zip(portions, answers, again, strict=True) if a != b]
    assert not changed, f"asked again, the answer was another for {changed[0]}"


def _event(name: str) -> Event:
    """A row with a value of every type."""
    return {
        "id": f"check:{name}",
        "query": "check",
        "instant": datetime(2026, 1, 31, 12, tzinfo=UTC),
        "whole": 1 << 40,
        "real": 0.5,
        "infinite": float("inf"),
        "decimal": Decimal("1.50"),
        "text": "caf\u00e9 \U0001f600\n",
        "bytes": b"\x00\xff",
        "truth": True,
        "day": date(2026, 1, 31),
        "nothing": None,
    }


def _read_new(make: Callable[[], RowSource], rows: int, most: int) -> _Reading:
    source = make()
    try:
        return _read(source, rows, most)
    finally:
        source.close()
        source.close()


def _read(source: RowSource, rows: int, most: int) -> _Reading:
    """Read until `rows` have come, then make sure that there are no more."""
    reading = _Reading()
    pause = threading.Event()
    misses = 0
    while reading.count() < rows:
        batch = _promptly(source, most)
        if batch is None:  # rows may be on their way through a thread of the source
            misses += 1
            assert misses * 0.001 < PATIENCE, f"only {reading.count()} of {counted(rows, 'row')} came"
            pause.wait(0.001)
            continue
        assert isinstance(batch.rows, (pa.Table, pa.RecordBatch)), f"rows are a {type(batch.rows).__name__}"
        size = batch.rows.num_rows + len(batch.bad)
        assert size > 0, "a batch is empty; return None instead"
        assert size <= most, f"a batch has {counted(size, 'row')}, more than the {most} asked for"
        assert all(b.index < 0 for b in batch.bad), "a bad row has an index that means a row of the batch"
        reading.add(batch)
    extra = _promptly(source, most)
    assert extra is None, f"more than {counted(rows, 'row')} came"
    return reading


def _promptly(source: RowSource, most: int) -> SourceBatch | None:
    """`next_batch` in a thread, so that one that waits is caught instead of waited for."""
    results: list[SourceBatch | None] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            results.append(source.next_batch(most))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), f"next_batch has not returned after {PATIENCE:.0f} seconds: it may not wait"
    if errors:
        raise errors[0]
    return results[0]


def check_synopsis(
    make: Callable[[], Synopsis],
    sample: Callable[[np.random.Generator, int], Any],
    truth: Callable[[Any], float | None],
    *,
    scale: Callable[[Any], float] | None = None,
    rate: float = 1.0,
    different: Callable[[], Synopsis] | None = None,
    rounds: int = 30,
) -> None:
    """Check the promises of `Synopsis`.

    `make` gives a new empty synopsis over time, with a window of at least 10. `sample(rng, n)` gives an array of n values to
    add, `truth(values)` the statistic of the values of a window, exactly (None: not defined for these). `scale(values)` is what
    `error` is relative to, where that is not the truth. `rate` is for synopses that are right in that part of all cases only;
    `different` makes one that must not merge.

    - the truth is within the bounds, and the value within `error`, for windows of all lengths, added singly or together, after
      merging and after a round trip through bytes, which gives the same bytes and the same answers also for what comes later;
    - times that go back are refused, and then nothing has been taken; `merge` changes neither side; no array given is kept.
    """
    _check_methods(make())
    judge = _Judge(truth, scale or (lambda values: abs(truth(values) or 0.0)))
    for seed in range(rounds):
        _one_round(make, sample, judge, np.random.default_rng(seed))
    judge.conclude(rate)
    if different is not None:
        _must_refuse(lambda: make().merge(different()), "synopses with different parameters were merged")


def _check_methods(synopsis: object) -> None:
    for name in ("parameters", "error", "add", "add_many", "estimate", "merge", "to_bytes", "from_bytes", "nbytes"):
        if getattr(synopsis, name, None) is None:
            raise AssertionError(f"{type(synopsis).__name__} lacks {name}, which every synopsis has")


@dataclass
class _Judge:
    """Counts the answers that are as promised."""

    truth: Callable[[Any], float | None]
    scale: Callable[[Any], float]
    answers: int = 0
    wrong: list[str] = field(default_factory=list)

    def ask(self, synopsis: Synopsis, times: Any, values: Any, now: int, window: int, when: str) -> None:
        held = values[(times > now - window) & (times <= now)]
        truth = self.truth(held)
        if truth is None:
            return
        found = synopsis.estimate(window, now)
        self.answers += 1
        slip = 1e-9 * max(1.0, abs(truth))
        if not found.lower - slip <= truth <= found.upper + slip:
            self.wrong.append(f"{when}, window {window}: {truth} is not in {found}")
        elif abs(found.value - truth) > synopsis.error * self.scale(held) + slip:
            self.wrong.append(f"{when}, window {window}: {found.value} is further than {synopsis.error} from {truth}")

    def conclude(self, rate: float) -> None:
        assert self.answers > 0, "nothing could be asked"
        # Four deviations of a binomial number, generously: answers of one round are not independent.
        allowed = (1 - rate) * self.answers + 4 * (self.answers * rate * (1 - rate)) ** 0.5
        assert len(self.wrong) <= allowed, (
            f"{len(self.wrong)} of {self.answers} answers are wrong, first {self.wrong[0]}"
        )


def _one_round(make: Callable[[], Synopsis], sample: Any, judge: _Judge, rng: np.random.Generator) -> None:
    window = next(w for w in (1 << 20, 1 << 10, 10) if _takes(make(), w))
    count = int(rng.integers(1, 400))
    times = np.sort(rng.integers(0, int(rng.integers(1, 3 * min(window, 300))), count)).astype(np.int64)
    values = np.asarray(sample(rng, count))
    windows = sorted({1, 2, 10, int(rng.integers(1, window + 1)), int(rng.integers(1, 300)) % window + 1, window})
    whole, single, left, right = make(), make(), make(), make()
    assert type(whole).from_bytes(whole.to_bytes()).to_bytes() == whole.to_bytes(), "an empty one changes through bytes"
    side = rng.random(count) < 0.5
    half = count // 2
    for part in (slice(0, half), slice(half, count)):
        given, stamps = values[part].copy(), times[part].copy()
        whole.add_many(stamps, given)
        given[:], stamps[:] = given[:1], 0
        whole = _through_bytes(whole)
    for time, value in zip(times.tolist(), values, strict=True):
        single.add(time, value)
    left.add_many(times[side], values[side])
    right.add_many(times[~side], values[~side])
    before = left.to_bytes(), right.to_bytes()
    both = left.merge(right)
    assert (left.to_bytes(), right.to_bytes()) == before, "merge changes what it merges"
    now = int(times[-1])
    ways = {"together": whole, "singly": single, "merged": both, "merged, through bytes": _through_bytes(both)}
    for way, synopsis in ways.items():
        assert synopsis.nbytes > 0, "nbytes says that it takes no memory"
        for length in windows:
            judge.ask(synopsis, times, values, now, length, way)
            judge.ask(synopsis, times, values, now + length // 2, length, f"{way}, later")
    state = whole.to_bytes()
    _must_refuse(lambda: whole.add_many([now, now - 1], values[:1].repeat(2)), "times went back")
    _must_refuse(lambda: whole.add_many([now - 1], values[:1]), "a time before the last was taken")
    assert whole.to_bytes() == state, "a call that raised has taken something"


def _takes(synopsis: Synopsis, window: int) -> bool:
    try:
        synopsis.estimate(window, 0)
    except SynopsisError:
        return False
    return True


def _through_bytes(synopsis: Synopsis) -> Synopsis:
    again = type(synopsis).from_bytes(synopsis.to_bytes())
    assert again.to_bytes() == synopsis.to_bytes(), "bytes change on the way through bytes"
    assert again.parameters() == synopsis.parameters(), "parameters change on the way through bytes"
    return again


def _must_refuse(call: Callable[[], Any], what: str) -> None:
    try:
        call()
    except SynopsisError:
        return
    raise AssertionError(what)
