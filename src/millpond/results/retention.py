"""When segments of the result log are deleted: the oldest first, once nothing in them is wanted that no archive holds.

Results that are still wanted are moved to their archives first, by the keeper's thread; until then the segment stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from millpond.results.keeper import ResultKeeper
from millpond.results.log import ResultLog
from millpond.results.outlet import Outlet


def release_segments(log: ResultLog, outlets: Mapping[str, Outlet], keeper: ResultKeeper) -> None:
    """Delete the surplus segments that can go, and ask the keeper to archive what holds the next one back.

    `outlets` are by the folder of their query.
    """
    archive_below: dict[str, int] = {}
    for path, ends in log.surplus():
        held = [f for f, end in ends.items() if f in outlets and not outlets[f].may_leave(end)]
        if held:
            early = log.early()
            archive_below = {f: early[f] for f in held}
            break
        for folder, end in ends.items():
            if folder in outlets:
                outlets[folder].forget(end)
        log.delete(path)
    for folder, outlet in outlets.items():
        number = max(archive_below.get(folder, 0), outlet.crowded())
        if number or outlet.is_stale:
            keeper.ask(outlet, number)
