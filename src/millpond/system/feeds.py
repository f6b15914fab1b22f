"""`millpond.sources` and `millpond.feeds`: where rows come from, and what flows."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.extensions import shown_location
from millpond.ingest.feed import FeedRunner
from millpond.lock import is_written
from millpond.sources.registry import options_shown
from millpond.system.registry import Reading, Row, system_table


@system_table(
    "sources",
    "The sources that rows can be read from.",
    [
        ("name", "STRING", "its name"),
        ("kind", "STRING", "what it is, such as `files` or `socket`"),
        ("location", "STRING", "where it is, without a password"),
        ("format", "STRING", "the format of its rows"),
        ("options", "STRING", "what was set WITH (...), without secrets"),
    ],
)
def sources(reading: Reading) -> Iterator[Row]:
    for source in reading.catalog.sources.values():
        yield {
            "name": source.name,
            "kind": source.kind,
            "location": shown_location(source.location),
            "format": source.format,
            "options": options_shown(source),
        }


@system_table(
    "feeds",
    "The feeds: continuous inserts from a source into a table. Counts are those since the feed was started. In a process "
    "other than the one that writes the pond, `state`, `problem` and the counts are NULL.",
    [
        ("name", "STRING", "its name"),
        ("source", "STRING", "the source it reads"),
        ("table", "STRING", "the table it inserts into"),
        ("state", "STRING", "`running`, `stopped` (nobody has started it) or `failed`"),
        ("read", "BIGINT", "rows read from the source"),
        ("accepted", "BIGINT", "rows accepted by the table"),
        ("rejected", "BIGINT", "rows rejected by it: `late`, `ahead` and `malformed` together"),
        ("late", "BIGINT", "rows that were late"),
        ("ahead", "BIGINT", "rows whose time was too far ahead"),
        ("malformed", "BIGINT", "rows that could not be read or converted"),
        ("filtered", "BIGINT", "rows that its SELECT left out"),
        ("problem", "STRING", "why it failed, or why the last step is being tried again"),
        ("sql", "STRING", "its statement"),
    ],
)
def feeds(reading: Reading) -> Iterator[Row]:
    host = reading.host
    elsewhere = not host.owned and is_written(host.folder)
    for feed in reading.catalog.feeds.values():
        row = {"name": feed.name, "source": feed.source, "table": feed.table, "sql": feed.sql}
        yield row if elsewhere else {**row, **_at_work(host.feed(feed.name))}


def _at_work(runner: FeedRunner | None) -> Row:
    if runner is None:
        return {"state": "stopped"}
    progress, error = runner.progress, runner.error
    return {
        "state": "failed" if error else "running" if runner.running else "stopped",
        "read": progress.read,
        "accepted": progress.accepted,
        "rejected": progress.late + progress.ahead + progress.malformed,
        "late": progress.late,
        "ahead": progress.ahead,
        "malformed": progress.malformed,
        "filtered": progress.filtered,
        "problem": str(error) if error else progress.trouble,
    }
