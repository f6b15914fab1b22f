"""`millpond.triggers`: what is done with the results of continuous queries, and how far it is."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.extensions import shown_location
from millpond.lock import is_written
from millpond.system.registry import Reading, Row, system_table


@system_table(
    "triggers",
    "The triggers on continuous queries.",
    [
        ("query", "STRING", "the query whose results it hands on"),
        (
            "do",
            "STRING",
            "the kind of sink, such as `post` or `python`; `callable` for a Python object of this process",
        ),
        ("target", "STRING", "the address or the function, without a password"),
        ("state", "STRING", "`running`, `retrying`, or `stopped` while nobody writes the pond"),
        ("sent", "BIGINT", "results handed on"),
        ("lag", "BIGINT", "results that wait to be handed on"),
        ("missed", "BIGINT", "results that were no longer kept when the trigger came to them"),
        ("problem", "STRING", "why the last call failed"),
    ],
)
def triggers(reading: Reading) -> Iterator[Row]:
    runs = is_written(reading.host.folder)
    for state in reading.host.triggers.states():
        yield {
            "query": state.trigger.query,
            "do": state.trigger.kind,
            "target": shown_location(state.trigger.target),
            "state": "stopped" if not runs else "retrying" if state.reached.problem else "running",
            "sent": state.sent,
            "lag": state.lag,
            "missed": state.reached.missed,
            "problem": state.reached.problem,
        }
