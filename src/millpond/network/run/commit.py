"""From what the shards sent to the next durable state: merge, evaluate what is evaluated whole, decide what is committed.

Between plan and commit the catalog may change. Results and progress are committed only for queries that the catalog still
has in the revision they were computed for. What was computed from a discarded result is discarded with it: it would be
the result of something that never was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from millpond.arrow import arrow_schema, numbered_between
from millpond.catalog import INSTANT, Catalog
from millpond.event_time import Progress, event_times
from millpond.network.evaluate.evaluator import in_order, numbered
from millpond.network.plan.two_phase import both_folders
from millpond.network.run.definitions import RunningQueries
from millpond.network.run.host import NetworkHost
from millpond.network.run.last_sent import noted
from millpond.network.run.state import Seen, State
from millpond.network.run.steps import Step
from millpond.network.run.task import ShardOutcome
from millpond.network.run.tick_plan import TickPlan
from millpond.network.strategies.parts.context import Reading
from millpond.results.log import Sent
from millpond.table.store import tail_table
from millpond.table.stream import StreamTable


@dataclass(frozen=True)
class EvaluatedTick:
    """A tick, evaluated and not committed. By step: what it sent. By folder: how far it is, and why it failed or waits."""

    steps: Mapping[str, Step]  # that were evaluated
    sent: Mapping[str, pa.Table]
    progress: Mapping[str, Progress]
    failed: Mapping[str, str]
    seen: Mapping[str, Seen]  # how far the tables are read, by folder
    waiting: Mapping[str, str] = field(default_factory=dict)
    for_spark: frozenset[str] = frozenset()  # of those that failed: about which Spark is to decide
    reading: Reading = field(default_factory=Reading)  # what was read of history, where less could be


@dataclass(frozen=True)
class Commit:
    """What is to become durable, and whom results are handed to. `discarded` are steps whose results nobody may see."""

    state: State
    sent: tuple[tuple[str, Sent], ...]
    discarded: frozenset[str]
    for_spark: Mapping[str, str] = field(default_factory=dict)
    """Steps that go on, from where they stand, on Spark; and why."""


@dataclass(frozen=True)
class Merged:
    """The shards of a table together: what each query sent, and by its folder how far it is and what went wrong."""

    sent: Mapping[str, list[pa.Table]]
    progress: Mapping[str, Progress]
    errors: Mapping[str, str]
    for_spark: frozenset[str]


def merged(outcomes: Sequence[ShardOutcome]) -> Merged:
    """A failed query's progress is its progress on the failing shard: beyond that, results of other shards are not all."""
    sent: dict[str, list[pa.Table]] = {}
    progress: dict[str, list[Progress]] = {}
    errors: dict[str, str] = {}
    unbegun: set[str] = set()  # that failed before their first instant
    for outcome in outcomes:
        errors |= outcome.errors
        for name, rows in outcome.sent.items():
            sent.setdefault(name, []).append(rows)
        for folder, one in outcome.progress.items():
            progress.setdefault(folder, []).append(one)
            if folder in outcome.errors and one.frontier is None:
                unbegun.add(folder)
    together = {folder: Progress() if folder in unbegun else _together(found) for folder, found in progress.items()}
    return Merged(sent, together, errors, frozenset().union(*(outcome.for_spark for outcome in outcomes)))


def _together(found: list[Progress]) -> Progress:
    frontier = min((p.frontier for p in found if p.frontier is not None), default=None)
    lasts = [p.last for p in found if p.last is not None and frontier is not None and p.last < frontier]
    return Progress(frontier, max(lasts, default=None))


def evaluate(
    host: NetworkHost, running: RunningQueries, plan: TickPlan, outcomes: Sequence[ShardOutcome]
) -> EvaluatedTick | None:
    """Put together what the shards sent and evaluate the rest. None if the network has started over since the plan.

    The pond's lock is held to gather what is evaluated, not while it is.
    """
    if running.whole is None or running.run_id != plan.run_id:
        return None
    with host.work:
        shards, seen, rows, frontiers = _gather(host, running, plan, outcomes)
    whole = running.whole.step(rows, frontiers)
    sent = {**shards.sent, **{name: in_order([found]) for name, found in whole.items()}}
    strategies = running.whole.strategies
    return EvaluatedTick(
        steps={**shards.steps, **{n: s for n, s in running.steps.items() if n in strategies}},
        sent=sent,
        progress={**shards.progress, **{s.prepared.query.folder: s.progress for s in strategies.values()}},
        failed={
            **shards.failed,
            **{s.prepared.query.folder: s.error for s in strategies.values() if s.error is not None},
        },
        seen=seen,
        waiting={s.prepared.query.folder: s.waiting for s in strategies.values() if s.waiting is not None},
        for_spark=shards.for_spark | {s.prepared.query.folder for s in strategies.values() if s.for_spark},
        reading=running.whole.reading,
    )


def _gather(
    host: NetworkHost, running: RunningQueries, plan: TickPlan, outcomes: Sequence[ShardOutcome]
) -> tuple[EvaluatedTick, dict[str, Seen], dict[str, pa.Table], dict[str, int]]:
    """What the shards gave, how far tables are read, and by stream the rows that came and how far time is complete."""
    assert running.whole is not None
    # Steps of the plan that have changed since: what their shards sent must not reach other queries.
    shards = _of_shards(running, plan, merged(outcomes), host.catalog)
    # A table whose readers were all dropped and made anew since the plan is read from another place now.
    seen = {
        folder: after for folder, after in plan.after.items() if running.draft.seen.get(folder) == plan.before[folder]
    }
    progress = {**running.draft.progress, **shards.progress}
    rows: dict[str, pa.Table] = {}
    frontiers: dict[str, int] = {}
    for name, inlet in running.whole.inlets.items():
        now: int | None
        if name in host.catalog.streaming:
            table = host.stream(name)
            if (after := seen.get(table.definition.folder)) is None:
                continue
            low = plan.before[table.definition.folder].position
            if (arrived := arrivals(table, low, after.position)) is not None:
                rows[name] = arrived
            now = after.watermark
        elif name in running.placed and name in running.steps:
            folder = running.steps[name].folder
            now = progress.get(folder, Progress()).frontier
            if now is None and folder not in shards.failed and name in shards.steps:
                # Not begun yet: it has the time of what it reads.
                now = seen[host.stream(running.placed[name]).definition.folder].watermark
            if name in shards.sent:
                first = running.draft.numbers.get(folder, 0)
                rows[name] = numbered(shards.sent[name], first).cast(inlet.schema)
        else:
            continue
        if now is not None:
            frontiers[name] = now
    return shards, seen, rows, frontiers


def _of_shards(running: RunningQueries, plan: TickPlan, shards: Merged, catalog: Catalog) -> EvaluatedTick:
    """What came out of the shards, of the steps that still run as they did at the plan."""
    steps = {
        name: step
        for name, step in plan.steps.items()
        if name in running.placed and running.steps.get(name) == step and step.is_current(catalog)
    }
    folders = {step.folder for step in steps.values()}
    sent: dict[str, pa.Table] = {}
    for name, step in steps.items():
        if name not in shards.sent:
            continue
        rows = in_order(shards.sent[name])
        if step.folder in shards.errors:
            end = shards.progress[step.folder].frontier
            rows = rows.slice(0, 0 if end is None else int(np.searchsorted(event_times(rows, INSTANT), end)))
        if rows.num_rows:
            sent[name] = rows
    return EvaluatedTick(
        steps,
        sent,
        {folder: found for folder, found in shards.progress.items() if folder in folders},
        {folder: why for folder, why in shards.errors.items() if folder in folders},
        {},
        for_spark=shards.for_spark & folders,
    )


def decide(draft: State, evaluation: EvaluatedTick, catalog: Catalog) -> Commit:
    """The state after a tick, and the results that belong to it, as the catalog is now."""
    discarded = _discarded(evaluation.steps, catalog)
    kept = {name: step for name, step in evaluation.steps.items() if name not in discarded}
    folders = {step.folder for step in kept.values()}
    sent: list[tuple[str, Sent]] = []
    for name, rows in evaluation.sent.items():
        if name in kept and kept[name].sends:
            folder = kept[name].folder
            sent.append((name, Sent(folder, draft.numbers.get(folder, 0), rows)))
    progress = {folder: p for folder, p in evaluation.progress.items() if folder in folders}
    settled = {f for f in draft.unsettled if f in progress and progress[f].last != draft.progress[f].last}
    stopped = evaluation.failed.keys() - evaluation.for_spark  # the others go on, on Spark
    failed = {folder: evaluation.failed[folder] for folder in folders & stopped}
    for folder, why in {**draft.failed, **failed}.items():  # of a query in two steps both stop
        for sibling in folders.intersection(both_folders(folder)):
            failed.setdefault(sibling, why)
    state = (
        draft.with_progress(progress)
        .settling(settled)
        .with_sent({batch.folder: batch.rows.num_rows for _, batch in sent})
        .with_seen(evaluation.seen)
        .failing(failed)
        .waiting_for({folder: why for folder, why in evaluation.waiting.items() if folder in folders}, folders)
    )
    for step in kept.values():
        if step.folder in failed:  # if it is resumed one day, history may not tell any more what it sent last
            state = noted(state, step.definition)
    moved = {name: evaluation.failed[s.folder] for name, s in kept.items() if s.folder in evaluation.for_spark}
    return Commit(replace(state, tick=draft.tick + 1), tuple(sent), discarded, moved)


def _discarded(steps: Mapping[str, Step], catalog: Catalog) -> frozenset[str]:
    """The steps that are not current, and those that read them."""
    found: set[str] = set()
    again = True
    while again:
        again = False
        for name, step in steps.items():
            if name not in found and (not step.is_current(catalog) or found.intersection(step.definition.reads)):
                found.add(name)
                again = True
    return frozenset(found)


def arrivals(table: StreamTable, low: int, high: int) -> pa.Table | None:
    """The rows of a table numbered from `low` up to `high`, without it. They are in memory: the network still wants them."""
    if high <= low:
        return None
    with table.lock:
        blocks = table.rows.snapshot().blocks
    found = tail_table([b for b in blocks if b.last_seq >= low], arrow_schema(table.stored))
    return numbered_between(found, low, high)
