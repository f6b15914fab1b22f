"""The registry: which standing queries there are. The only thing about them that is durable.

A million queries do not belong into the catalog, which is one file and is written whole. So they have a journal of their own,
`standing/queries.journal`, to which each registration and each drop adds a line:

    <CRC-32 of the rest> {"register": 7, "name": "cheap", "text": "SELECT ...", "keep": "auto", "reads": [["quotes", "quotes-0"]]}
    <CRC-32 of the rest> {"register": 8, "text": "... WHERE symbol = ? ...", "keep": ..., "reads": ..., "each": [["A"], ["B"]]}
    <CRC-32 of the rest> {"drop": [7, 9]}

A line with `each` registers one query for each list of values, numbered from the given number on.

Invariants
 1. A line is acknowledged when it is on disk. What a crash left of an unfinished line has no line end, and is cut off.
 2. Any other line that does not match its checksum, and a journal shorter than its anchor says, is damage, and is told.
 3. Numbers are never given twice: they begin after the greatest ever given, also after the journal was rewritten.

The writer rewrites the journal, without what was dropped, when most of its lines are of no use. A reader sees that by the
first line, which counts the rewrites, and reads it anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from millpond.anchor import Anchor
from millpond.durable import disk_errors, make_folder, write_file
from millpond.errors import CatalogError, CorruptBlock, PondError, TypeMismatch, UnknownName, brief
from millpond.sql.statements import KEEPS
from millpond.standing.definition import StandingQuery

FOLDER = "standing"
FILE = "queries.journal"
_MANY = 10_000  # queries in one line of `each`
_LONG = 1000  # lines of a journal that are always left as they are

Listener = Callable[[Sequence[StandingQuery], Sequence[StandingQuery]], None]


class Registry:
    """Any thread may look up. One process registers and drops; others call `refresh`."""

    def __init__(self, pond: Path) -> None:
        self._folder = pond / FOLDER
        self._path = self._folder / FILE
        self._anchor = Anchor(self._folder / "queries.anchor")
        self._lock = threading.RLock()
        self._queries: dict[int, StandingQuery] = {}
        self._names: dict[str, int] = {}
        self._next = 1
        self._read = 0  # bytes of the journal that are known
        self._lines = 0  # of them
        self._rewrites: int | None = None
        self._seen: tuple[int, int, int] | None = None  # the file that was read, its size and time
        self._head = b""  # its first line
        self._damage: PondError | None = None
        self._writing = False
        self.version = 0
        """Counts the changes."""
        self.changed: Listener | None = None
        """Told what came and what went."""

    # -- looking up -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._queries)

    def all(self) -> list[StandingQuery]:
        with self._lock:
            self._check()
            return list(self._queries.values())

    def find(self, query: str | int) -> StandingQuery:
        """The query of that name or number."""
        if not isinstance(query, str | int) or isinstance(query, bool):
            raise TypeMismatch(
                f"{brief(query)} is no standing query", hint="Give the id of a handle, or the name of a query."
            )
        found = self._queries.get(query) if isinstance(query, int) else None
        if found is not None and self._damage is None:
            return found  # without waiting for one that is being made durable
        with self._lock:
            self._check()
            number = query if isinstance(query, int) else self._names.get(query.lower())
            found = self._queries.get(number) if number is not None else None
            if found is not None:
                return found
            names = [q.name for q in self._queries.values() if q.name is not None] if isinstance(query, str) else []
        if isinstance(query, int):
            dropped = 0 < query < self._next
            raise UnknownName(
                "standing query",
                brief(query),
                hint="It was dropped." if dropped else "SHOW STANDING QUERIES lists them.",
            )
        raise UnknownName("standing query", query, names)

    def __contains__(self, query: str | int) -> bool:
        """Without the lock, so that a listener may hold locks of its own when it asks."""
        return query in self._queries if isinstance(query, int) else query.lower() in self._names

    # -- changing ---------------------------------------------------------------------------------------------------

    def register(self, name: str | None, text: str, keep: str, reads: tuple[tuple[str, str], ...]) -> StandingQuery:
        """Make a query durable."""
        with self._lock:
            if name is not None and name.lower() in self._names:
                raise CatalogError(
                    f'standing query "{name}" exists already', hint="Drop it first, or use IF NOT EXISTS."
                )
            line: dict[str, Any] = {"register": self._next, "text": text, "keep": keep, "reads": reads}
            return self._write([line | ({"name": name.lower()} if name is not None else {})])[0]

    def register_each(
        self, text: str, values: Sequence[Sequence[Any]], keep: str, reads: tuple[tuple[str, str], ...]
    ) -> list[StandingQuery]:
        """Make a query durable for each list of values."""
        with self._lock:
            lines, number = [], self._next
            for begin in range(0, len(values), _MANY):
                each = [[_to_json(value) for value in one] for one in values[begin : begin + _MANY]]
                lines.append({"register": number, "text": text, "keep": keep, "reads": reads, "each": each})
                number += len(each)
            return self._write(lines)

    def drop(self, numbers: Iterable[int]) -> None:
        with self._lock:
            known = [number for number in numbers if number in self._queries]
            if known:
                self._write([{"drop": known}])

    def _write(self, lines: Sequence[Mapping[str, Any]]) -> list[StandingQuery]:
        assert self._writing, "only the writer registers"
        self._check()
        data = b"".join(map(_line, lines))
        if self._rewrites is None:
            make_folder(self._folder)
            self._rewrite(0, ())
        with disk_errors(self._path):
            try:
                handle = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC)
            except FileNotFoundError as error:
                raise _damaged(self._path, "It is gone") from error
            try:
                os.ftruncate(handle, self._read)
                view, place = memoryview(data), self._read
                while view:
                    count = os.pwrite(handle, view, place)
                    view, place = view[count:], place + count
                os.fsync(handle)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, self._read)
                raise
            finally:
                os.close(handle)
        self._read += len(data)
        came, went = self._apply(lines)
        self._note()
        self._tidy()
        self._tell(came, went)
        return came

    # -- the journal ------------------------------------------------------------------------------------------------

    def become_writer(self) -> None:
        with self._lock:
            self._writing = True
            self.refresh()
            self._tidy()

    def _tidy(self) -> None:
        """Rewrite a long journal that says little. If that fails it stays as it is, and the next change tries again."""
        if self._rewrites is not None and self._damage is None and self._lines > max(_LONG, 4 * len(self._queries)):
            with contextlib.suppress(PondError):
                self._rewrite(self._rewrites + 1, list(self._as_lines()))

    def refresh(self) -> None:
        """Take in what another process registered and dropped. Damage is told to whoever asks for a standing query."""
        with self._lock:
            try:
                with disk_errors(self._path):
                    self._take_in()
                self._damage = None
            except PondError as damage:
                self._damage = damage
                self._seen = None  # look at all of it again

    def _check(self) -> None:
        if self._damage is not None:
            raise self._damage

    def _take_in(self) -> None:
        noted = self._anchor.read()
        came: list[StandingQuery] = []
        went: list[StandingQuery] = []
        anew, data = self._news()
        end = data.rfind(b"\n") + 1
        with _as_damage(self._path):
            lines = list(_lines(data[:end], self._path))
            if anew:
                went = list(self._queries.values())
                self._queries, self._names = {}, {}
                self._rewrites, self._next = map(int, (lines[0]["rewrites"], lines[0]["next"]))
                self._read = self._lines = 0
                del lines[0]
            came, gone = self._apply(lines)
        self._read += end
        kept = {q.number: q for q in came}
        went = [q for q in [*went, *gone] if kept.get(q.number) != q]
        if noted is not None and (noted["rewrites"], noted["bytes"]) > (self._rewrites or 0, self._read):
            raise CorruptBlock(
                "the end of the journal of standing queries is missing",
                detail=f"{self._path} has {self._read} bytes, and had {noted['bytes']}.",
                hint=f'Restore it from a copy; or delete "{self._anchor.path.name}" beside it to go on with what is left.',
            )
        if came or went:
            self._tell(came, went)

    def _news(self) -> tuple[bool, bytes]:
        """Whether the journal was rewritten, and what of it is not known yet."""
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                found = (status.st_ino, status.st_size, status.st_mtime_ns)
                if found == self._seen:
                    return False, b""
                head = file.readline()
                anew = self._seen is None or head != self._head
                file.seek(0 if anew else self._read)
                data = file.read()
                self._seen, self._head = found, head
                return anew and b"\n" in data, data
        except FileNotFoundError:
            return False, b""

    def _apply(self, lines: Sequence[Mapping[str, Any]]) -> tuple[list[StandingQuery], list[StandingQuery]]:
        came: list[StandingQuery] = []
        went: list[StandingQuery] = []
        self._lines += len(lines)
        for line in lines:
            if "drop" in line:
                for number in line["drop"]:
                    query = self._queries.pop(number)
                    if query.name is not None:
                        del self._names[query.name]
                    went.append(query)
                continue
            for query in _registered(line):
                if query.number in self._queries or query.name in self._names:
                    raise ValueError(f"query {query.number} is registered twice")
                self._queries[query.number] = query
                if query.name is not None:
                    self._names[query.name] = query.number
                came.append(query)
                self._next = max(self._next, query.number + 1)  # a rewritten journal begins with one that is greater
        return came, went

    def _tell(self, came: Sequence[StandingQuery], went: Sequence[StandingQuery]) -> None:
        self.version += 1
        if self.changed is not None:
            self.changed(came, went)

    def _as_lines(self) -> Iterator[Mapping[str, Any]]:
        for q in self._queries.values():
            line = {"register": q.number, "text": q.text, "keep": q.keep, "reads": q.reads}
            line |= {"name": q.name} if q.name is not None else {}
            yield line | ({"each": [[_to_json(v) for v in q.parameters]]} if q.parameters is not None else {})

    def _rewrite(self, rewrites: int, lines: Sequence[Mapping[str, Any]]) -> None:
        data = b"".join(map(_line, [{"rewrites": rewrites, "next": self._next}, *lines]))
        write_file(self._path, data)
        self._rewrites, self._read, self._lines = rewrites, len(data), len(lines)
        self._seen = None
        self._note()

    def _note(self) -> None:
        """Note how far the journal has come. What is in it is durable already: if no note can be made, its end is not watched."""
        with contextlib.suppress(PondError):
            self._anchor.note(rewrites=self._rewrites or 0, bytes=self._read)


def _line(data: Mapping[str, Any]) -> bytes:
    text = json.dumps(data).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _lines(data: bytes, path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a part of a journal that ends with a line end: what a crash left unfinished is not in it."""
    for line in data.split(b"\n")[:-1]:  # and not at any other character that may end lines
        check, _, text = line.partition(b" ")
        if check != b"%08x" % zlib.crc32(text):
            raise _damaged(path, "A line does not match its checksum")
        yield json.loads(text)


@contextlib.contextmanager
def _as_damage(path: Path) -> Iterator[None]:
    """Lines that match their checksum and say what cannot be are damage too, or are of another version."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise _damaged(path, f"A line makes no sense ({type(error).__name__}: {error})") from error


def _damaged(path: Path, what: str) -> CorruptBlock:
    return CorruptBlock(
        "the journal of standing queries is damaged", detail=f"{path}: {what}.", hint="Restore it from a copy."
    )


def _registered(line: Mapping[str, Any]) -> Iterator[StandingQuery]:
    reads = tuple((str(name), str(folder)) for name, folder in line["reads"])
    number, text, keep, name = line["register"], line["text"], line["keep"], line.get("name")
    if not (type(number) is int and isinstance(text, str) and keep in KEEPS and isinstance(name, str | None)):
        raise ValueError("a query is registered by a number and texts")
    if "each" not in line:
        yield StandingQuery(number, name, text, keep, reads)
        return
    for place, values in enumerate(line["each"]):
        yield StandingQuery(number + place, None, text, keep, reads, tuple(map(_from_json, values)))


# Values of parameters. What JSON does not have is an object of one member.


def _to_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, bytes | bytearray):
        return {"binary": value.hex()}
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return _to_json(value.item())
    return value


_KINDS: dict[str, Callable[[str], Any]] = {
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "binary": bytes.fromhex,
}


def _from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    return _KINDS[kind](text)
