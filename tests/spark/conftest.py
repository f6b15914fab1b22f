"""One Spark session for all tests of this folder: a start costs more than a hundred small questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millpond.spark.session import get_session, stop_session


@pytest.fixture(scope="package")
def session() -> Iterator[Any]:
    """The process's session; ponds of tests that ask for it use it too."""
    yield get_session("local[2]", why="tests ask for it")
    stop_session()
