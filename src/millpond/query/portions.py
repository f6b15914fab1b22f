"""A plan cut into portions, each of which reads some of the files: what is done one after the other can pause in between.

Invariant. Together the portions read what the plan reads, each row once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from millpond.query.plan import Plan, Tiers
from millpond.table.manifest import ArchiveFile
from millpond.table.tail import TailBlock


def portions(plan: Plan, name: str, rows: int) -> Iterator[Plan]:
    """Plans that read the relation `name` file by file, about so many rows at a time. The tail comes with the first."""
    given = plan.inputs[name]
    assert isinstance(given, Tiers)
    blocks: tuple[TailBlock, ...] = given.selection.blocks
    files: list[ArchiveFile] = []
    for file in given.selection.files:
        files.append(file)
        if sum(f.rows for f in files) >= rows:
            yield _reading(plan, name, given, files, blocks)
            files, blocks = [], ()
    if files or blocks or not given.selection.files:
        yield _reading(plan, name, given, files, blocks)


def _reading(plan: Plan, name: str, given: Tiers, files: list[ArchiveFile], blocks: tuple[TailBlock, ...]) -> Plan:
    selection = replace(given.selection, files=tuple(files), blocks=blocks)
    return replace(plan, inputs={**plan.inputs, name: replace(given, selection=selection)})
