"""What queries are told when files of the result log are missing or damaged.

Frames missing in the middle concern the queries whose results were in them; a missing end concerns all of them, for how far
they were is lost, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from millpond.catalog import ContinuousQuery
from millpond.results.log import ResultFrame
from millpond.results.outlet import Outlet


def lost_between(
    before: Mapping[str, int], frame: ResultFrame, after: Mapping[str, int], outlets: Iterable[Outlet], place: Path
) -> dict[str, str]:
    """Frames before `frame` are missing. The outlets learn which results were in them. By the folder of each query that had
    any: what it is told, of this gap and of those before it.

    `before` are the numbers reached before the gap, `after` those after `frame`; `place` is where the files are.
    """
    came = {sent.folder: sent.rows.num_rows for sent in frame.sent}
    found = {}
    for outlet in outlets:
        folder = outlet.query.folder
        archived = 0 if outlet.archive is None else outlet.archive.position
        known = max(before.get(folder, 0), archived)
        number = after.get(folder, 0) - came.get(folder, 0)
        if number > known:
            outlet.lose(known, number)
            found[folder] = (
                f"results {_stretches(outlet.lost)} are missing from the result log\n"
                f'Files in "{place}" were deleted or damaged. Restore them from a copy, or acknowledge: '
                f"{_resume(outlet.query)}"
            )
    return found


def _stretches(lost: Iterable[tuple[int, int]]) -> str:
    return ", ".join(f"{first} to {end - 1}" for first, end in lost)


def lost_end(query: ContinuousQuery, known: int, floor: int, place: Path, *, again: bool) -> str:
    """What a query is told when the end of the result log is missing, with its results from number `known` on."""
    return (
        f"results from number {known} on are missing from the result log\n"
        f'Files in "{place}" were deleted or damaged. '
        f"{'The results are sent again' if again else 'The query goes on with the present'}, numbered from {floor}. "
        f"Acknowledge: {_resume(query)}"
    )


def _resume(query: ContinuousQuery) -> str:
    return f"RESUME {'STREAMING VIEW' if query.view else 'CONTINUOUS QUERY'} {query.name}"
