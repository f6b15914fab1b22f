"""Questions that only Spark can answer, asked beside the ticks.

An evaluation on Spark takes some tenths of a second, the first one seconds, a bad one a minute. A tick waits for none of them: a
query hands over the contents of its windows at an instant, and a later tick takes the answer. Two threads ask Spark; a query that
takes long keeps one of them, until `evaluation_time` is over.

    inquiry = engine.inquiry(query, bound)   of one query; all its methods are called by the evaluator's thread
    inquiry.ask(instant, contents)           questions are answered in their order, one at a time, in turn with other queries'
    inquiry.answered()                       the oldest question, once it has an answer or an error
    inquiry.take()                           that one is done with
    inquiry.again(pause)                     it failed, and is to be asked again after some seconds
    inquiry.close()                          nobody wants the answers any more: one that is being worked out is cancelled

Spark is started by the first question, if it does not run. Nothing here is durable: a question that is lost is asked again, from
where the query's progress stands.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from millpond.catalog import ContinuousQuery
from millpond.clock import Clock
from millpond.errors import EngineError, Unreachable
from millpond.network.engine.engine import SETTING
from millpond.network.engine.watch import Evaluation, Watch, definition_key
from millpond.query.binding.uses import Bound
from millpond.query.limits import query_memory, too_large
from millpond.query.on_spark import ask_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WORKERS = 2
_PATIENCE = 10.0  # seconds that closing waits for an evaluation that was cancelled


class SparkAccess(Protocol):
    """How the pond's process reaches Spark."""

    def session(self, why: str) -> SparkSession:
        """A session for evaluations. Starts Spark if it does not run; `why` completes the sentence that tells it."""

    @property
    def runs(self) -> bool:
        """Whether Spark is up."""


@dataclass(eq=False)
class Question:
    """What a query's result is at an instant, given the contents of its relations; then the answer, or why there is none."""

    instant: int
    contents: Mapping[str, pa.Table]
    answer: pa.Table | None = None
    error: Exception | None = None
    seconds: float = 0.0  # that working out the answer took

    @property
    def is_answered(self) -> bool:
        return self.answer is not None or self.error is not None


class Inquiry:
    """The questions of one query. Made by `SparkEngine.inquiry`; its members are guarded by the engine's lock."""

    def __init__(self, engine: SparkEngine, query: ContinuousQuery, bound: Bound) -> None:
        self.query = query
        self.bound = bound
        self.questions: deque[Question] = deque()  # that are not taken yet, the oldest first
        self.in_turn = False  # whether it is in the engine's queue, or being answered
        self.not_before = 0.0
        self.evaluation: Evaluation | None = None  # under way
        self._engine = engine

    @property
    def next(self) -> Question | None:
        """The question that is to be answered next. After one that failed there is none."""
        for question in self.questions:
            if question.answer is None:
                return question if question.error is None else None
        return None

    @property
    def asked(self) -> int:
        """How many questions are not taken yet."""
        return len(self.questions)

    def ask(self, instant: int, contents: Mapping[str, pa.Table], answer: pa.Table | None = None) -> None:
        """`answer` is given if it is known already: it then only waits for its turn."""
        with self._engine.changed:
            self.questions.append(Question(instant, contents, answer))
            self._engine.offer(self)

    def answered(self) -> Question | None:
        found = self.questions[0] if self.questions else None
        return found if found is not None and found.is_answered else None

    def take(self) -> None:
        with self._engine.changed:
            self.questions.popleft()
            self._engine.handled += 1

    def again(self, pause: float) -> None:
        with self._engine.changed:
            self.questions[0].error = None
            self._engine.handled += 1
            self._engine.offer(self, pause)

    def close(self) -> None:
        self._engine.withdraw(self)

    def size(self) -> tuple[int, int]:
        """Rows and bytes of the contents that are held for Spark; what overlapping windows share is counted for each."""
        with self._engine.changed:
            tables = [rows for question in self.questions for rows in question.contents.values()]
        return sum(t.num_rows for t in tables), sum(t.nbytes for t in tables)


class SparkEngine:
    """Of a pond's process. `wake` is called after each answer, from any thread."""

    def __init__(
        self,
        spark: SparkAccess,
        folder: Path,
        limit: timedelta | None,
        clock: Clock,
        memory: int,
        wake: Callable[[], None],
    ) -> None:
        self.changed = threading.Condition()
        self.handled = 0  # answers and errors that somebody looked at, ever
        self._spark = spark
        self._watches = [Watch(folder, limit, clock) for _ in range(_WORKERS)]
        self._clock = clock
        self._memory = query_memory(memory)
        self._wake = wake
        self._inquiries: set[Inquiry] = set()  # that have asked, and are not closed
        self._queue: deque[Inquiry] = deque()  # those with one to be answered, in turn
        self._threads: list[threading.Thread] = []
        self._closed = False

    def inquiry(self, query: ContinuousQuery, bound: Bound) -> Inquiry:
        return Inquiry(self, query, bound)

    @property
    def is_up(self) -> bool:
        """Whether Spark is; else questions wait until it is started."""
        return self._spark.runs

    def schema(self, bound: Bound, nothing: Mapping[str, pa.Table]) -> pa.Schema:
        """What a query selects, as Spark reads it: names and types. `nothing` are its relations without rows. Starts Spark."""
        session = self._spark.session("a continuous query needs it")
        found = ask_spark(bound, nothing, 0, session, most=0)
        if bound.text is not None and bound.shows_names:
            return found.schema
        return found.rename_columns(list(bound.names)).schema if bound.names else found.schema

    def wait(self, wanted: Callable[[ContinuousQuery, int], bool]) -> bool:
        """Wait until one of the wanted questions, told by query and instant, has an answer that nobody has taken. False if none
        is asked, or if all are to be asked again only after a pause."""
        with self.changed:
            while not self._closed:
                now = self._clock.monotonic()
                heads = [
                    inquiry.questions[0]
                    for inquiry in self._inquiries
                    if inquiry.questions
                    and inquiry.not_before <= now
                    and wanted(inquiry.query, inquiry.questions[0].instant)
                ]
                if not heads:
                    return False
                if any(question.is_answered for question in heads):
                    return True
                self.changed.wait()
        return False

    # -- what inquiries call, with the lock ------------------------------------------------------------------------------

    def offer(self, inquiry: Inquiry, pause: float = 0.0) -> None:
        """Put an inquiry into the queue, unless it is there or has nothing to ask."""
        self._inquiries.add(inquiry)
        if inquiry.in_turn or inquiry.next is None or self._closed:
            return
        inquiry.in_turn = True
        if pause:
            inquiry.not_before = self._clock.monotonic() + pause
        self._queue.append(inquiry)
        if len(self._threads) < min(_WORKERS, len(self._inquiries)):
            watch = self._watches[len(self._threads)]
            thread = threading.Thread(target=self._work, args=(watch,), name="millpond-on-spark", daemon=True)
            self._threads.append(thread)
            thread.start()
        self.changed.notify_all()

    def withdraw(self, inquiry: Inquiry) -> None:
        with self.changed:
            inquiry.questions.clear()
            self._inquiries.discard(inquiry)
            if inquiry.evaluation is not None:
                inquiry.evaluation.cancel("nobody wants the answer any more")
            self.changed.notify_all()

    # -- the end -----------------------------------------------------------------------------------------------------------

    def stop(self, reason: str) -> None:
        """Cancel what is being worked out, and whatever would be."""
        for watch in self._watches:
            watch.stop(reason)

    def close(self) -> None:
        with self.changed:
            self._closed = True
            for inquiry in list(self._inquiries):
                self.withdraw(inquiry)
            self.changed.notify_all()
        for thread in (
            self._threads if self.is_up else ()
        ):  # a start of Spark cannot be broken off, and is not waited for
            thread.join(timeout=_PATIENCE)
        for watch in self._watches:
            watch.close()

    # -- the threads that ask ----------------------------------------------------------------------------------------------

    def _work(self, watch: Watch) -> None:
        while (inquiry := self._next()) is not None:
            query = inquiry.query
            with watch.over(query.users_name, definition_key(query.folder, query.revision)) as evaluation:
                with self.changed:
                    question, inquiry.evaluation = inquiry.next, evaluation
                if question is not None:  # else it was withdrawn
                    self._answer(inquiry, question, evaluation)
                with self.changed:
                    inquiry.evaluation, inquiry.in_turn = None, False
                    if inquiry.questions:
                        self.offer(inquiry)
                    self.changed.notify_all()
            self._wake()

    def _next(self) -> Inquiry | None:
        """The next inquiry in turn; None at the end."""
        with self.changed:
            while not self._closed:
                now = self._clock.monotonic()
                found = next((each for each in self._queue if each.not_before <= now), None)
                if found is not None:
                    self._queue.remove(found)
                    return found
                earliest = min((each.not_before for each in self._queue), default=None)
                self.changed.wait(None if earliest is None else earliest - now)
        return None

    def _answer(self, inquiry: Inquiry, question: Question, evaluation: Evaluation) -> None:
        try:
            session = self._session(inquiry.query)
            began = self._clock.monotonic()
            with evaluation.question() as deadline:
                rows = ask_spark(inquiry.bound, question.contents, question.instant, session, deadline)
            question.seconds = self._clock.monotonic() - began
            if rows.nbytes > self._memory:
                raise too_large("the result of an evaluation", self._memory, SETTING)
            question.answer = rows
        except Exception as error:  # whoever takes the answer tells it
            question.error = error
        except BaseException as error:
            question.error = EngineError("the evaluation was interrupted", detail=type(error).__name__)

    def _session(self, query: ContinuousQuery) -> SparkSession:
        try:
            return self._spark.session(f'continuous query "{query.users_name}" is evaluated on it')
        except EngineError as error:  # there is no Java, or Spark cannot be started, at present
            raise Unreachable(error.primary, detail=error.detail, hint=error.hint) from error
