"""The format in a session of Spark, and a pond's tables as views there. Runs in the process that holds the session.

A view is a table as it is when the view is made. Spark reads its archive files itself, so that it reads no columns and row groups
that a query has no use for; the rows behind them come by the format, by number.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from millpond.catalog import StandardTable, StreamingTable
from millpond.query.binding.uses import Use
from millpond.query.relation import SPARK, time_literal
from millpond.schema import Column, Schema
from millpond.spark.session import is_live, session_for
from millpond.spark_format.relations import spark_schema
from millpond.table.store import Snapshot
from millpond.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "millpond"


def register_format(spark: SparkSession) -> None:
    """Let a session of Spark read and write ponds: `spark.read.format("millpond").option("pond", folder).load("clicks")`.

    Where millpond is installed, Spark finds the format by itself; docs/spark.md has examples.
    """
    from pyspark_millpond import DefaultSource

    spark.dataSource.register(DefaultSource)


def open_session(workspace: Workspace, before: SparkSession | None) -> SparkSession:
    """A session for a user of a pond: the one he had before, if it lives. It shares Spark with the pond, and nothing else."""
    whole = session_for(workspace.config, "a session is asked for")
    if before is None or not is_live(before):
        before = whole.newSession()
        register_format(before)
    catalog = workspace.catalog
    results = [query.table for query in catalog.queries.values()]
    tables: list[StreamingTable | StandardTable] = [*catalog.streaming.values(), *catalog.standard.values(), *results]
    for table in tables:
        use = Use("__r0", table.name, table)
        snapshot = workspace.shelf.snapshot(use)
        if snapshot is not None:  # else it is in another system
            _frame(before, workspace, use, snapshot).createOrReplaceTempView(SPARK.quote(table.name))
    return before


def _frame(session: SparkSession, workspace: Workspace, use: Use, snapshot: Snapshot) -> DataFrame:
    """A relation as it is in a snapshot."""
    files = snapshot.version.files.values()
    frames = []
    for have in dict.fromkeys(f.columns for f in files):
        kept = Schema(tuple(c for c in use.columns if c.name in have))
        paths = [str(snapshot.folder / f.path) for f in files if f.columns == have]
        frame = session.read.schema(spark_schema(kept)).parquet(*paths)
        if snapshot.since is not None and isinstance(use.table, StreamingTable):
            time = SPARK.quote(use.table.time_column)
            frame = frame.where(f"{time} >= {time_literal(use.table, snapshot.since, SPARK)}")
        frames.append(frame.selectExpr(*(_item(c, have) for c in use.columns)))
    position = snapshot.version.position
    end = max((b.last_seq + 1 for b in snapshot.blocks), default=position)
    if end > position or not frames:
        reader = session.read.format(FORMAT).schema(spark_schema(use.columns))
        reader = reader.option("pond", str(workspace.folder)).option("table", use.table.name)
        frames.append(reader.option("startingPosition", position).option("endingPosition", end).load())
    return reduce(lambda one, other: one.union(other), frames)


def _item(column: Column, have: tuple[str, ...]) -> str:
    name = SPARK.quote(column.name)
    return name if column.name in have else f"CAST(NULL AS {column.type}) AS {name}"
