"""The embedded DuckDB: what is not seen through the answers of queries."""

from __future__ import annotations

import os
import signal
import threading

import pyarrow as pa
import pytest

from millpond.query.local import Local

HOURS = "SELECT count(*) FROM t a, t b, t c WHERE hash(a.i + b.i + c.i) % 7 = 1"


def test_ctrl_c_ends_a_query_at_once() -> None:
    """DuckDB 2.0 ran it to its end, and then raised RuntimeError: Query interrupted."""
    local = Local()
    before = signal.getsignal(signal.SIGINT)
    rows = pa.table({"i": range(20_000)})
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))  # by then it runs, also on a busy machine
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            local.run_over(HOURS, {"t": rows}, {})
        assert signal.getsignal(signal.SIGINT) is before
        answer = local.run_over("SELECT max(i) AS m FROM t", {"t": pa.table({"i": [1, 2]})}, {})
        assert answer.to_pylist() == [{"m": 2}]
    finally:
        timer.cancel()
        local.close()


def test_a_handler_that_does_not_raise_lets_the_query_end() -> None:
    local = Local()
    heard = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: heard.set())
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        while not heard.is_set():
            rows = local.run_over("SELECT sum(i) AS n FROM t", {"t": pa.table({"i": range(100_000)})}, {})
            assert rows.to_pylist() == [{"n": 4_999_950_000}]
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
        local.close()
