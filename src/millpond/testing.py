"""Checks for what others build on millpond: a new kind of source, or a test of your own, can be held to the same laws.

Each `check_*` takes a function that makes the thing under test and raises `AssertionError` with what went wrong.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millpond.sources.base import RowSource, SourceBatch

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
    assert everything.count() == rows, f"{everything.count()} rows were read, {rows} were expected"
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
            assert misses * 0.001 < PATIENCE, f"only {reading.count()} of {rows} rows came"
            pause.wait(0.001)
            continue
        assert isinstance(batch.rows, (pa.Table, pa.RecordBatch)), f"rows are a {type(batch.rows).__name__}"
        size = batch.rows.num_rows + len(batch.bad)
        assert size > 0, "a batch is empty; return None instead"
        assert size <= most, f"a batch has {size} rows, {most} were asked for"
        assert all(b.index < 0 for b in batch.bad), "a bad row has an index that means a row of the batch"
        reading.add(batch)
    extra = _promptly(source, most)
    assert extra is None, f"more than {rows} rows came"
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
