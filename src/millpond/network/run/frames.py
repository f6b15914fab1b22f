"""The newest frames of the tables' logs, for workers that missed some ticks of a shard.

A worker that is not too far behind takes in the rows it missed from the log. For one that is further behind than the frames
reach, windows are filled from history.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping

from millpond.table.log import Frame

_FRAMES_KEPT = 512  # of each table


class RecentFrames:
    """By the folders of tables; only frames that a durable tick has read are in here."""

    def __init__(self) -> None:
        self._frames: dict[str, deque[Frame]] = {}

    def of(self, folder: str) -> tuple[Frame, ...]:
        return tuple(self._frames.get(folder, ()))

    def reach(self, folder: str, position: int) -> int:
        """The first row that can still be found in the log; `position` if nothing is kept."""
        frames = self._frames.get(folder)
        return frames[0].first if frames else position

    def extend(self, fresh: Mapping[str, Iterable[Frame]]) -> None:
        for folder, frames in fresh.items():
            self._frames.setdefault(folder, deque(maxlen=_FRAMES_KEPT)).extend(frames)

    def keep(self, folders: Collection[str]) -> None:
        """Forget the other tables."""
        for folder in [f for f in self._frames if f not in folders]:
            del self._frames[folder]
