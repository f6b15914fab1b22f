"""Operators are read in Spark's order: every pair of them, and many triples, get the brackets that Spark's own parser gives."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millpond.errors import SqlError
from millpond.sql.dialect import read_tree, tokenize
from millpond.sql.spark_names import describe

pytestmark = pytest.mark.spark

PREFIXES = ["-", "+", "~", "NOT", "!"]
INFIXES = [
    *("*", "/", "%", "DIV", "+", "-", "||", "<<", ">>", ">>>", "&", "^", "|"),
    *("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "AND", "OR"),
    *("BETWEEN x AND", "NOT BETWEEN x AND", "LIKE", "NOT LIKE", "RLIKE", "ILIKE"),
    *("IS DISTINCT FROM", "IS NOT DISTINCT FROM"),
]
POSTFIXES = ["IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT FALSE", "IN (x, y)", "NOT IN (x)"]


def pairs() -> Iterator[str]:
    for first, second in itertools.product(INFIXES, INFIXES):
        yield f"a {first} b {second} c"
    for infix, postfix in itertools.product(INFIXES, POSTFIXES):
        yield f"a {infix} b {postfix}"
        yield f"a {postfix} {infix} b"
    for prefix, infix in itertools.product(PREFIXES, INFIXES):
        yield f"{prefix} a {infix} b"
        yield f"a {infix} {prefix} b"
    for prefix, other in itertools.product(PREFIXES, [*PREFIXES, *POSTFIXES]):
        yield f"{prefix} {other} a" if other in PREFIXES else f"{prefix} a {other}"
    for first, second in itertools.product(POSTFIXES, POSTFIXES):
        yield f"a {first} {second}"


def triples(count: int) -> Iterator[str]:
    choose = random.Random(12)
    for _ in range(count):
        words = []
        for name in ("a", "b", "c", "d")[: choose.choice((3, 4, 4))]:
            prefix = f"{choose.choice(PREFIXES)} " if choose.random() < 0.2 else ""
            postfix = f" {choose.choice(POSTFIXES)}" if choose.random() < 0.15 else ""
            words.append(f"{prefix}{name}{postfix}")
        yield "".join(word if i == 0 else f" {choose.choice(INFIXES)} {word}" for i, word in enumerate(words))


@pytest.fixture(scope="module")
def bracketed(session: Any) -> Callable[[str], str | None]:
    """How Spark reads an expression; None if it does not."""
    parser = session._jsparkSession.sessionState().sqlParser()

    def read(text: str) -> str | None:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            return str(parser.parseExpression(f"({text})").sql())
        except (Py4JError, PySparkException):
            return None

    return read


def ours(text: str) -> str | None:
    sql = f"SELECT ({text})"
    try:
        return describe(read_tree(sql, tokenize(sql)).selects[0])
    except SqlError:
        return None


@pytest.mark.parametrize("texts", [list(pairs()), list(triples(500))], ids=["pairs", "triples"])
def test_operators_have_the_brackets_that_spark_gives_them(
    texts: list[str], bracketed: Callable[[str], str | None]
) -> None:
    different = {text: (mine, theirs) for text in texts if (mine := ours(text)) != (theirs := bracketed(text))}
    assert not different, f"{len(different)} of {len(texts)}: {dict(itertools.islice(different.items(), 20))}"
