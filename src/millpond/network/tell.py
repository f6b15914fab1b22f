"""SHOW STATE and EXPLAIN CONTINUOUS QUERY: what a query holds, how it is evaluated, and why its next result waits."""

from __future__ import annotations

import pyarrow as pa

from millpond.catalog import ContinuousQuery, StreamingTable
from millpond.duration import describe
from millpond.network.inlet import NEVER
from millpond.network.prepare import bases
from millpond.network.runner import Network
from millpond.query.bind import Use


def state_rows(network: Network) -> pa.Table:
    """One row for each thing held: who holds it, what it is, how many rows and bytes."""
    rows = []
    evaluator = network.evaluator
    if evaluator is not None:
        for name, inlet in evaluator.inlets.items():
            rows.append(
                {"holder": name, "what": "rows in windows by time, shared", "rows": inlet.rows, "bytes": inlet.bytes}
            )
        for node in evaluator.nodes.values():
            for use in node.prepared.streams:
                slots = node.slots.get(use.name)
                if slots is not None:
                    what = f"partitioned window of {use.alias}, {slots.rows.slots.size} keys"
                    rows.append({"holder": node.prepared.name, "what": what, "rows": slots.rows.rows,
                                 "bytes": slots.rows.bytes})  # fmt: skip
            if node.before is not None:
                rows.append({"holder": node.prepared.name, "what": "result at the last instant",
                             "rows": node.before.num_rows, "bytes": node.before.nbytes})  # fmt: skip
    rows += [
        {"holder": o.query.name, "what": "results to be fetched", "rows": o.rows, "bytes": o.bytes}
        for o in network.outlets.values()
    ]
    schema = pa.schema([("holder", pa.string()), ("what", pa.string()), ("rows", pa.int64()), ("bytes", pa.int64())])
    return pa.Table.from_pylist(rows, schema=schema)


def explain_query(network: Network, query: ContinuousQuery) -> list[str]:
    sample = "at each arrival" if query.slide is None else f"every {describe(query.slide)}"
    kept = "those of the last instant" if query.history is None else f"those of the last {describe(query.history)}"
    lines = [f"evaluated {sample}; sends {_FORMS[query.form]}; keeps {kept}"]
    evaluator = network.evaluator
    node = evaluator.nodes.get(query.name) if evaluator is not None else None
    if node is not None:
        lines += [f"reads {u.table.name}{_alias(u)} through {_window(u)}" for u in node.prepared.streams]
        lines += [f"reads standard table {u.table.name}{_alias(u)}, as it is then" for u in node.prepared.standards]
    failure = network.state.failed.get(query.folder)
    if failure:
        lines.append(f"stopped: {failure.splitlines()[0]}")
    elif query.paused:
        lines.append("paused")
    lines += _waits(network, query)
    return lines


_FORMS = {
    "rstream": "the whole result (RSTREAM)",
    "istream": "what is new in the result (ISTREAM)",
    "dstream": "what is gone from the result (DSTREAM)",
}


def _alias(use: Use) -> str:
    return "" if use.alias == use.table.name else f" as {use.alias}"


def _window(use: Use) -> str:
    window = use.window
    assert window is not None
    if window.now:
        return "[NOW], the rows of the instant"
    within = f" of the last {describe(window.interval)}" if window.interval is not None else ""
    if window.rows is None:
        return f"the rows{within}"
    if not window.columns:
        return f"the {window.rows} newest rows"
    return f"the {window.rows} newest rows of each {', '.join(window.columns)}{within}"


def _waits(network: Network, query: ContinuousQuery) -> list[str]:
    """Which table holds the time back."""
    times = {}
    for name in sorted(bases(query.name, network.catalog)):
        table = network.table(name)
        times[name] = (table.definition, table.now)
    unknown = [n for n, (_, now) in times.items() if now is None]
    if unknown:
        return [f"waits for the first row or heartbeat of {', '.join(unknown)}"]
    slowest = min(times, key=lambda n: times[n][1] or NEVER)
    definition, now = times[slowest]
    assert now is not None
    return [
        f"time is complete below {definition.shown(now)}, held back by {slowest}",
        f"next instant: {_next(query, definition, now)}",
    ]


def _next(query: ContinuousQuery, table: StreamingTable, now: int) -> str:
    if query.slide is None:
        return f"the next row of {table.name}, once its time has passed"
    slide = table.unit.ticks(query.slide)
    return f"{table.shown(-(-now // slide) * slide)}, once time has passed it"
