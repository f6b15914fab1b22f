"""The wire: a connection between the pond's process and a worker, authenticated, and frames on it.

    handshake   worker and pond each prove that they know the secret of the run, by an HMAC over both sides' random numbers:
                    pond -> worker     magic, version of the protocol, its number
                    worker -> pond     magic, version, its number, proof
                    pond -> worker     proof
                Before that nobody reads more than these few bytes, nor waits longer than ten seconds for all of them.
    frame       length of the head, lengths of the bodies together; the head as JSON (`parts` are the lengths of the bodies); the
                bodies, as the head says what they are: streams of Arrow, or our own formats. Nothing on the wire is code.

A host that is cut off, or stands still, closes no connection. So the system asks that of the other side every second whether it
is there, and `silence` tells for how long it has not answered. It is the system that answers, and not the process: a worker that
takes long is not cut off.

What is sent is neither encrypted nor signed frame by frame: in a network that others can read, use the network's own means.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from millpond.errors import EngineError

VERSION = 1
_MAGIC = b"MPND"
_GREETING = struct.Struct("<4sH32s")  # magic, version, a random number
_FRAME = struct.Struct("<IQ")  # bytes of the head, of all bodies
_PROOF = 32
_MOST_HEAD = 256 << 20
_MOST_BODIES = 16 << 30
_PATIENCE = 10.0  # seconds for a handshake
_MOMENT = 0.5  # seconds for a farewell
_UNREAD = 600  # seconds in which the other side has to read something of what is sent to it: as long as a tick may take
_TIMEVAL = struct.Struct("@ll")
_ASK = 1  # seconds without a sign of the other side after which it is asked, and between questions
_ASKED = 5  # questions without an answer after which the system itself ends the connection, if nothing is being sent
_LAST_ANSWER = struct.Struct("<I")  # in Linux's `struct tcp_info`: milliseconds since the last acknowledgement
_LAST_ANSWER_AT = 56

Body = bytes | memoryview


class WireError(EngineError):
    """What came over a connection is not what this version of millpond says, or its sender does not know the secret."""


class Channel:
    """Frames over a socket. One thread receives; any may send."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._sending = threading.Lock()

    def send(self, head: Mapping[str, Any], bodies: Sequence[Body] = ()) -> None:
        """Send a frame; waits while the other side does not read, but not for ever: then an OSError is raised."""
        text = json.dumps({**head, "parts": [len(body) for body in bodies]} if bodies else head).encode()
        with self._sending:
            self._socket.sendall(_FRAME.pack(len(text), sum(map(len, bodies))) + text)
            for body in bodies:
                self._socket.sendall(body)

    def receive(self) -> tuple[dict[str, Any], list[memoryview]]:
        """The next frame. Raises EOFError when the other side has closed the connection."""
        size, rest = _FRAME.unpack(_exactly(self._socket, _FRAME.size))
        if size > _MOST_HEAD or rest > _MOST_BODIES:
            raise WireError("a frame is longer than any that this version sends")
        head = json.loads(_exactly(self._socket, size))
        parts = head.pop("parts", []) if isinstance(head, dict) else None
        if parts is None or sum(parts) != rest:
            raise WireError("a frame is not as long as it says")
        return head, [memoryview(_exactly(self._socket, part)) for part in parts]

    def ready(self, seconds: float) -> bool:
        """Whether something comes within that time; also the end of the connection."""
        return bool(select.select([self._socket], [], [], seconds)[0])

    def silence(self) -> float:
        """For how many seconds the system of the other side has not answered; 0 where that is not to be known."""
        if sys.platform != "linux":
            return 0.0
        try:
            info = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_ANSWER_AT + _LAST_ANSWER.size)
        except OSError:  # closed
            return 0.0
        return float(_LAST_ANSWER.unpack_from(info, _LAST_ANSWER_AT)[0]) / 1000

    def close(self, farewell: Mapping[str, Any] | None = None) -> None:
        """From any thread: whoever receives gets an EOFError, and before it the farewell, unless something is being sent now."""
        if farewell is not None and self._sending.acquire(blocking=False):
            text = json.dumps(farewell).encode()
            with contextlib.suppress(OSError):
                self._socket.settimeout(_MOMENT)  # a worker that does not read does not keep us
                self._socket.sendall(_FRAME.pack(len(text), 0) + text)
            self._sending.release()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def accept(sock: socket.socket, secret: bytes) -> Channel:
    """As the pond: let a worker in that knows the secret."""
    end = _prepare(sock)
    mine = secrets.token_bytes(32)
    sock.sendall(_GREETING.pack(_MAGIC, VERSION, mine))
    theirs = _greeting(_exactly(sock, _GREETING.size, end), "worker")
    if not hmac.compare_digest(_exactly(sock, _PROOF, end), _proof(secret, b"worker", mine, theirs)):
        raise WireError("somebody connected who does not know the secret of this run")
    sock.sendall(_proof(secret, b"pond", theirs, mine))
    sock.settimeout(None)
    return Channel(sock)


def connect(host: str, port: int, secret: bytes) -> Channel:
    """As a worker: connect to the pond, if it knows the secret."""
    sock = socket.create_connection((host, port), _PATIENCE)
    try:
        end = _prepare(sock)
        theirs = _greeting(_exactly(sock, _GREETING.size, end), "pond")
        mine = secrets.token_bytes(32)
        sock.sendall(_GREETING.pack(_MAGIC, VERSION, mine) + _proof(secret, b"worker", theirs, mine))
        if not hmac.compare_digest(_exactly(sock, _PROOF, end), _proof(secret, b"pond", mine, theirs)):
            raise WireError("the process that answers is not the pond's")
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    return Channel(sock)


def _prepare(sock: socket.socket) -> float:
    """Make a connection ready for the handshake; when that has to be over."""
    sock.settimeout(_PATIENCE)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEVAL.pack(_UNREAD, 0))
    if sys.platform == "darwin":
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPALIVE, _ASK)
    else:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _ASK)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _ASK)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _ASKED)
    return time.monotonic() + _PATIENCE


def _greeting(data: bytearray, who: str) -> bytes:
    magic, version, number = _GREETING.unpack(data)
    if magic != _MAGIC:
        raise WireError(f"what connected is no {who} of millpond")
    if version != VERSION:
        raise WireError(
            f"the {who} speaks version {version} of the protocol, this process version {VERSION}",
            hint="Install the same version of millpond wherever Spark's executors run.",
        )
    return bytes(number)


def _proof(secret: bytes, who: bytes, first: bytes, second: bytes) -> bytes:
    return hmac.digest(secret, who + first + second, "sha256")


def _exactly(sock: socket.socket, size: int, end: float | None = None) -> bytearray:
    """So many bytes; raises TimeoutError if they are not there by `end`, however slowly they come."""
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        if end is not None:
            if (left := end - time.monotonic()) <= 0:
                raise TimeoutError("timed out")
            sock.settimeout(left)
        count = sock.recv_into(view[done:])
        if not count:
            raise EOFError("the connection was closed")
        done += count
    return data
