"""Connections: both sides prove that they know the secret, and what is on the wire is data."""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from millpond.tick import wire
from millpond.tick.wire import Channel, WireError, accept, connect

SECRET = b"s" * 32


def both(worker: Callable[[int], Any], pond: Callable[[socket.socket], Any]) -> tuple[Any, Any]:
    """What each side returned or raised."""
    listener = socket.create_server(("127.0.0.1", 0))
    found: list[Any] = []

    def serve() -> None:
        sock, _ = listener.accept()
        try:
            found.append(pond(sock))
        except Exception as error:
            found.append(error)
            sock.close()

    thread = threading.Thread(target=serve)
    thread.start()
    mine: Any
    try:
        mine = worker(listener.getsockname()[1])
    except Exception as error:
        mine = error
    thread.join()
    listener.close()
    return mine, found[0]


def test_frames_arrive_as_they_were_sent() -> None:
    mine, theirs = both(lambda port: connect("127.0.0.1", port, SECRET), lambda sock: accept(sock, SECRET))
    assert isinstance(mine, Channel)
    assert isinstance(theirs, Channel)
    assert not theirs.ready(0.0)
    mine.send({"do": "é", "n": 1}, [b"", b"abc", memoryview(b"\0" * 100_000)])
    assert theirs.ready(10.0)
    head, bodies = theirs.receive()
    assert (head, [bytes(b) for b in bodies]) == ({"do": "é", "n": 1}, [b"", b"abc", b"\0" * 100_000])
    theirs.send({})
    assert mine.receive() == ({}, [])
    theirs.close()
    with pytest.raises(EOFError):
        mine.receive()
    mine.close()


def test_who_does_not_know_the_secret_is_not_let_in() -> None:
    mine, theirs = both(lambda port: connect("127.0.0.1", port, b"guess"), lambda sock: accept(sock, SECRET))
    assert isinstance(mine, EOFError | ConnectionError)
    assert str(theirs) == "somebody connected who does not know the secret of this run"


def test_a_worker_does_not_trust_whoever_answers() -> None:
    def impostor(sock: socket.socket) -> None:
        sock.sendall(wire._GREETING.pack(b"MPND", wire.VERSION, b"n" * 32))
        sock.recv(1000)
        sock.sendall(b"p" * 32)
        sock.close()

    mine, _ = both(lambda port: connect("127.0.0.1", port, SECRET), impostor)
    assert str(mine) == "the process that answers is not the pond's"


def test_a_proof_cannot_be_sent_back() -> None:
    """The proofs of both sides differ, even over the same random numbers."""
    assert wire._proof(SECRET, b"pond", b"a", b"b") != wire._proof(SECRET, b"worker", b"a", b"b")
    assert wire._proof(SECRET, b"pond", b"a", b"b") != wire._proof(SECRET, b"pond", b"b", b"a")


def test_another_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def older(port: int) -> bytes:
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.recv(1000)
            sock.sendall(wire._GREETING.pack(b"MPND", 0, b"n" * 32))
            return sock.recv(1000)

    _, theirs = both(older, lambda sock: accept(sock, SECRET))
    assert str(theirs) == (
        "the worker speaks version 0 of the protocol, this process version 1\n"
        "Hint: Install the same version of millpond wherever Spark's executors run."
    )


def test_what_is_not_millpond_is_told() -> None:
    def browser(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
            sock.recv(1000)

    _, theirs = both(browser, lambda sock: accept(sock, SECRET))
    assert str(theirs) == "what connected is no worker of millpond"


def test_who_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_PATIENCE", 0.1)
    ended = threading.Event()

    def silent(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)):
            ended.wait()

    def let_in(sock: socket.socket) -> Channel:
        try:
            return accept(sock, SECRET)
        finally:
            ended.set()

    _, theirs = both(silent, let_in)
    assert isinstance(theirs, TimeoutError)


def test_who_never_reads_is_not_sent_to_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_UNREAD", 1)
    mine, theirs = both(lambda port: connect("127.0.0.1", port, SECRET), lambda sock: accept(sock, SECRET))
    with pytest.raises(BlockingIOError):
        theirs.send({}, [bytes(64 << 20)])
    mine.close()
    theirs.close()


def test_a_host_that_answers_is_not_silent() -> None:
    mine, theirs = both(lambda port: connect("127.0.0.1", port, SECRET), lambda sock: accept(sock, SECRET))
    assert 0 <= mine.silence() < 3
    threading.Event().wait(0.2)
    assert sys.platform != "linux" or 0.1 < mine.silence() < 3
    mine.send({"do": "nothing"})
    theirs.receive()
    assert theirs.silence() < 0.2
    for channel in (mine, theirs):
        channel.close()
        assert channel.silence() == 0


def test_who_says_it_byte_by_byte_is_not_waited_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handshake as a whole has its time, not each byte of it."""
    monkeypatch.setattr(wire, "_PATIENCE", 0.2)
    ended = threading.Event()

    def slow(port: int) -> int:
        sent = 0
        with socket.create_connection(("127.0.0.1", port)) as sock, contextlib.suppress(OSError):
            while not ended.wait(0.02):
                sock.sendall(wire._MAGIC[:1])
                sent += 1
        return sent

    def let_in(sock: socket.socket) -> Channel:
        try:
            return accept(sock, SECRET)
        finally:
            ended.set()

    sent, theirs = both(slow, let_in)
    assert isinstance(theirs, TimeoutError)
    assert sent < wire._GREETING.size


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack("<IQ", 1 << 30, 0),
        struct.pack("<IQ", 2, 1 << 60) + b"{}",
        struct.pack("<IQ", 2, 3) + b"{}abc",
        struct.pack("<IQ", 2, 0) + b"[]",
        struct.pack("<IQ", 11, 0) + b'{"parts": 1',
    ],
)
def test_a_frame_that_lies_ends_the_connection(frame: bytes) -> None:
    here, there = socket.socketpair()
    there.sendall(frame)
    with pytest.raises((WireError, ValueError)):
        Channel(here).receive()
    here.close()
    there.close()
