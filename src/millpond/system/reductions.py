"""`millpond.reductions`: windows of streaming tables that are kept as aggregates."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.duration import describe
from millpond.query.windowed.cover import cover, minus
from millpond.system.registry import Reading, Row, system_table, time_text


@system_table(
    "reductions",
    "Windows of streaming tables that are kept as aggregates and can be read in place of rows: `REDUCE USING <name>`.",
    [
        ("name", "STRING", "the name, which for an eager one is also that of the query whose results are its windows"),
        ("table", "STRING", "the table"),
        ("every", "STRING", "how long a window is"),
        (
            "design",
            "STRING",
            "`eager`: a continuous query keeps it up; `lazy`: a window is computed when it is asked for",
        ),
        ("keys", "STRING", "the columns by which the rows of a window are grouped; NULL if it has none"),
        ("keeps", "STRING", "the partial aggregates, as columns of the windows"),
        (
            "sent_to",
            "STRING",
            "up to when the query has sent windows; NULL if there are none, or not all of them are there",
        ),
        ("window_rows", "BIGINT", "rows that the query has sent"),
        ("kept_stretches", "BIGINT", "stretches of time whose windows were computed when they were asked for"),
        ("kept_rows", "BIGINT", "rows that are kept of these"),
        ("bytes", "BIGINT", "the size of the files of both"),
        (
            "changed_stretches",
            "BIGINT",
            "stretches whose rows changed after their windows were sent; not computed anew yet",
        ),
        ("problem", "STRING", "why windows are not kept up; NULL if they are"),
        ("sql", "STRING", "the SELECT, as written"),
    ],
)
def reductions(reading: Reading) -> Iterator[Row]:
    problems = {row["name"]: row["problem"] for row in reading.rows("queries")}
    for reduction in reading.catalog.reductions.values():
        table = reading.catalog.streaming_table(reduction.table)
        state, kept = reading.host.reductions.kept(reduction).read()
        sent, rows = reading.host.reductions.sent(reduction, table)
        yield {
            "name": reduction.name,
            "table": reduction.table,
            "every": describe(reduction.every),
            "design": "lazy" if reduction.lazy else "eager",
            "keys": ", ".join(reduction.keys) or None,
            "keeps": ", ".join(partial.column for partial in reduction.partials),
            "sent_to": time_text(table, sent[-1][1]) if sent else None,
            "window_rows": rows.rows if rows is not None else 0,
            "kept_stretches": len(state.kept),
            "kept_rows": kept.rows,
            "bytes": kept.version.bytes + (rows.version.bytes if rows is not None else 0),
            "changed_stretches": len(minus(cover(state.changed), cover(state.kept))),
            "problem": problems.get(reduction.name),
            "sql": reduction.sql,
        }
