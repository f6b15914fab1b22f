"""`millpond.standing_queries`: the standing queries of the pond."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.system.registry import Reading, Row, system_table


@system_table(
    "standing_queries",
    "The standing queries of the pond.",
    [
        ("id", "BIGINT", "its number"),
        ("name", "STRING", "its name, if it was given one"),
        ("keep", "STRING", "what may be kept of it: `auto`, `partial`, `complete` or `nothing`"),
        (
            "state",
            "STRING",
            "`kept`, `nothing` if it is answered from scratch or a table of it is gone, or `swapped out` until somebody asks it",
        ),
        ("why", "STRING", "why nothing is kept of it, if so"),
        ("reads", "STRING", "the relations it reads"),
        ("sql", "STRING", "its SELECT with BEGIN and END"),
    ],
)
def standing_queries(reading: Reading) -> Iterator[Row]:
    for query in reading.host.standing.registry.all():
        state, why = reading.host.standing.state(query)
        yield {
            "id": query.number,
            "name": query.name,
            "keep": query.keep,
            "state": state,
            "why": why,
            "reads": ", ".join(name for name, _ in query.reads),
            "sql": query.sql,
        }
