from __future__ import annotations

import inspect

import pytest

from millpond import errors
from millpond.errors import MillpondError, Span, SqlError, UnknownName, counted, nearest, underline


def test_parts_of_a_message() -> None:
    error = MillpondError("a fact", detail="More.", hint="Do this.")
    assert str(error) == "a fact\nDetail: More.\nHint: Do this."
    assert str(MillpondError("a fact")) == "a fact"


def test_the_place_stands_below_the_fact() -> None:
    error = SqlError("no", hint="Do.", sql="SELECT\n  bad FROM t", span=Span(9, 12))
    assert str(error) == "no\nline 2:   bad FROM t\n          ^^^\nHint: Do."


def test_a_place_is_kept() -> None:
    error = SqlError("no", sql="a", span=Span(0, 1))
    assert error.at("other", Span(2, 3)).sql == "a"
    assert SqlError("no").at("other", Span(2, 3)).span == Span(2, 3)


@pytest.mark.parametrize(
    ("sql", "span", "shown"),
    [
        ("SELECT x", Span(7, 8), "line 1: SELECT x\n               ^"),
        ("SELECT x", Span(8, 8), "line 1: SELECT x\n                ^"),
        ("SELECT x", Span(50, 60), "line 1: SELECT x\n                ^"),
        ("a\nbcd\ne", Span(3, 9), "line 2: bcd\n         ^^"),
        ("", Span(0, 0), "line 1: \n        ^"),
    ],
)
def test_underline(sql: str, span: Span, shown: str) -> None:
    assert underline(sql, span) == shown


def test_of_a_long_line_only_the_place_is_shown() -> None:
    shown = underline("a" * 500 + "HERE" + "b" * 500, Span(500, 504))
    assert shown == f"line 1: ...{'a' * 100}HERE{'b' * 196}...\n{' ' * 111}^^^^"
    assert len(underline("x" * 1000, Span(0, 1000))) < 500


def test_nearest() -> None:
    assert nearest("SPED", ["speed", "seg"]) == "speed"
    assert nearest("zzz", ["speed"]) is None
    assert nearest("x", []) is None


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 rows"),
        (1, "1 row"),
        (1.0, "1 row"),
        (2, "2 rows"),
        (1200, "1,200 rows"),
        (0.05, "0.05 rows"),
        (60.0, "60 rows"),
    ],
)
def test_one_is_singular(count: float, said: str) -> None:
    assert counted(count, "row") == said


def test_a_plural_of_its_own() -> None:
    assert counted(1, "query is", "queries are") == "1 query is"
    assert counted(2, "query is", "queries are") == "2 queries are"


def test_what_there_is_when_nothing_is_near() -> None:
    assert str(UnknownName("table", "x", ["b", "a", "b"])) == 'table "x" does not exist\nDetail: There is: a, b.'
    many = UnknownName("table", "x", [f"t{i:02d}" for i in range(30)])
    assert many.detail is not None
    assert many.detail.endswith("t19, ....")


def test_every_error_is_a_millpond_error_with_a_code_of_its_own() -> None:
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, MillpondError)]
    codes = [c.code for c in classes]
    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [(errors.SqlError, ValueError), (errors.UnknownName, LookupError), (errors.TypeMismatch, TypeError),
     (errors.PondError, OSError), (errors.IntakeError, ValueError), (errors.EngineError, RuntimeError)],
)  # fmt: skip
def test_ordinary_except_clauses_work(kind: type[MillpondError], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin)
