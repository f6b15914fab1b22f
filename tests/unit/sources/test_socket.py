"""Lines over TCP, over socket pairs and a local server; whoever waits, waits for an event."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from millpond.schema import Schema
from millpond.sources import socket as module
from millpond.sources.base import RowSource
from millpond.sources.formats import lines as lines_module
from millpond.sources.options import LineOptions
from millpond.sources.socket import Backoff, Buffer, SocketSource, connector
from millpond.testing import check_source

COLUMNS = Schema.of([("i", "INT"), ("s", "STRING")])
AT_ONCE = Backoff(timedelta(0), timedelta(0))


class Peer:
    """The other side. `accept` waits until the source connects and gives our end of that connection."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[socket.socket] = queue.Queue()
        self._ours: list[socket.socket] = []
        self.source: SocketSource | None = None

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self._ours.append(ours)
        self._waiting.put(ours)
        return theirs

    def accept(self) -> socket.socket:
        return self._waiting.get(timeout=60)

    def open(self, kind: str = "csv", **options: Any) -> SocketSource:
        buffer = options.pop("buffer_bytes", 1 << 20)
        self.source = SocketSource(
            self.connect, "peer:1", COLUMNS, kind, LineOptions(**options), backoff=AT_ONCE, buffer_bytes=buffer
        )
        return self.source

    def close(self) -> None:
        if self.source is not None:
            self.source.close()
        for ours in self._ours:
            ours.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    yield made
    made.close()


def take(source: RowSource, count: int, most: int = 1000) -> tuple[list[tuple[str, Any]], list[tuple[str, str]], Any]:
    """Read until `count` rows have come: rows and reasons with their places, and the last position."""
    rows: list[tuple[str, Any]] = []
    bad: list[tuple[str, str]] = []
    position = None
    tick = threading.Event()
    for _ in range(10_000):
        if len(rows) + len(bad) >= count:
            break
        batch = source.next_batch(most)
        if batch is None:
            tick.wait(0.001)
            continue
        rows += [(batch.places(i), tuple(r.values())) for i, r in enumerate(batch.rows.to_pylist())]
        bad += [(batch.places(b.index), b.reason) for b in batch.bad]
        position = batch.position
    return rows, bad, position


def test_lines_in_pieces(peer: Peer) -> None:
    source = peer.open()
    assert source.next_batch(10) is None
    ours = peer.accept()
    ours.sendall(b"1,a\n2,")
    assert take(source, 1) == ([("peer:1:1", (1, "a"))], [], {"lines": 1})
    assert source.next_batch(10) is None
    ours.sendall("é\r".encode())
    ours.sendall(b"\n\nx,y\n3,c\n4")
    rows, bad, position = take(source, 3, most=1)
    assert rows == [("peer:1:2", (2, "é")), ("peer:1:5", (3, "c"))]
    assert bad == [("peer:1:4", "line 4: column \"i\": 'x' is not an INT")]
    assert position == {"lines": 5}


def test_seek_continues_the_count(peer: Peer) -> None:
    source = peer.open("json")
    source.seek({"lines": 100})
    source.next_batch(1)
    peer.accept().sendall(b'{"i": 1}\n{"i": 2}\n')
    assert take(source, 2) == ([("peer:1:101", (1, None)), ("peer:1:102", (2, None))], [], {"lines": 102})


def test_it_connects_again(peer: Peer) -> None:
    source = peer.open()
    source.next_batch(1)
    first = peer.accept()
    first.sendall(b"1,a\n2,half")
    first.close()
    second = peer.accept()
    second.sendall(b"3,c\n")
    rows, bad, _ = take(source, 3)
    assert rows == [("peer:1:1", (1, "a")), ("peer:1:3", (3, "c"))]
    assert bad == [("peer:1:2", "line 2: the connection ended in the middle of the line")]


def test_each_connection_has_its_header(peer: Peer) -> None:
    source = peer.open(header=True)
    source.next_batch(1)
    for text in (b"s,i\na,1\n", b"i,s\n2,b\n"):
        ours = peer.accept()
        ours.sendall(text)
        ours.close()
    assert [r for _, r in take(source, 2)[0]] == [(1, "a"), (2, "b")]


def test_connecting_fails_at_first(peer: Peer) -> None:
    failures = iter([OSError("no route"), ConnectionRefusedError("refused")])

    def connect() -> socket.socket:
        for error in failures:
            raise error
        return peer.connect()

    source = SocketSource(connect, "peer:1", COLUMNS, "csv", LineOptions(), backoff=AT_ONCE)
    peer.source = source
    source.next_batch(1)
    peer.accept().sendall(b"1,a\n")
    assert [r for _, r in take(source, 1)[0]] == [(1, "a")]
    assert source.trouble is None


def test_trouble_is_told() -> None:
    asked = threading.Event()

    def connect() -> socket.socket:
        if asked.is_set():
            again.set()
        asked.set()
        raise OSError("no route")

    again = threading.Event()
    source = SocketSource(connect, "peer:1", COLUMNS, "csv", LineOptions(), backoff=AT_ONCE)
    source.next_batch(1)
    assert again.wait(60)
    assert source.trouble == "cannot connect to peer:1: no route"
    source.close()


def test_backoff() -> None:
    backoff = Backoff(timedelta(milliseconds=100), timedelta(seconds=1))
    assert [backoff.after(n) for n in (0, 1, 2, 3, 4, 1000)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


def test_a_full_buffer_holds_the_sender_back() -> None:
    buffer = Buffer(10)
    buffer.put(b"0123456789")
    entered, left = threading.Event(), threading.Event()

    def put() -> None:
        entered.set()
        buffer.put(b"abc")
        left.set()

    thread = threading.Thread(target=put)
    thread.start()
    assert entered.wait(60)
    assert not left.wait(0.02)
    assert buffer.take(4) == (b"0123", False)
    assert left.wait(60)
    buffer.end()
    assert buffer.take(100) == (b"456789abc", True)
    assert buffer.take(100) == (b"", False)
    thread.join()


def test_nothing_is_dropped_when_the_buffer_is_small(peer: Peer) -> None:
    source = peer.open(buffer_bytes=64)
    source.next_batch(1)
    ours = peer.accept()
    count = 20_000
    sender = threading.Thread(target=lambda: ours.sendall(b"".join(b"%d,x\n" % i for i in range(count))))
    sender.start()
    rows, bad, _ = take(source, count)
    sender.join()
    assert [r[0] for _, r in rows] == list(range(count))
    assert bad == []


def test_close_ends_a_thread_that_waits(peer: Peer) -> None:
    for fill in (b"", b"1,a\n" * 1000):
        source = peer.open(buffer_bytes=8)
        source.next_batch(1)
        peer.accept().sendall(fill)
        source.close()
        source.close()
        assert source._thread is not None
        assert not source._thread.is_alive()


@pytest.mark.parametrize("end", [b"\n", b""])
def test_lines_that_never_end(peer: Peer, monkeypatch: pytest.MonkeyPatch, end: bytes) -> None:
    monkeypatch.setattr(module, "CHUNK_BYTES", 32)
    source = peer.open()
    source.next_batch(1)
    ours = peer.accept()
    ours.sendall(b'1,a\n2,"b\n3,c\n' + b"4," + b"d" * 100 + b"\n5,e\n6,f" + end)
    ours.close()
    rows, bad, _ = take(source, 6)
    good = [(1, "a"), (3, "c"), (5, "e"), (6, "f")]
    assert [r for _, r in rows] == (good if end else good[:3])
    assert bad[:2] == [
        ("peer:1:2", "line 2: a quote is not closed"),
        ("peer:1:4", f"line 4: the line is longer than {lines_module.CHUNK_BYTES >> 20} MB"),
    ]
    cut_off = ("peer:1:6", "line 6: the connection ended in the middle of the line")
    assert bad[2:] == ([] if end else [cut_off])


def serve(data: bytes) -> Callable[[], RowSource]:
    """A server on this machine that sends `data` to whoever connects and then says nothing more."""
    server = socket.create_server(("127.0.0.1", 0))
    open_connections = []

    def run() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                break
            open_connections.append(connection)
            connection.sendall(data)
        for connection in open_connections:
            connection.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def make() -> RowSource:
        port = server.getsockname()[1]
        return SocketSource(connector("127.0.0.1", port), f"127.0.0.1:{port}", COLUMNS, "csv", LineOptions())

    def stop() -> None:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(10)

    make.stop = stop  # type: ignore[attr-defined]
    return make


def test_the_laws_of_sources() -> None:
    make = serve(b"".join(b'%d,"x\ny"\n\n' % i if i % 4 else b"oops\n" for i in range(30)))
    try:
        check_source(make, 30, replayable=False)
    finally:
        make.stop()  # type: ignore[attr-defined]
