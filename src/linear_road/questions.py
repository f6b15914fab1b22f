"""One-time questions beside a run: SQL over live and past rows at once, asked again and again in a thread of its own."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final

import millpond
from linear_road.screen import Asked

PAUSE: Final = 1.0
_ROWS: Final = 3


@dataclass(frozen=True)
class Question:
    """`{vid}` in the statement is a vehicle that has been on the road for a while."""

    title: str
    sql: str


QUESTIONS: Final = (
    Question(
        "slowest, last minute",
        "SELECT seg, dir, ROUND(AVG(spd), 1) AS mph, COUNT(DISTINCT vid) AS cars FROM reports [INTERVAL '1' MINUTE] "
        f"WHERE lane BETWEEN 1 AND 3 GROUP BY seg, dir ORDER BY mph, seg, dir LIMIT {_ROWS}",
    ),
    Question(
        "a car's way, all kept",
        f"SELECT t, seg, lane, spd FROM reports WHERE vid = {{vid}} ORDER BY t DESC LIMIT {_ROWS}",
    ),
    Question(
        "who owes most",
        f"SELECT vid, balance FROM accounts [vid ROWS 1] ORDER BY balance DESC, vid LIMIT {_ROWS}",
    ),
)
_VEHICLE: Final = "SELECT vid FROM reports [INTERVAL '1' MINUTE] WHERE lane = 2 ORDER BY t DESC, vid LIMIT 1"


class Questions:
    """`asked` has the newest answer of each question. A question that fails is told by `error` and ends the asking."""

    def __init__(self, questions: tuple[Question, ...] = QUESTIONS) -> None:
        self._questions = questions
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._answers: dict[str, Asked] = {}
        self._vehicle: int | None = None
        self.millis: list[float] = []
        self.error: Exception | None = None

    @property
    def asked(self) -> tuple[Asked, ...]:
        return tuple(self._answers.values())

    def start(self, db: millpond.Pond) -> None:
        self._thread = threading.Thread(target=self._ask_all, args=(db,), name="questions", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(30)

    def _ask_all(self, db: millpond.Pond) -> None:
        try:
            while not self._ended.wait(PAUSE):
                self.ask(db)
        except Exception as error:
            if not self._ended.is_set():
                self.error = error

    def ask(self, db: millpond.Pond) -> None:
        """Ask each question once; before there is traffic, none."""
        if self._vehicle is None:
            found = db.sql(_VEHICLE).rows()
            if not found:
                return
            self._vehicle = int(found[0][0])
        for question in self._questions:
            begin = time.perf_counter()
            result = db.sql(question.sql.format(vid=self._vehicle))
            took = (time.perf_counter() - begin) * 1000
            self.millis.append(took)
            self._answers[question.title] = Asked(question.title, as_text(result), took)


def as_text(result: millpond.Result) -> str:
    """Names and rows in columns, as narrow as they can be."""
    rows = [result.columns, *([str(v) for v in row] for row in result)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(result.columns))]
    return "\n".join(" ".join(cell.rjust(wide) for cell, wide in zip(row, widths, strict=True)) for row in rows)
