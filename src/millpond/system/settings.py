"""`millpond.settings` and `millpond.pond`: how the pond is set up, and what its process is doing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta

from millpond.config import Config
from millpond.duration import describe
from millpond.lock import is_written
from millpond.system.registry import Reading, Row, system_table


@system_table(
    "settings",
    "The settings of this process.",
    [
        ("name", "STRING", "its name, as an argument of `connect`"),
        ("value", "STRING", "what it is"),
        ("default", "STRING", "what it is when nobody sets it"),
    ],
)
def settings(reading: Reading) -> Iterator[Row]:
    for setting in fields(Config):
        value = getattr(reading.host.config, setting.name)
        yield {"name": setting.name, "value": _text(value), "default": _text(setting.default)}


def _text(value: object) -> str:
    if isinstance(value, timedelta):
        return describe(value)
    if isinstance(value, tuple):
        return " ".join(f"{name}={text}" for name, text in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


@system_table(
    "pond",
    "The pond itself: one row. Columns from `pipeline` on tell what this process does, and are NULL where it has not "
    "started a pipeline.",
    [
        ("path", "STRING", "its folder"),
        ("written", "BOOLEAN", "whether a process writes it now"),
        ("owned", "BOOLEAN", "whether that is this process"),
        (
            "pipeline",
            "STRING",
            "`starting`, `running`, `retrying` (Spark has failed and is started again), `stopped` or `failed`",
        ),
        ("workers", "BIGINT", "how many workers of Spark are connected"),
        ("ticks", "BIGINT", "ticks of the pipeline that had work to do"),
        ("problem", "STRING", "why the pipeline failed or is retrying"),
    ],
)
def pond(reading: Reading) -> Iterator[Row]:
    host = reading.host
    row: Row = {"path": str(host.folder), "written": host.owned or is_written(host.folder), "owned": host.owned}
    pipeline = host.pipeline
    if pipeline is not None:
        row["pipeline"] = (
            "failed" if pipeline.error
            else "stopped" if not pipeline.alive
            else "retrying" if pipeline.problem
            else "running" if pipeline.ready.is_set()
            else "starting"
        )  # fmt: skip
        row["workers"] = pipeline.connected
        row["ticks"] = pipeline.ticks
        problem = pipeline.error or pipeline.problem
        row["problem"] = str(problem) if problem else None
    yield row
