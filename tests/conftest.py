"""What every test shares: the `--rewrite` option and a Hypothesis that gives the same examples each time.

Helpers beside tests are imported by their full name (`from tests.laws.oracle import ...`); `pythonpath` in
pyproject.toml makes that work.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

# Deterministic, so that a red build is red again when you look into it; and without a deadline, because the first
# example of a test pays for a session, an import or a cold disk. To search for new examples instead:
# `pytest --hypothesis-profile=default tests/laws`.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write the answers millpond gives into the story files instead of comparing with them; then read the diff",
    )
