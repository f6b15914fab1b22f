"""`millpond.queries`, `millpond.state`, `millpond.costs`, `millpond.ticks`: continuous queries, what they hold in memory, what
they and ticks cost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime

from millpond.catalog import ContinuousQuery
from millpond.duration import FOREVER, describe, moment
from millpond.errors import EngineError
from millpond.network.engine.watch import FOLDER, underway
from millpond.network.run.explain import cost_rows, state_rows
from millpond.network.run.network import Network
from millpond.system.registry import Reading, Row, SystemHost, system_table, time_seconds, time_text

QUERY, VIEW = "continuous query", "streaming view"


@system_table(
    "queries",
    "The continuous queries and streaming views of the pond.",
    [
        ("name", "STRING", "its name"),
        ("kind", "STRING", "`continuous query` or `streaming view`"),
        (
            "state",
            "STRING",
            "`running`, `paused`, `failed`, or `waiting` for Spark or another system, or while the pipeline of this process does "
            "not work",
        ),
        (
            "evaluating_since",
            "TIMESTAMP",
            "when the evaluation under way began, if it takes longer than a second",
        ),
        ("sample", "STRING", "the length of time between instants, or `realtime`, `each row` or `sessions`"),
        ("stream_operator", "STRING", "what it sends of a result: `rstream`, `istream` or `dstream`"),
        ("sent", "BIGINT", "results sent since it was created"),
        ("last_instant", "STRING", "the last instant it was evaluated at"),
        ("last_instant_seconds", "DOUBLE", "the same as a number"),
        ("frontier", "STRING", "the event time below which its results are complete"),
        ("frontier_seconds", "DOUBLE", "the same as a number"),
        (
            "lag_seconds",
            "DOUBLE",
            "how far the frontier is behind the least watermark of what it reads: event time that has arrived and is "
            "not evaluated",
        ),
        ("range", "STRING", "how long results are kept; NULL if only those of the last instant"),
        (
            "may_leave_out",
            "INT",
            "how many percent of what it reads of history it may leave out; NULL without OVERLOAD",
        ),
        (
            "leaves_out",
            "INT",
            "how many percent it leaves out now, because there is more to do than time; NULL without OVERLOAD, and elsewhere "
            "than in the process that writes the pond",
        ),
        ("leaves_out_since", "TIMESTAMP", "since when that is so; NULL as long as it was never otherwise"),
        ("reads", "STRING", "the relations it reads"),
        ("problem", "STRING", "why it failed or waits, or what is wrong with keeping its results"),
        ("sql", "STRING", "its SELECT"),
    ],
)
def queries(reading: Reading) -> Iterator[Row]:
    network = reading.host.network
    since = evaluating(reading.host)
    watermarks = _watermarks(reading)
    broken = _broken(reading.host)
    for query in reading.catalog.queries.values():
        outlet = network.outlet(query.name)
        table, progress = query.table, outlet.progress
        yield {
            "name": query.name,
            "kind": VIEW if query.view else QUERY,
            "state": "waiting" if broken and _state(network, query) == "running" else _state(network, query),
            "evaluating_since": since.get(query.name),
            "sample": query.sampling,
            "stream_operator": query.stream_operator,
            "sent": outlet.next,
            "last_instant": time_text(table, progress.last),
            "last_instant_seconds": time_seconds(table, progress.last),
            "frontier": time_text(table, progress.frontier),
            "frontier_seconds": time_seconds(table, progress.frontier),
            "lag_seconds": _lag(query, watermarks),
            "range": _kept(query),
            "may_leave_out": query.overload,
            **_left_out(reading.host, query),
            "reads": ", ".join(query.reads),
            "problem": network.problem(query) or (None if query.paused else broken),
            "sql": " ".join(query.sql.split()),
        }


def evaluating(host: SystemHost) -> Mapping[str, datetime]:
    """The queries that are being evaluated now, in whichever process, and since when. Nobody else asks for it."""
    found: dict[str, datetime] = {}
    # The oldest first: a query can be under way in several shards.
    for each in underway(host.folder / FOLDER, host.clock):
        found.setdefault(each.query, moment(each.since))
    return found


def _broken(host: SystemHost) -> str | None:
    """Why the pipeline evaluates nothing at present, if it was started here."""
    pipeline = host.pipeline
    problem = None if pipeline is None else pipeline.error or pipeline.problem
    return None if problem is None else str(problem)


def _state(network: Network, query: ContinuousQuery) -> str:
    if network.failure(query) is not None:
        return "failed"
    if query.paused:
        return "paused"
    return "running" if network.waits(query) is None else "waiting"


def _left_out(host: SystemHost, query: ContinuousQuery) -> Row:
    """What a query leaves out now, and since when; only the process that evaluates knows."""
    if query.overload is None or not host.owned:
        return {"leaves_out": None, "leaves_out_since": None}
    allowed, control = query.overload / 100, host.network.overload
    since = control.since(allowed)
    part = round(100 * min(allowed, control.level))
    return {"leaves_out": part, "leaves_out_since": None if since is None else moment(since)}


def _kept(query: ContinuousQuery) -> str | None:
    if query.history is None:
        return None
    return "forever" if query.history >= FOREVER else describe(query.history)


def _watermarks(reading: Reading) -> dict[str, float | None]:
    """Of streaming tables the watermark, of queries the frontier, in seconds."""
    found = {name: time_seconds(t.definition, t.now) for name, t in reading.host.streams().items()}
    for query in reading.catalog.queries.values():
        found[query.name] = time_seconds(query.table, reading.host.network.outlet(query.name).progress.frontier)
    return found


def _lag(query: ContinuousQuery, watermarks: Mapping[str, float | None]) -> float | None:
    own = watermarks[query.name]
    read = [watermarks[name] for name in query.reads if name in watermarks]
    known = [w for w in read if w is not None]
    if own is None or not known or len(known) < len(read):
        return None
    return max(0.0, min(known) - own)


_PATIENCE = 10.0  # seconds


@system_table(
    "state",
    "What is held in memory for continuous queries, in this process and in the shards it gave work to. Elsewhere than in "
    "the process that writes the pond there are only the results that were read. Reading it waits for the tick under way.",
    [
        ("holder", "STRING", "the query, or the stream whose rows several queries share"),
        ("what", "STRING", "what is held"),
        ("table", "STRING", "the table in whose shard it is; NULL if it is in the pond's own process"),
        ("shard", "INT", "the shard"),
        ("rows", "BIGINT", "how many rows, or groups where no rows are held"),
        ("bytes", "BIGINT", "their size in memory"),
    ],
)
def state(reading: Reading) -> list[Row]:
    with _between_ticks(reading.host, "state") as network:
        return state_rows(network)


@system_table(
    "costs",
    "What continuous queries have cost since the process that evaluates them took them up; it does so anew after a restart and "
    "after ALTER. Only the process that writes the pond has any. Reading it waits for the tick under way.",
    [
        ("query", "STRING", "the continuous query or streaming view"),
        ("table", "STRING", "the table in whose shard it is evaluated; NULL if it is in the pond's own process"),
        ("shard", "INT", "the shard"),
        ("manner", "STRING", "how it is evaluated there, as EXPLAIN tells it"),
        ("evaluations", "BIGINT", "how often its result was computed; instants that are evaluated together count once"),
        ("rows_in", "BIGINT", "rows looked at for that; a row in the windows of two instants counts twice"),
        ("rows_out", "BIGINT", "rows sent"),
        ("seconds", "DOUBLE", "time spent; where queries are batched, that of all counts for the first of them"),
    ],
)
def costs(reading: Reading) -> list[Row]:
    with _between_ticks(reading.host, "costs") as network:
        return cost_rows(network)


@contextlib.contextmanager
def _between_ticks(host: SystemHost, what: str) -> Iterator[Network]:
    """The network while no tick changes what is read of it, with all definitions taken up."""
    if not host.round.acquire(timeout=_PATIENCE):
        busy = ", ".join(sorted(evaluating(host)))
        raise EngineError(
            f"{what} cannot be read while a tick is under way; it was waited for for {_PATIENCE:.0f} seconds",
            detail=f"Being evaluated: {busy}." if busy else None,
            hint="Ask again, or drop the query that takes so long.",
        )
    try:
        if host.owned:
            host.network.take_up_definitions()
        yield host.network
    finally:
        host.round.release()


@system_table(
    "ticks",
    "The last ticks that evaluated continuous queries, the oldest first; at most 1,000 since the pond was opened. Only the "
    "process that writes the pond has any.",
    [
        ("number", "BIGINT", "the number of the tick; it goes on after a restart"),
        ("started", "TIMESTAMP", "when it began"),
        ("seconds", "DOUBLE", "how long it took"),
        ("plan_seconds", "DOUBLE", "of these: finding out what arrived and what is due"),
        ("shards_seconds", "DOUBLE", "of these: evaluating in shards, with handing out the tasks and their results"),
        ("whole_seconds", "DOUBLE", "of these: evaluating in the pond's own process what no shard key serves"),
        ("commit_seconds", "DOUBLE", "of these: making results and progress durable, and handing results out"),
        ("rows", "BIGINT", "rows that had arrived since the tick before"),
        ("results", "BIGINT", "result rows sent"),
        ("left_out", "INT", "how many percent of what queries read of history were left out, where they allow it"),
    ],
)
def ticks(reading: Reading) -> Iterator[Row]:
    for tick in reading.host.network.ticks.recent():
        yield {
            "number": tick.number,
            "started": moment(tick.started),
            "seconds": tick.seconds,
            **{f"{phase}_seconds": seconds for phase, seconds in tick.phases.items()},
            "rows": tick.rows,
            "results": tick.results,
            "left_out": round(100 * tick.left_out),
        }
