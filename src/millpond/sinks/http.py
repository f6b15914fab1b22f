"""`DO POST '<address>'`: each row is posted as JSON, and is delivered when the answer is 2xx."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import date, timedelta
from http.client import HTTPException
from typing import Any, ClassVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from millpond.duration import parse_duration
from millpond.errors import CatalogError, SqlError
from millpond.extensions import Option
from millpond.sinks.base import Event, SinkFailed, SinkKind

TIMEOUT = timedelta(seconds=10)


def _timeout(text: str) -> timedelta:
    try:
        found = parse_duration(text)
    except (CatalogError, SqlError) as error:
        raise ValueError(text) from error
    if not timedelta(0) < found <= timedelta(hours=1):
        raise ValueError(text)
    return found


class PostKind(SinkKind):
    """`DO POST '<address>'`."""

    name = "post"
    target = "an address"
    done = "posted to"
    options: ClassVar = (
        Option(
            "timeout", "how long the address may be silent", _timeout, "a duration of at most an hour", default=TIMEOUT
        ),
    )

    def check(self, target: str, options: Mapping[str, Any]) -> None:
        check_address(target)

    def open(self, target: str, options: Mapping[str, Any]) -> Post:
        return Post(target, options["timeout"])


def check_address(address: str) -> None:
    """Refuse what nothing can be posted to."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        good = good and (parts.port is None or parts.port > 0) and address.isascii() and address.isprintable()
        good = good and " " not in address
    except ValueError:
        good = False
    if not good:
        raise CatalogError(
            f'"{address}" is not an address to post to', hint="Write http://<host>[:<port>]/<path>, or https://..."
        )


class _NoRedirect(HTTPRedirectHandler):
    """A redirected POST would become a GET: tell the redirect instead of following it."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Post:
    """Posts an event as JSON. Any 2xx answer is success."""

    batch = 1

    def __init__(self, address: str, timeout: timedelta = TIMEOUT) -> None:
        self._address = address
        self._timeout = timeout.total_seconds()
        self._opener = build_opener(_NoRedirect)

    def send(self, event: Event) -> None:
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": quote(event["id"], safe=":"),
            "User-Agent": "millpond",
        }
        request = Request(self._address, data=to_json(event), headers=headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout):
                pass
        except HTTPError as error:
            error.close()
            raise SinkFailed(f"{self._address} answered {error.code} {error.reason}".rstrip()) from error
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise SinkFailed(f"{self._address} could not be posted to: {reason or type(error).__name__}") from error

    def flush(self) -> None:
        """Nothing to do: `send` has the answer."""

    def close(self) -> None:
        """Nothing to do: each row has a connection of its own."""


def to_json(event: Event) -> bytes:
    """Dates and times in ISO 8601, decimals as text, bytes in base64; a number that JSON does not have as its name.

    >>> to_json({"a": float("inf"), "b": b"x", "c": date(2026, 1, 31)})
    b'{"a": "Infinity", "b": "eA==", "c": "2026-01-31"}'
    """
    return json.dumps({k: _plain(v) for k, v in event.items()}, default=str, ensure_ascii=False).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, date):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
