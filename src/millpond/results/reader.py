"""The outlets of a pond's queries, filled from the result log and the archives of results.

The process that owns the pond also appends to the log here; any other process reads what is new each time it loads.

Invariant. Loading never misses a result: the log is read first and the archives after it, because a segment of the log is
deleted only when the archives hold what is still wanted of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from millpond.catalog import Catalog
from millpond.clock import Clock
from millpond.durable import delete_folder
from millpond.event_time import Progress
from millpond.results.archive import ResultArchive
from millpond.results.keeper import ResultKeeper
from millpond.results.log import ResultFrame, ResultLog, Sent
from millpond.results.losses import lost_between
from millpond.results.outlet import Outlet
from millpond.results.retention import release_segments


class Standing(Protocol):
    """How far the queries are, by their folders, how many rows each has sent, up to where these are in an archive, and what
    is known to be lost of them until somebody acknowledges it."""

    @property
    def progress(self) -> Mapping[str, Progress]: ...

    @property
    def numbers(self) -> Mapping[str, int]: ...

    @property
    def archived(self) -> Mapping[str, int]: ...

    @property
    def lost(self) -> Mapping[str, str]: ...


S = TypeVar("S", bound=Standing)


class Outlets(Generic[S]):
    """Loaded and appended to under the pond's lock; an outlet can be read by any thread.

    `decode` makes the standing of a frame from its tick and its JSON; `read_from` tells the time from which on results of a query
    have yet to be read by others.
    """

    def __init__(
        self,
        pond: Path,
        clock: Clock,
        decode: Callable[[int, Mapping[str, Any]], S],
        read_from: Callable[[str], int | None],
    ) -> None:
        self.by_name: dict[str, Outlet] = {}
        self.arrived = threading.Condition()
        self.keeper = ResultKeeper(clock)
        self.log = ResultLog(pond / "results")
        self._pond = pond
        self._clock = clock
        self._decode = decode
        self._read_from = read_from
        self.lost: dict[str, str] = {}  # found missing by this process, by the folder of the query

    def open(self, catalog: Catalog, standing: S) -> None:
        """An outlet for each query of the catalog, and for no other."""
        for name in [n for n in self.by_name if n not in catalog.queries]:
            del self.by_name[name]
        for query in catalog.queries.values():
            found = self.by_name.get(query.name)
            if found is None or found.query.folder != query.folder:
                archive = ResultArchive(self._pond / "results" / query.folder, query.columns, self._clock)
                made = self.by_name[query.name] = Outlet(query, self.arrived, archive, self._read_from)
                made.next = max(made.next, standing.numbers.get(query.folder, 0))
            elif found.query != query:
                found.query = query
                if found.archive is not None:
                    found.archive.columns = query.columns

    def load(self, catalog: Catalog, standing: S) -> S:
        """Take in what is new in the log and the archives. The standing of the last frame, or the given one if none is new."""
        with self.arrived:  # whoever reads sees it done; a row can be on its way from the log to an archive
            self.open(catalog, standing)
            by_folder = self._by_folder()
            ahead = True
            while ahead:
                standing = self._read_log(by_folder, standing)
                gone = self.log.gone()
                ahead = False
                for name in self._archived():
                    ahead |= name in by_folder and by_folder[name].refresh()
                for ends in gone:
                    for folder, end in ends.items():
                        if folder in by_folder:
                            by_folder[folder].forget(end)
            for folder, position in standing.archived.items():
                archive = by_folder[folder].archive if folder in by_folder else None
                if archive is not None:
                    archive.expect(position)
            self.show(standing)
        return standing

    def _read_log(self, by_folder: Mapping[str, Outlet], standing: S) -> S:
        for frame in self.log.poll():
            before, standing = standing, self._decode(frame.tick, frame.state)
            if frame.skipped:
                came = {sent.folder: sent.rows.num_rows for sent in frame.sent}
                for folder, outlet in by_folder.items():
                    outlet.skip_to(standing.numbers.get(folder, 0) - came.get(folder, 0))
            if frame.gap:
                outlets = by_folder.values()
                self.lost |= lost_between(before.numbers, frame, standing.numbers, outlets, self.log.folder)
            for folder in before.lost.keys() - standing.lost.keys():
                self._acknowledge(by_folder, folder)
            for sent in frame.sent:
                found = by_folder.get(sent.folder)
                if found is not None:
                    if sent.first > found.next and not frame.skipped and sent.folder in standing.lost:
                        found.lose(found.next, sent.first)  # with a missing end of the log, which was told then
                    found.progress = standing.progress.get(sent.folder, Progress())
                    found.take(sent.first, sent.rows)
        for folder, outlet in by_folder.items():  # all its results may have left the log
            outlet.next = max(outlet.next, standing.numbers.get(folder, 0))
        return standing

    def acknowledge(self, folder: str) -> bool:
        """Somebody has read that results of a query are missing. Returns whether this process had found any."""
        return self._acknowledge(self._by_folder(), folder)

    def _acknowledge(self, by_folder: Mapping[str, Outlet], folder: str) -> bool:
        if folder in by_folder:
            by_folder[folder].acknowledge()
        return self.lost.pop(folder, None) is not None

    def become_writer(self) -> None:
        """After the last load: append from now on. Deletes what a crash left behind."""
        self.log.resume()
        by_folder = self._by_folder()
        for name in self._archived():
            archive = by_folder[name].archive if name in by_folder else None
            if archive is not None:
                archive.delete_strays()
            else:  # the query was dropped just before a crash
                delete_folder(self._pond / "results" / name, self._pond)

    def go_on_at(self, floor: int) -> None:
        """Numbers below `floor` may have been used for results that are lost."""
        with self.arrived:
            for outlet in self.by_name.values():
                if outlet.next < floor:
                    outlet.lose(outlet.next, floor)
                    outlet.next = floor

    def archive_positions(self, known: Mapping[str, int]) -> dict[str, int]:
        """Up to where results of queries are in archives; of damaged ones what was `known` of them."""
        found: dict[str, int] = {}
        for folder, outlet in self._by_folder().items():
            archive = outlet.archive
            if archive is not None and archive.damage is not None and folder in known:
                found[folder] = known[folder]
            elif archive is not None and archive.in_use:
                found[folder] = archive.position
        return found

    def append(self, frame: ResultFrame) -> None:
        """Make a frame durable. Nobody is shown its results yet."""
        self.log.append(frame)

    def hand_out(self, sent: Sequence[tuple[str, Sent]], standing: S) -> None:
        """Show the results of a durable frame, by query."""
        self.show(standing)
        for name, batch in sent:
            self.by_name[name].take(batch.first, batch.rows)

    def show(self, standing: S) -> None:
        """Tell the outlets how far their queries are."""
        for outlet in self.by_name.values():
            outlet.progress = standing.progress.get(outlet.query.folder, Progress())

    def release_old(self) -> None:
        """Delete segments of the log that are not needed any more."""
        release_segments(self.log, self._by_folder(), self.keeper)

    def discard(self, outlet: Outlet) -> None:
        """Delete the archive of a query that was dropped."""
        self.keeper.forget(outlet)
        if outlet.archive is not None:
            outlet.archive.delete(self._pond)

    def close(self) -> None:
        self.keeper.close()
        self.log.close()

    def _by_folder(self) -> dict[str, Outlet]:
        return {o.query.folder: o for o in self.by_name.values()}

    def _archived(self) -> list[str]:
        """The folders of queries that have an archive of results, or had one."""
        folder = self.log.folder
        return [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
