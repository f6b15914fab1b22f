"""Instant by instant, on Spark: what DuckDB is not proved to answer.

The windows are kept as those of `instants`. Their contents at an instant are handed to Spark, which answers at its own pace
(`engine.spark_engine`). A step takes the answers that have come, in the order of the instants, and moves the query's progress up
to the first instant that has none. So a step never waits for Spark, and no other query notices how long an answer takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import pyarrow as pa

from millpond.catalog import StreamingTable
from millpond.errors import MillpondError, SparkDied, Unreachable
from millpond.event_time import NEVER, Progress
from millpond.network.engine.spark_engine import Question
from millpond.network.plan.prepared import Prepared
from millpond.network.strategies.base import Checkpoint, Held
from millpond.network.strategies.instants import InstantStrategy
from millpond.network.time.instants import slides
from millpond.query.clauses import Refusal

_AHEAD = 16  # instants whose contents are with Spark at a time ...
_AHEAD_BYTES = 64 << 20  # ... or fewer, if that is more
_DEATHS = 3  # of Spark while it evaluates one instant, after which the query counts as their reason
_ROUNDS = 64  # of taking and asking in a step, while answers are there at once
_STARTING = "Spark is being started"
_PAUSE = 10.0  # seconds after which a Spark that cannot be started is tried again


class SparkStrategy(InstantStrategy):
    name = "spark"
    manner = "instant by instant, on Spark"
    tries_in_step = False

    @classmethod
    def match(cls, prepared: Prepared) -> Self | Refusal:
        return cls(prepared) if prepared.on_spark else Refusal("DuckDB is proved to answer it")

    def local_to(self, table: StreamingTable) -> bool:
        return False

    # -- taking up a query -------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        assert self.context.spark is not None, "only the pond's own process reaches Spark"
        self._spark = self.context.spark
        self._inquiry = self._spark.inquiry(self.prepared.query, self.prepared.bound)
        super().prepare()
        self._asked = NEVER  # instants before it have been asked, or need not be
        self._recalled: int | None = None  # the instant of a question that is asked only to know what was sent last
        self._to_recall: dict[str, pa.Table] | None = None  # what is asked then, until it is
        self._taken: pa.Table | None = None  # the answer that is being looked at
        self._asked_of_nothing = False  # whether all windows were empty at the instant asked last
        self._of_nothing: pa.Table | None = None  # the result over empty windows, once it is known
        self._why: str | None = None  # Spark did not answer, until it does
        self._deaths = 0

    def _result(self, instant: int) -> pa.Table:
        if self._taken is not None:
            return self._typed(self._taken)
        # While state is filled: what was sent last is asked in the first step, before all else.
        self._recalled, self._to_recall = instant, self._contents(instant)
        return self._result_schema.empty_table()

    def close(self) -> None:
        self._inquiry.close()

    # -- in a step ---------------------------------------------------------------------------------------------------------

    def ready(self) -> bool:
        span = self.due()
        if span is None:
            return False
        has_started = self.waiting == _STARTING and self._spark.is_up
        return has_started or self._inquiry.answered() is not None or self._can_ask(span[1])

    def advance(self, begin: int, frontier: int) -> pa.Table | None:
        self._asked = max(self._asked, begin)
        if self.prepared.standards:
            self._of_nothing = None  # they may have changed
        if self._recalled is not None and self._to_recall is not None:
            self._inquiry.ask(self._recalled, self._to_recall)
            self._to_recall = None
        sent: list[pa.Table] = []
        for _ in range(_ROUNDS):
            self._take_answers(sent)
            if self.error is None:
                self._ask_ahead(frontier)
            if self.error is not None or self._inquiry.answered() is None:
                break
        if self.error is None and self._inquiry.asked:
            self.waiting = self._why or (None if self._spark.is_up else _STARTING)
        self._move(begin)
        return pa.concat_tables(sent) if sent else None

    def _take_answers(self, sent: list[pa.Table]) -> None:
        """Send what follows from the answers that have come, in the order of the instants."""
        while (question := self._inquiry.answered()) is not None:
            try:
                found = self._send_answered(question)
            except (Unreachable, SparkDied) as error:
                self._deaths += isinstance(error, SparkDied)
                if self._deaths >= _DEATHS:
                    self.error = str(error)
                else:
                    self._why = str(error)
                    self._inquiry.again(_PAUSE if isinstance(error, Unreachable) else 0.0)
                return
            except MillpondError as error:
                self.error = str(error)
                return
            self._why, self._deaths = None, 0
            self._inquiry.take()
            if found is not None:
                sent.append(found)

    def _send_answered(self, question: Question) -> pa.Table | None:
        if question.error is not None:
            raise question.error
        self.cost.seconds += question.seconds
        self._taken = question.answer
        try:
            if question.instant == self._recalled:
                self._recalled, self._before = None, self._result(question.instant)
                return None
            if self._asked_of_nothing and self._inquiry.asked == 1:
                self._of_nothing = question.answer
            return self._send_at(question.instant)
        finally:
            self._taken = None

    def _can_ask(self, frontier: int) -> bool:
        """Whether there may be an instant before `frontier` whose contents Spark can be given now."""
        asked = self._inquiry.asked
        if self._asked >= frontier or asked >= _AHEAD or (asked and self._inquiry.size()[1] >= _AHEAD_BYTES):
            return False
        return not (self._asked_of_nothing and self._of_nothing is None and asked)  # then that answer is waited for

    def _ask_ahead(self, frontier: int) -> None:
        """Give Spark the contents of windows at the next instants.

        Over windows by time that are empty the result is the same at all instants; it is asked for once.
        """
        while self._can_ask(frontier):
            instant = next(iter(self._instants(self._asked, frontier)), None)
            if instant is None:
                self._asked = frontier
                return
            before = self._asked_of_nothing
            row = self._sees_next(instant) if self._by_time else instant
            self._asked_of_nothing = row != instant
            if not self._asked_of_nothing or self._of_nothing is None:
                self._inquiry.ask(instant, self._contents(instant))
            elif before and not self._of_nothing.num_rows:  # nothing there, nothing new, nothing gone
                self._asked = frontier if row is None else min(row, frontier)
                continue
            else:
                self._inquiry.ask(instant, {}, self._of_nothing)
            self._asked = instant + 1

    def _move(self, begin: int) -> None:
        """Let progress stand at the first instant that has no answer."""
        first = self._inquiry.questions[0].instant if self._inquiry.asked else self._asked
        frontier = max(begin, first)
        slide = self.prepared.slide
        passed = slides(begin, frontier, slide, self.prepared.offset) if slide is not None else ()
        self.progress = Progress(frontier, passed[-1] if passed else self.progress.last)

    # -- what it holds -----------------------------------------------------------------------------------------------------

    def state(self) -> Iterator[Held]:
        yield from super().state()
        yield Held("windows that Spark evaluates", self._inquiry, self._inquiry.size)

    @property
    def last_result(self) -> pa.Table | None:
        return None if self._recalled is not None else self._before

    def checkpoints(self) -> Iterator[Checkpoint]:
        return iter(())  # its windows may be ahead of its progress
