"""Rows that a program appends to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millpond.catalog import StandardTable
from millpond.ingest.intake import Receipt, warn_malformed
from millpond.spark.frames import collected, is_frame
from millpond.statements.change import insert_standard

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


def append(workspace: Workspace, name: str, rows: Any) -> Receipt:
    """Add rows of any kind to a table; those of a data frame of Spark, which have no order, in order of their time."""
    workspace.own()
    found = workspace.catalog.relation(name)
    if isinstance(found, StandardTable):
        return Receipt(found.name, insert_standard(workspace, found, collected(rows) if is_frame(rows) else rows))
    intake = workspace.intake(name)
    if is_frame(rows):
        rows = collected(rows)
        time = intake.table.definition.time_column
        if time in rows.column_names:
            rows = rows.sort_by(time)
    receipt = intake.offer(rows)
    warn_malformed(receipt)
    return receipt
