"""A streaming table at work: its log, its rows and its rejected rows, and where its intake stands.

The writing process calls `append` (under the table's lock) and commits archive work; other processes call `refresh`,
which reads what is new in the log *before* it looks for newer archive versions: a log segment is deleted only after its
rows are in a version, so in that order a reader can see rows twice (and drops them by number) but never miss any.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from millpond.anchor import Anchor
from millpond.arrow import arrow_schema
from millpond.catalog import REJECTED_COLUMNS, StreamingTable
from millpond.durable import delete_folder, disk_errors
from millpond.errors import CorruptBlock, PondError
from millpond.schema import Schema, with_seq
from millpond.table import gaps
from millpond.table.block import BlockSpec
from millpond.table.compartments import expired, width
from millpond.table.draws import limit
from millpond.table.gaps import Gap
from millpond.table.lazy import Marks
from millpond.table.log import REJECTED, ROWS, SEGMENT_BYTES, Frame, IntakeState, LogReader, LogWriter, NewFrame
from millpond.table.manifest import Manifest
from millpond.table.store import Snapshot, Store

_TRIES = 3  # to read a table while its writer archives
_FIRST = -(1 << 63)  # the first time there is


def create(pond: Path, table: StreamingTable, now_ms: int) -> None:
    """Make the folders of a new table, empty."""
    folder = pond / "tables" / table.folder
    delete_folder(folder, pond)  # left by a creation that failed before the catalog named it
    state = IntakeState().to_json()
    Manifest.create(folder / "rejected", REJECTED_COLUMNS, state, now_ms)
    Manifest.create(folder / "archive", table.columns, state, now_ms)


@dataclass(frozen=True)
class Prefix:
    """The rows of a table numbered below `position`, and the table's time after them."""

    snapshot: Snapshot
    position: int
    now: int | None


class StreamTable:
    """With `shard`, of the rows in the log only those of this shard are read, and no rejected ones: for a worker, which has
    no use for others. Such a table is only read."""

    def __init__(
        self, pond: Path, table: StreamingTable, *, segment_bytes: int = SEGMENT_BYTES, shard: int | None = None
    ) -> None:
        self.definition = table
        self._shard = shard
        self.folder = pond / "tables" / table.folder
        self.lock = threading.RLock()
        self.consumed: int | None = None  # rows from here on are still wanted in memory by the continuous queries
        self.wanted: int | None = None  # rows from here on are still wanted in the log by their shards
        self._segment_bytes = segment_bytes
        self._writer: LogWriter | None = None
        self._anchor = Anchor(self.folder / "log.anchor", keep=True)
        self.marks = Marks()
        self._load()

    def _load(self) -> None:
        for _ in range(_TRIES):
            noted = self._load_once()
            if self.damage is None:
                self._set_damage(self._missing(noted))
            if self.damage is None:
                return
            # A writer may have archived and deleted what we were about to read: look again.

    def _load_once(self) -> Mapping[str, int] | None:
        """Read everything; returns what the anchor of the log says."""
        noted, unreadable = None, None
        try:
            noted = self._anchor.read()  # before the log: what was noted by then must be there
        except CorruptBlock as damage:
            unreadable = damage
        archive = Manifest(self.folder / "archive")
        if self.marks.high is None:
            self.marks = Marks(archive.current.files.values())
        rows = Store(archive, self._rows_spec())
        rejected = Store(Manifest(self.folder / "rejected"), self._rejected_spec())
        with rows.lock, rejected.lock:  # whoever asks now waits for the tail
            self.rows, self.rejected = rows, rejected
            self._reader = LogReader(self.folder / "log")
            self.frames: deque[Frame] = deque()  # not wholly archived
            self.state = IntakeState.from_json(dict(rows.manifest.current.state))
            self.next_row = rows.manifest.current.position
            self.next_rejected = rejected.manifest.current.position
            self._last_frame = self.state.frames
            self._gaps: list[Gap] = []
            self._accepted = gaps.read(self.folder)
            # Both or none: if one archive cannot be read, nobody knows which rows of the log belong to the other.
            self._set_damage(unreadable or rows.damage or rejected.damage)
            if self.damage is None:
                self._read_log()
        return noted

    def _missing(self, noted: Mapping[str, int] | None) -> CorruptBlock | None:
        """What should be in the log and is not. Without an anchor nothing should: somebody accepts what is there."""
        if noted is None:
            return None
        positions = self.rows.manifest.current.position, self.rejected.manifest.current.position
        for gap in self._gaps:
            if gap.end > positions[gap.kind] and gap not in self._accepted:
                return gaps.missing(self.folder, gap)
        if noted["frame"] > self._last_frame:
            return gaps.cut_off(self.folder, self._last_frame, self.next_row, noted)
        return None

    def _set_damage(self, damage: PondError | None) -> None:
        self.rows.tail_damage = self.rejected.tail_damage = damage

    @property
    def damage(self) -> PondError | None:
        """Why the table cannot be read, if so. Then it can neither be asked nor appended to."""
        return self.rows.damage or self.rejected.damage

    # -- definition -------------------------------------------------------------------------------------------------

    def _rows_spec(self) -> BlockSpec:
        d = self.definition
        return BlockSpec(
            str(self.folder / "archive"),
            d.time_column,
            d.indexed,
            width(d.history, d.unit),
            randomise=d.reduce_by == "randomize",
            copies=self._copies(),
            seed=d.folder,
        )

    def _copies(self) -> tuple[int, ...]:
        """The copies that a file should have beside it."""
        d = self.definition
        if d.reduce_by == "replicate":
            return tuple(limit(1 - level / 100) for level in d.reduce_levels)
        if d.reduce_by == "lazy" and self.marks.high is not None:
            return (self.marks.high,)
        return ()

    def read_reduced(self, fraction: float) -> None:
        """A part of the rows was read."""
        with self.lock:
            if self.definition.reduce_by == "lazy" and self.marks.ask(fraction):
                self.rows.spec = self._rows_spec()

    def _rejected_spec(self) -> BlockSpec:
        day = 86_400_000_000
        return BlockSpec(str(self.folder / "rejected"), "arrival", (), day)

    @property
    def stored(self) -> Schema:
        """Columns as stored, with the row number."""
        return with_seq(self.definition.columns)

    def redefine(self, table: StreamingTable) -> None:
        """Take a changed definition; a changed schema starts a new log segment."""
        with self.lock:
            changed = table.columns != self.definition.columns
            if table.reduce_by != self.definition.reduce_by:
                self.marks = Marks()
            self.definition = table
            self.rows.spec = self._rows_spec()
            if changed and self._writer is not None:
                self._writer.change_schema(arrow_schema(self.stored))

    # -- time -------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int | None:
        """The highest complete time, in the table's unit: nothing earlier is still to come."""
        state = self.state
        known = [state.heartbeat]
        if state.highest is not None:
            known.append(max(_FIRST, state.highest - self.definition.unit.count(self.definition.lateness)))
        return max((t for t in known if t is not None), default=None)

    def prefix(self) -> Prefix:
        """The rows accepted so far with the time they lead to: all of it belongs together."""
        with self.rows.lock:
            return Prefix(self.rows.snapshot(), self.next_row, self.now)

    # -- reading ----------------------------------------------------------------------------------------------------

    def _read_log(self) -> None:
        try:
            for frame in self._reader.poll():
                self._show(frame)
        except CorruptBlock as damage:  # of this table: the others of the pond can be used
            self._set_damage(damage)
        except OSError as error:
            self._set_damage(gaps.unreadable(self.folder, error))

    def _show(self, frame: Frame) -> None:
        """Make the rows of a frame found in the log visible."""
        own: list[pa.RecordBatch] = []
        bad: list[pa.RecordBatch] = []
        needed = frame.end > self.rows.tail.start, frame.end_rejected > self.rejected.tail.start
        try:
            for section in frame.sections:
                if needed[section.kind] and self._shard in (None, section.shard if section.kind == ROWS else None):
                    (bad if section.kind == REJECTED else own).append(self._reader.read(frame.path, section))
        except FileNotFoundError:  # archived and deleted while we read: the next version holds its rows
            own, bad = [], []
        with self.rows.lock, self.rejected.lock:
            if frame.end > self.rows.tail.start and own:
                self.rows.tail.append(own, frame.least, frame.greatest, frame.end - 1)
                self.rows.tail.cut(self.rows.tail.start)
            if frame.end_rejected > self.rejected.tail.start and bad:
                self.rejected.tail.append(bad, frame.state.at, frame.state.at, frame.end_rejected - 1)
                self.rejected.tail.cut(self.rejected.tail.start)
        if frame.first > self.next_row:
            self._gaps.append(Gap(ROWS, self.next_row, frame.first))
        if frame.first_rejected > self.next_rejected:
            self._gaps.append(Gap(REJECTED, self.next_rejected, frame.first_rejected))
        self._last_frame = max(self._last_frame, frame.state.frames)
        newer = frame.end >= self.next_row and frame.end_rejected >= self.next_rejected
        if newer and frame.state.at >= self.state.at:  # a segment also holds frames older than the archive's state
            self.state = frame.state
        self.next_row = max(self.next_row, frame.end)
        self.next_rejected = max(self.next_rejected, frame.end_rejected)
        if frame.end > self.rows.tail.start or frame.end_rejected > self.rejected.tail.start:
            self.frames.append(frame)

    def refresh(self) -> None:
        """Take in what another process wrote."""
        with self.lock:
            if self._writer is not None:
                return
            if self.damage is not None:
                self._load()
                if self.damage is not None:
                    return
            with self.rows.lock, self.rejected.lock:  # between the two steps rows can be missing
                self._read_log()
                for store in (self.rejected, self.rows):
                    version = store.manifest.refresh()
                    if version.position > store.tail.start:
                        store.tail.cut(version.position)
                self._forget_archived()
            state = IntakeState.from_json(dict(self.rows.manifest.current.state))
            missed = self.rows.manifest.current.position > self.next_row
            if missed or self.rejected.manifest.current.position > self.next_rejected or state.at > self.state.at:
                self.state = state
            self.next_row = max(self.next_row, self.rows.manifest.current.position)
            self.next_rejected = max(self.next_rejected, self.rejected.manifest.current.position)

    # -- writing ----------------------------------------------------------------------------------------------------

    def become_writer(self) -> None:
        """Recover the log and take up writing. The caller holds the pond's lock."""
        with self.lock:
            if self._writer is not None:
                return
            # Read again from the archive's position, so that `frames` holds all that is not archived.
            self._load()
            if self.damage is not None:
                return
            with disk_errors(self.folder):
                gaps.accept(self.folder, self._gaps)  # what was not accepted would be damage
            self._accepted = gaps.read(self.folder)
            writer = LogWriter(self.folder / "log", arrow_schema(self.stored), segment_bytes=self._segment_bytes)
            place = self._reader.place
            if place is not None:
                writer.resume(*place)
                if self._reader.schema_of(place[0]) != arrow_schema(self.stored):
                    writer.change_schema(arrow_schema(self.stored))
            self._writer = writer
            self._note()

    def _note(self) -> None:
        self._anchor.note(frame=self._last_frame, row=self.next_row, rejected=self.next_rejected)

    def skip_to(self, row: int) -> None:
        """Row numbers below `row` were given to rows that are gone: do not give them again."""
        with self.lock:
            if self._writer is not None and row > self.next_row:
                gaps.accept(self.folder, [*self._accepted, Gap(ROWS, self.next_row, row)])
                self._accepted = gaps.read(self.folder)
                self.next_row = row

    def append(self, frame: NewFrame) -> None:
        """Make a frame durable, then visible. The caller holds `lock` and has numbered the rows from `next_row`."""
        if self.damage is not None:
            raise self.damage
        if self._writer is None:
            raise PondError(f'table "{self.definition.name}" was closed or dropped', hint="Look it up again.")
        written = self._writer.append(frame)
        self.next_rejected = written.end_rejected
        if frame.rows or written.rejected:
            self.frames.append(written)
        own = [batch for _, batch in frame.shards]
        with self.rows.lock:  # whoever takes a prefix sees all of the frame or nothing of it
            if own:
                self.rows.accept(own, frame.least, frame.greatest, written.end - 1)
            self.next_row = written.end
            self.state = frame.state
        if frame.rejected is not None and frame.rejected.num_rows:
            self.rejected.accept([frame.rejected], frame.state.at, frame.state.at, written.end_rejected - 1)
        self._last_frame = frame.state.frames
        self._note()

    @property
    def writing(self) -> bool:
        return self._writer is not None

    def archived(self) -> None:
        """After a commit: forget frames and segments that are wholly in the archive."""
        with self.lock:
            self._forget_archived()
            if self._writer is not None:
                row, bad = self.rows.tail.start, self.rejected.tail.start
                self._writer.delete_before(row if self.wanted is None else min(row, self.wanted), bad)

    def _forget_archived(self) -> None:
        row, bad = self.rows.tail.start, self.rejected.tail.start
        while self.frames and self.frames[0].end <= row and self.frames[0].end_rejected <= bad:
            self.frames.popleft()

    def expired_files(self, read_from: Callable[[str], int | None]) -> list[str]:
        """Files of compartments that lie wholly before the history period; also as seen from the time where the query stands that
        is furthest behind, which `read_from` tells."""
        d = self.definition
        span = self.rows.spec.compartment_width
        now = self.now  # once: rows that arrive meanwhile move it, and shards of a compartment go together
        ends = {
            f.path: (f.greatest // span + 1) * span - 1
            for f in self.rows.manifest.current.files.values()
            if expired((f.greatest // span + 1) * span - 1, now, d.history, d.unit)
        }
        read = read_from(d.name) if ends else None
        return [path for path, end in ends.items() if read is None or expired(end, read, d.history, d.unit)]

    def close(self) -> None:
        """After an append under way; later ones are refused."""
        with self.lock:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
                self._anchor.close()
