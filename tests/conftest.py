"""What every test shares: the `--rewrite` option, a Hypothesis that gives the same examples each time, a Java that is quick to
start, and folders in memory.

Helpers beside tests are imported by their full name (`from tests.laws.oracle import ...`); `pythonpath` in
pyproject.toml makes that work.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

# Deterministic, so that a red build is red again when you look into it; and without a deadline, because the first
# example of a test pays for a session, an import or a cold disk. To search for new examples instead:
# `pytest --hypothesis-profile=default tests/laws`.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")
# Hypothesis also draws from the constants of all modules imported so far, which differ with the tests that a worker happened
# to run before. It gets none, or examples would not be the same each time after all.
providers._get_local_constants = lambda: providers._local_constants

# A test's Spark lives for seconds: the second compiler would take more of them than it gives back. Without it the JVM has room for
# a fifth of the code only, which is full before the tests are over: what was compiled is then thrown away, and compiled again.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

# Tests sync hundreds of thousands of times. What they try is the order of writes, not the disk: `kill -9` leaves the page cache
# intact. So their folders are in memory, where there is such a place and room in it.
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
    os.environ["TMPDIR"] = str(_MEMORY)  # of processes that tests start, too
    tempfile.tempdir = None

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that. Tests of Ctrl-C need it heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write the answers millpond gives into the story files instead of comparing with them; then read the diff",
    )
