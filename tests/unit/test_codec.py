from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from millpond.codec import from_json, to_json
from millpond.schema import Schema


@dataclass(frozen=True)
class Inner:
    name: str
    count: int = 3


@dataclass(frozen=True)
class Outer:
    columns: Schema
    spans: tuple[timedelta, ...]
    inner: Mapping[str, Inner]
    lateness: timedelta | None = None
    call: Callable[..., Any] | None = None
    flag: bool = False
    words: Mapping[str, str] = field(default_factory=dict)


@given(
    spans=some.lists(some.timedeltas()),
    inner=some.dictionaries(some.text(), some.builds(Inner, some.text(), some.integers())),
    lateness=some.none() | some.timedeltas(),
    words=some.dictionaries(some.text(), some.text()),
)
def test_there_and_back(
    spans: list[timedelta], inner: dict[str, Inner], lateness: timedelta | None, words: dict[str, str]
) -> None:
    columns = Schema.of([("a", "INT"), ("price", "DECIMAL(10,2)")])
    value = Outer(columns, tuple(spans), inner, lateness, flag=True, words=words)
    assert from_json(Outer, json.loads(json.dumps(to_json(value)))) == value


def test_a_field_with_a_default_may_be_missing() -> None:
    assert from_json(Inner, {"name": "x"}) == Inner("x", 3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"name": "x", "colour": 1}, "Inner has no colour"),
        ({}, "missing 1 required positional argument: 'name'"),
        ({"name": 1}, "1 is not a str"),
        ({"name": "x", "count": True}, "True is not a int"),
        ([], "[] is not a dict"),
    ],
)
def test_what_does_not_fit_is_an_error(data: object, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        from_json(Inner, data)
