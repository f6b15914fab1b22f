"""Options of the format `millpond`: texts, and what is no number is told as such."""

from __future__ import annotations

import pytest

from millpond.errors import CatalogError
from millpond.spark_format.options import Options

GIVEN = {"pond": "/data/site", "table": "clicks"}


@pytest.mark.parametrize("text", ["", "-1", "1.5", "²", "٣", "9" * 5000])
def test_a_number_that_is_none_is_refused_whatever_its_digits(text: str) -> None:
    with pytest.raises(CatalogError, match="option endingPosition is a whole number from 0 on, not "):
        Options.of({**GIVEN, "endingPosition": text})


def test_a_position_may_be_far_ahead() -> None:
    assert Options.of({**GIVEN, "endingPosition": "9" * 30}).end == int("9" * 30)
