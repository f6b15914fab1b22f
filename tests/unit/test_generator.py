"""The grammar of generated queries has all that it should have, and gives the same text every time."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from millpond.catalog import Catalog
from millpond.errors import SqlError
from millpond.query.allowed import check_allowed
from millpond.sql import spark_functions
from millpond.sql.dialect import Millpond, tokenize
from millpond.sql.parser import parse
from millpond.sql.rules import FUNCTIONS, VALUES
from millpond.sql.statements import Select
from tests.generator import productions
from tests.generator.expressions import NUMBERED, Expressions, Mix, Sight
from tests.generator.not_generated import NOT_GENERATED
from tests.generator.queries import statement

COUNT = 1500


TABLES = (productions.CORE, productions.WIDE, productions.AGGREGATES, productions.WIDE_AGGREGATES)


def _texts() -> list[str]:
    """Statements, and each production by itself, which chance may leave out."""
    make = Expressions(Random(1), Mix(), lambda kind, sight: "NULL", lambda sight: "TRUE")
    alone = [make.fill(text, kind, Sight(), 0) for table in TABLES for kind, texts in table.items() for text in texts]
    alone += [f"{text} OVER (ORDER BY 1)" for text in NUMBERED]
    return [*(statement(1, number).for_spark for number in range(COUNT)), *(f"SELECT {text}" for text in alone)]


def test_a_seed_and_a_number_give_one_text() -> None:
    assert [statement(7, n).sql for n in range(50)] == [statement(7, n).sql for n in range(50)]
    assert statement(7, 0).sql != statement(8, 0).sql


def test_dress_changes_nothing_but_what_is_between_words() -> None:
    dressed = [each for n in range(COUNT) if (each := statement(1, n)).plain]
    assert len(dressed) > COUNT / 10
    for each in dressed:
        tokens = [re.sub(r"\s+", " ", token.text).lower() for token in tokenize(each.sql)]
        plain = [re.sub(r"\s+", " ", token.text).lower() for token in tokenize(each.plain)]
        assert tokens == plain or "/*+" in each.sql


def test_every_function_that_spark_knows_is_generated_or_has_a_reason() -> None:
    called = {name.lower() for text in _texts() for name in re.findall(r"([A-Za-z_0-9]+)\s*\(", text)}
    operators = {"and", "between", "case", "div", "in", "not", "or", "when", "ilike", "like", "regexp", "rlike"}
    missing = spark_functions.ALLOWED - called - operators - NOT_GENERATED.keys()
    assert not missing
    assert not called & NOT_GENERATED.keys()


def test_every_rule_for_duckdb_is_generated() -> None:
    seen: Counter[object] = Counter()
    for text in _texts():
        try:
            tree = parse_one(text, read=Millpond)
        except (SqlglotError, SqlError):
            continue
        for node in tree.walk():
            seen[type(node)] += 1
            if isinstance(node, exp.Anonymous):
                seen[node.name.lower()] += 1
    of_users = {exp.Placeholder, exp.AnonymousAggFunc}  # the instant of a window, and a user's own aggregate
    left = {exp.RespectNulls}  # proved by the corpus, not generated yet
    assert {kind for kind in VALUES if not seen[kind]} == of_users | left
    assert not [name for name in FUNCTIONS if not seen[name] and not name.startswith("__")]  # those are made by rules


def test_every_function_passes_the_allow_list() -> None:
    """`to_utc_timestamp` did not: sqlglot reads it as an operator of another dialect."""
    make = Expressions(Random(1), Mix(), lambda kind, sight: "NULL", lambda sight: "TRUE")
    for table in TABLES:
        for kind, texts in table.items():
            for text in texts:
                sql = f"SELECT {make.fill(text, kind, Sight(), 0)}"
                (read,) = parse(sql)
                assert isinstance(read, Select)
                check_allowed(read.query, Catalog(), sql)
