"""The check of sources objects to sources that break a promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from millpond import testing
from millpond.arrow import BadRow
from millpond.sources.base import SourceBatch
from millpond.testing import check_source


class Listed:
    """The numbers 0 to 9; a subclass breaks one promise."""

    def __init__(self) -> None:
        self.at = 0

    def next_batch(self, most: int) -> SourceBatch | None:
        start, self.at = self.at, min(self.at + most, 10)
        if start == self.at:
            return None
        return SourceBatch(pa.table({"n": list(range(start, self.at))}), [], self.at, lambda i: str(start + i))

    def seek(self, position: Any) -> None:
        self.at = position

    def close(self) -> None:
        pass


class Greedy(Listed):
    def next_batch(self, most: int) -> SourceBatch | None:
        return super().next_batch(most + 1)


class Empty(Listed):
    def next_batch(self, most: int) -> SourceBatch | None:
        return super().next_batch(most) or SourceBatch(pa.table({"n": []}))


class Repeats(Listed):
    def seek(self, position: Any) -> None:
        self.at = position - 1


class Skips(Listed):
    def seek(self, position: Any) -> None:
        self.at = min(position + 1, 10)


class NotJson(Listed):
    def next_batch(self, most: int) -> SourceBatch | None:
        batch = super().next_batch(most)
        return batch and SourceBatch(batch.rows, [], (batch.position,), batch.places)


class Unplaced(Listed):
    def next_batch(self, most: int) -> SourceBatch | None:
        batch = super().next_batch(most)
        return batch and SourceBatch(batch.rows, [], batch.position)


class Confused(Listed):
    def next_batch(self, most: int) -> SourceBatch | None:
        batch = super().next_batch(most)
        return batch and SourceBatch(batch.rows.slice(1), [BadRow(0, "", "")], batch.position)


class Waits(Listed):
    def next_batch(self, most: int) -> SourceBatch | None:
        import threading

        threading.Event().wait(0.5)
        return None


def test_a_good_source() -> None:
    check_source(Listed, 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Greedy, "asked for"),
        (Empty, "more than 10 rows came"),
        (Repeats, "lost or repeated after seek to 1|more than"),
        (Skips, "lost or repeated after seek to 1|only 8 of 9 rows came"),
        (NotJson, "is not a JSON value"),
        (Unplaced, "the rows or their places differ"),
        (Confused, "an index that means a row"),
        (Waits, "it may not wait"),
    ],
)
def test_broken_promises(make: Callable[[], Listed], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testing, "PATIENCE", 0.1)
    with pytest.raises(AssertionError, match=message):
        check_source(make, 10)
