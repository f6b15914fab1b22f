"""What ISTREAM and DSTREAM queries sent last, where it does not follow from how they go on.

Whoever adds up the insertions of a query and subtracts the deletions has its result, at every instant. So a difference is told
from the result that was sent last. As long as a query goes on as it was, that is its result at its last instant, which follows
from history. It does not follow any more after ALTER (the window was another), after UPDATE or DELETE of a stream (the rows
were others), and after a pause (history may have expired). Before such a change the state notes which result that was
(`LastSent`); it is a file from then on, written by the next holder of the round, or by the statement itself if it changes rows.
A query that is new has sent nothing.

Such a query is unsettled. Until its next instant it is evaluated whole, by a strategy that is given what was sent last; then it
has sent the difference and goes on wherever it belongs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from millpond.arrow import arrow_schema
from millpond.catalog import INSTANT, Catalog, ContinuousQuery
from millpond.errors import EngineError, MillpondError
from millpond.event_time import Progress
from millpond.network.engine.watch import Watch
from millpond.network.evaluate.evaluator import Evaluator
from millpond.network.plan.prepared import Prepared, prepare
from millpond.network.run.state import LastSent, State
from millpond.network.state import last_result
from millpond.network.state.backfill import Past
from millpond.network.strategies.base import Strategy
from millpond.network.strategies.registry import choose


def noted(state: State, query: ContinuousQuery) -> State:
    """The state before a query changes, or what it reads: it tells what the query has sent last."""
    last = state.progress.get(query.folder, Progress()).last
    if query.stream_operator == "rstream" or last is None or query.folder in state.unsettled:
        return state
    return state.unsettling({query.folder: LastSent(query, last)})


def is_unsettled(state: State, prepared: Prepared) -> bool:
    """Whether the next instant of a query does not follow from its result at the last one."""
    query = prepared.query
    if query.stream_operator == "rstream":
        return False
    progress = state.progress.get(query.folder, Progress())
    is_new = progress.frontier is not None and progress.last is None
    return (is_new or query.folder in state.unsettled) and choose(prepared).strategy.remembers()


class LastSentResults:
    """The files with what queries sent last. For the holder of the round."""

    def __init__(self, pond: Path, watch: Watch) -> None:
        self._pond = pond
        self._watch = watch
        self._kept: set[tuple[str, LastSent]] = set()  # known to be in files

    def are_kept(self, unsettled: Mapping[str, LastSent]) -> bool:
        return not unsettled or all(item in self._kept for item in unsettled.items())

    def keep(
        self, state: State, catalog: Catalog, past: Past, strategies: Mapping[str, Strategy], memory: int
    ) -> dict[str, str]:
        """Make sure that what the state tells is in files. By folder, what could not be worked out, and why.

        `strategies` are those in memory, by query: one that stands there knows its result.
        """
        self._kept.intersection_update(state.unsettled.items())
        lost: dict[str, str] = {}
        for folder, sent in state.unsettled.items():
            if (folder, sent) in self._kept:
                continue
            try:
                if self._find(past, sent) is None:
                    rows = _in_memory(sent, strategies.get(sent.query.name))
                    if rows is None:
                        rows = self._from_history(sent, catalog, past, memory)
                    last_result.write(self._pond, sent.query, sent.instant, rows)
            except MillpondError as error:
                lost[folder] = f'what query "{sent.query.name}" sent last cannot be worked out: {error.primary}'
                continue
            self._kept.add((folder, sent))
        return lost

    def of(self, prepared: Prepared, state: State, past: Past) -> pa.Table:
        """What an unsettled query has sent last; nothing if it is new."""
        schema = _schema(prepared.query)
        sent = state.unsettled.get(prepared.query.folder)
        found = None if sent is None else self._find(past, sent)
        return schema.empty_table() if found is None else found.cast(schema)

    def is_damaged(self, sent: LastSent) -> bool:
        """Whether there is a file that cannot be read."""
        try:
            last_result.find(self._pond, sent.query, sent.instant, _schema(sent.query))
        except MillpondError:
            return True
        return False

    def settled(self, query: ContinuousQuery, last: int) -> None:
        """A query has sent the difference: only its result at `last` may still be needed."""
        last_result.forget(self._pond, query, last)

    def _find(self, past: Past, sent: LastSent) -> pa.Table | None:
        return past.before(sent.query, sent.instant, _schema(sent.query))

    def _from_history(self, sent: LastSent, catalog: Catalog, past: Past, memory: int) -> pa.Table:
        prepared = prepare(sent.query, catalog)
        if prepared.on_spark:  # its last result is written down in each tick, so this is one of long ago
            raise EngineError("Spark would have to be asked")
        evaluator = Evaluator(past, threads=2, memory=memory, watch=self._watch)
        try:
            return evaluator.result_at(prepared, sent.instant)
        finally:
            evaluator.close()


def _schema(query: ContinuousQuery) -> pa.Schema:
    return arrow_schema(query.columns.without(INSTANT))


def _in_memory(sent: LastSent, strategy: Strategy | None) -> pa.Table | None:
    if strategy is None or strategy.progress.last != sent.instant or strategy.held is not None:
        return None
    query = strategy.prepared.query
    return strategy.last_result if (query.folder, query.revision) == (sent.query.folder, sent.query.revision) else None
