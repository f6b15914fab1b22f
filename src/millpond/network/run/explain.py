"""What continuous queries hold in memory and what they have cost; EXPLAIN of one: how it is evaluated, and why its next result
waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from millpond.catalog import Catalog, ContinuousQuery, StreamingTable
from millpond.duration import FOREVER, describe
from millpond.network.plan.graph import bases
from millpond.network.plan.prepared import Prepared
from millpond.network.plan.two_phase import ColumnsOf
from millpond.network.run.idle import is_idle
from millpond.network.run.network import Network
from millpond.network.run.placement import place
from millpond.network.strategies.base import Cost, Costs
from millpond.network.strategies.registry import choose
from millpond.query.binding.uses import Use


def state_rows(network: Network) -> list[dict[str, Any]]:
    """One row for each thing held: who holds it, what it is, in which shard, how many rows and bytes."""
    held: dict[tuple[str, str, str | None, int | None], list[int]] = {}
    Held = Mapping[tuple[str, str], tuple[int, int]]
    parts: list[tuple[str | None, int | None, Held]] = []
    if network.evaluator is not None:
        parts.append((None, None, network.evaluator.held()))
    parts += [(table, n, found.held) for table, shards in network.shards.items() for n, found in shards.items()]
    for table, shard, part in parts:
        for (holder, what), (count, size) in part.items():
            total = held.setdefault((holder, what, table, shard), [0, 0])
            total[0] += count
            total[1] += size
    rows: list[dict[str, Any]] = [
        {"holder": h, "what": w, "table": t, "shard": s, "rows": c, "bytes": b} for (h, w, t, s), (c, b) in held.items()
    ]
    return rows + [
        {"holder": o.query.name, "what": "results to be fetched", "rows": o.rows, "bytes": o.bytes}
        for o in list(network.outlets.values())
    ]


def cost_rows(network: Network) -> list[dict[str, Any]]:
    """One row for each query and place where it is evaluated."""
    parts: list[tuple[str | None, int | None, Costs]] = []
    if network.evaluator is not None:
        parts.append((None, None, network.evaluator.costs()))
    parts += [(table, n, found.costs) for table, shards in network.shards.items() for n, found in shards.items()]
    names = ("manner", *(field.name for field in fields(Cost)))
    return [
        {"query": query, "table": table, "shard": shard, **dict(zip(names, found, strict=True))}
        for table, shard, costs in parts
        for query, found in costs.items()
        if query in network.catalog.queries  # a shard that did nothing since does not know that one was dropped
    ]


def explain_query(network: Network, query: ContinuousQuery) -> list[str]:
    arrival = "at each row" if query.each_row else "at each arrival"
    sample = arrival if query.slide is None else f"every {describe(query.slide)}"
    if query.gap is not None:
        sample = f"when a session has ended, by a gap of {describe(query.gap)}"
    kept = "those of the last instant"
    if query.history is not None:
        kept = "all" if query.history >= FOREVER else f"those of the last {describe(query.history)}"
    lines = [f"evaluated {sample}; sends {_FORMS[query.stream_operator]}; keeps {kept}"]
    prepared = network.prepared(query)
    lines += [
        f"reads {u.table.name}{_alias(u)} through {u.window.description}"
        for u in prepared.streams
        if u.window is not None
    ]
    lines += [f"reads standard table {u.table.name}{_alias(u)}, as it is then" for u in prepared.standards]
    lines += [f"calls {f.name}, in Python: {f.python}" for f in prepared.bound.functions.values()]
    choice = choose(prepared)
    lines.append(_where(prepared, choice.strategy.manner, network.catalog, network.columns))
    if query.overload is not None:
        lines.append(
            f"leaves out at most {query.overload} % of the rows in its windows while there is more to do than time"
        )
    if prepared.on_spark:
        lines += [
            f"DuckDB does not evaluate it: {prepared.refusal}",
            "each instant is a job of Spark and takes some tenths of a second; other queries do not wait for it",
            "to make it fast: filter and group in a streaming view that does without that, and read its results here",
        ]
    asked = [refusal.reason for refusal in choice.refusals.values() if refusal.asked]
    if network.moves_later(query.name):
        lines.append("the next instant evaluated whole, to send what differs from what was sent last")
    lines += [f"exact, holding the rows of its windows: {reason}" for reason in asked[:1]]
    failure = network.failure(query)
    if failure:
        return [*lines, f"stopped: {failure.splitlines()[0]}"]
    return [*lines, "paused"] if query.paused else [*lines, *_waits(network, query)]


_FORMS = {
    "rstream": "the whole result (RSTREAM)",
    "istream": "what is new in the result (ISTREAM)",
    "dstream": "what is gone from the result (DSTREAM)",
}


def _where(prepared: Prepared, manner: str, catalog: Catalog, columns_of: ColumnsOf) -> str:
    placement = place(prepared, catalog, columns_of)
    if (table := placement.table) is not None:
        return (
            f"evaluated in the {table.shards} shards of {table.name}, {manner}"
            if table.shards > 1
            else f"evaluated {manner}"
        )
    if placement.steps is not None:
        return f"evaluated in the shards of {placement.steps[0].reads[0]}, then added up"
    return f"evaluated whole, {manner}"


def _alias(use: Use) -> str:
    return "" if use.alias == use.table.name else f" as {use.alias}"


def _waits(network: Network, query: ContinuousQuery) -> list[str]:
    """Which table holds the time back."""
    times = {}
    for name in sorted(bases(query.name, network.catalog)):
        table = network.table(name)
        times[name] = (table.definition, table.now)
    idle = [n for n in times if is_idle(network.table(n))]
    lines = [f"{n} is declared idle: at each tick it takes the time of the others" for n in idle]
    if len(idle) < len(times):
        times = {n: t for n, t in times.items() if n not in idle}
    unknown = [n for n, (_, now) in times.items() if now is None]
    if unknown:
        lines.append(f"waits for the first row or heartbeat of {', '.join(unknown)}")
        return [*lines, *(_hint(n) for n in unknown if len(unknown) < len(times))]
    known = {n: now for n, (_, now) in times.items() if now is not None}
    slowest = min(known, key=known.__getitem__)
    definition, now = times[slowest][0], known[slowest]
    lines.append(f"time is complete below {definition.shown(now)}, held back by {slowest}")
    if max(known.values()) > now:
        lines.append(_hint(slowest))
    return [*lines, f"next instant: {_next(query, definition, now)}"]


def _hint(table: str) -> str:
    return f"if nothing comes from {table} for now: ALTER STREAMING TABLE {table} SET IDLE"


def _next(query: ContinuousQuery, table: StreamingTable, now: int) -> str:
    if query.slide is None:
        return f"the next row of {table.name}, once its time has passed"
    slide, offset = table.unit.count(query.slide), table.unit.count(query.offset)
    return f"{table.shown(now + (offset - now) % slide)}, once time has passed it"
