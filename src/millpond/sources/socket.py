"""Lines over TCP: we connect, the other side sends.

Idea. A thread of the source's own connects, reads and fills a bounded buffer; `next_batch` takes what is there. When
the buffer is full the thread stops reading, TCP holds the sender back, and nothing is dropped. When the connection ends
it connects again, waiting longer each time it fails.

What a socket cannot promise: it has no memory, so nothing can be read again. The position `{"lines": n}` counts the
lines taken; `seek` continues the count and no more. Lines that had arrived but were not stored when the process died
are lost; lines that were stored are not repeated unless the sender repeats them.

Invariants
 1. A row never spans two connections. A line cut off by the end of a connection is rejected, not taken: half a number
    is a number too.
 2. The buffer holds at most `BUFFER_BYTES` and one read more.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from millpond.arrow import arrow_schema
from millpond.catalog import Source
from millpond.errors import CatalogError
from millpond.schema import Schema
from millpond.sources.base import Opening, SourceBatch, SourceKind
from millpond.sources.formats.lines import (
    CHUNK_BYTES,
    LineParser,
    LineRows,
    batch_of,
    broken_line,
    line_parser,
    why_broken,
)
from millpond.sources.options import CSV, JSON, LineOptions

BUFFER_BYTES = 16 << 20  # two chunks: one being parsed, one being filled
_READ_BYTES = 1 << 18
_CONNECT_TIMEOUT = timedelta(seconds=5)


@dataclass(frozen=True)
class Backoff:
    """How long to wait before connecting again: `first`, then twice as long each time in vain, up to `longest`."""

    first: timedelta = timedelta(milliseconds=100)
    longest: timedelta = timedelta(seconds=10)

    def after(self, failures: int) -> float:
        return float(min(self.first * 2 ** min(failures, 20), self.longest).total_seconds())


_BACKOFF = Backoff()


def connector(host: str, port: int) -> Callable[[], socket.socket]:
    """A function that connects, for `SocketSource`."""

    def connect() -> socket.socket:
        connection = socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT.total_seconds())
        connection.settimeout(None)
        # So that a peer that vanished without a word is noticed at last.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection

    return connect


class Buffer:
    """Bytes on their way from the reading thread to the feed's, kept apart by connection."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._connections: deque[bytearray] = deque()
        self._ended: deque[bool] = deque()
        self._closed = False

    def put(self, data: bytes) -> None:
        """Add bytes of the present connection; waits while the buffer is full."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or sum(map(len, self._connections)) < self._most)
            if not self._ended or self._ended[-1]:
                self._connections.append(bytearray())
                self._ended.append(False)
            self._connections[-1] += data

    def end(self) -> None:
        """The present connection has ended."""
        with self._changed:
            if self._ended:
                self._ended[-1] = True

    def take(self, most: int) -> tuple[bytes, bool]:
        """Up to `most` bytes of the oldest connection, and whether they are its last; never waits."""
        with self._changed:
            if not self._connections:
                return b"", False
            first = self._connections[0]
            data = bytes(first[:most])
            del first[:most]
            over = self._ended[0] and not first
            if over:
                self._connections.popleft()
                self._ended.popleft()
            self._changed.notify_all()
            return data, over

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class SocketSource:
    """See the module; the methods are those of `RowSource`."""

    def __init__(
        self,
        connect: Callable[[], socket.socket],
        place: str,
        columns: Schema,
        kind: str,
        options: LineOptions,
        *,
        backoff: Backoff = _BACKOFF,
        buffer_bytes: int = BUFFER_BYTES,
    ) -> None:
        """`connect` returns a connected socket or raises OSError; `place` names the other side."""
        self._connect = connect
        self._place = place
        self._schema = arrow_schema(columns)
        self._fresh = line_parser(kind, columns, options)
        self._parser: LineParser = self._fresh
        self._backoff = backoff
        self._buffer = Buffer(buffer_bytes)
        self._closed = threading.Event()
        self._socket: socket.socket | None = None
        self._socket_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.trouble: str | None = None  # why there is no connection, if so
        # Owned by the feed's thread: bytes of the connection being parsed, not yet taken.
        self._data = b""
        self._rows: LineRows | None = None
        self._taken = 0
        self._skipping = False  # inside a line that was too long
        self._over = False  # `_data` is the last of its connection
        self._lines = 0  # before `_data`

    def next_batch(self, most: int) -> SourceBatch | None:
        if self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(target=self._receive, name=f"socket {self._place}", daemon=True)
            self._thread.start()
        while self._rows is None:
            if not self._cut():
                return None
        stop = min(self._taken + most, len(self._rows))
        rows = self._rows.part(self._taken, stop)
        position = {"lines": self._lines + int(rows.lines_after[-1])}
        first = self._lines + 1
        batch = batch_of(self._parser, rows, self._schema, lambda n: f"{self._place}:{n}", first, position)
        self._taken = stop
        if stop == len(self._rows):
            self._drop(self._rows.rest, self._rows.rest_lines)
        return batch

    def seek(self, position: Any) -> None:
        taken = int(self._rows.lines_after[self._taken - 1]) if self._rows is not None and self._taken else 0
        self._lines = int(position["lines"]) - taken

    def close(self) -> None:
        self._closed.set()
        self._buffer.close()
        with self._socket_lock:
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread from its read
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=1)  # it may be connecting, which only the timeout ends; it will then stop

    # -- the feed's thread: from bytes to rows ------------------------------------------------------------------------

    def _cut(self) -> bool:
        """Make progress towards `_rows`; False if there is nothing to do it with."""
        if self._over and not self._data:
            self._over, self._skipping, self._parser = False, False, self._fresh
        new = b""
        if not self._over and len(self._data) < CHUNK_BYTES:
            new, self._over = self._buffer.take(CHUNK_BYTES - len(self._data))
            self._data += new
        if not new and not self._over and len(self._data) < CHUNK_BYTES:
            return False
        if self._skipping:
            end = self._data.find(b"\n") + 1
            self._skipping = end == 0
            self._drop(end or len(self._data), 0)
            return True
        if not self._data:
            return True
        rows = self._parser.split(self._data, whole=False)
        if not len(rows) and rows.rest == 0:
            broken = self._incomplete()
            if broken is None:
                return True
            rows = broken
        if not len(rows):  # blank lines only
            self._drop(rows.rest, rows.rest_lines)
        elif self._parser.header:
            self._parser = self._parser.with_header(rows.bytes_of(0))
            self._drop(int(rows.after[0]), int(rows.lines_after[0]))
        else:
            self._rows, self._taken = rows, 0
        return True

    def _incomplete(self) -> LineRows | None:
        """What to make of data in which no row ends: a rejected line, or nothing because more may come."""
        long = len(self._data) >= CHUNK_BYTES
        if not long and not self._over:
            return None
        if self._over and b"\n" not in self._data:
            return broken_line(self._data, "the connection ended in the middle of the line")
        self._skipping = b"\n" not in self._data
        return broken_line(self._data, why_broken(self._data))

    def _drop(self, count: int, lines: int) -> None:
        self._data = self._data[count:]
        self._lines += lines
        self._rows, self._taken = None, 0

    # -- the source's own thread: from the network to the buffer ------------------------------------------------------

    def _receive(self) -> None:
        failures = 0
        while not self._closed.is_set():
            try:
                connection = self._connect()
            except OSError as error:
                self.trouble = f"cannot connect to {self._place}: {error}"
            else:
                self.trouble = None
                if self._read_all(connection):
                    failures = 0
                self.trouble = f"the connection to {self._place} ended"
            self._closed.wait(self._backoff.after(failures))
            failures += 1

    def _read_all(self, connection: socket.socket) -> bool:
        """Read until the connection ends; whether anything came."""
        came = False
        with connection:
            with self._socket_lock:
                self._socket = connection
            try:
                while not self._closed.is_set() and (data := connection.recv(_READ_BYTES)):
                    came = True
                    self._buffer.put(data)
            except OSError as error:
                self.trouble = f"the connection to {self._place} was lost: {error}"
            with self._socket_lock:
                self._socket = None
        self._buffer.end()
        return came


class SocketKind(SourceKind):
    """`FROM SOCKET '<host:port>'`."""

    name = "socket"
    location = "a host:port"
    formats: ClassVar = {"csv": CSV, "json": JSON}

    def check(self, source: Source, options: Mapping[str, Any]) -> Source:
        host_and_port(source)
        return source

    def open(self, source: Source, options: Mapping[str, Any], opening: Opening) -> SocketSource:
        host, port = host_and_port(source)
        return SocketSource(
            connector(host, port), f"{host}:{port}", source.columns, source.format, LineOptions.of(options)
        )


def host_and_port(source: Source) -> tuple[str, int]:
    """The two halves of `host:port`; an IPv6 address stands in brackets, `[::1]:9000`."""
    host, _, port = source.location.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    ambiguous = ":" in host and bare == host
    if not bare or ambiguous or not (port.isascii() and port.isdigit()) or not 1 <= int(port) <= 65535:
        raise CatalogError(
            f'"{source.location}" of source "{source.name}" is not a host and a port',
            hint="Write host:port, for example localhost:9000 or [::1]:9000.",
        )
    return bare, int(port)
