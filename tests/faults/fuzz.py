"""Fuzzing of SQL: statements made of the project's own ones, cut, mixed and mixed with attacks, through the front door.

    python -m tests.faults.fuzz --count 100000 --seed 1 [--spark]

What must hold for every statement: it gives a result or a `MillpondError` and nothing else; it takes less than five seconds; no
result or error shows a secret that lies in a file outside the pond; nothing outside the pond is changed; no program is run (one
that would tell lies first on the PATH). The pond is opened as a server would: `privileged=False`, so that no statement has a reason
to do any of it, and with a `query_time`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import millpond
from tests.corpus import load_corpus
from tests.corpus.tables import SCHEMA, TABLES

HERE = Path(__file__).parent
SECRET = "canary-2f8a61c0"
SLOW = 5.0  # seconds
LIMIT = timedelta(seconds=3)
_TOKEN = re.compile(
    r"'(?:[^'\\]|''|\\.)*'|`[^`]*`|\"[^\"]*\"|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|\s+|[^\w\s]{2}|.", re.S
)
_STREAMS = {"posreports": "t", "readings": "at"}

# `{secret}` is a file with the secret, `{out}` one that must not be there, `{run}` a program that must not run.
ATTACKS = (
    "SELECT TRANSFORM('x') USING '{run}'",
    "SELECT TRANSFORM(vid) USING '{run} {secret}' AS (a STRING) FROM posreports",
    "FROM posreports MAP vid USING '{run}' AS a",
    "FROM posreports REDUCE vid USING '{run}' AS a",
    "SELECT reflect('java.lang.System', 'exit', 7)",
    "SELECT java_method('java.lang.System', 'getenv', 'PATH')",
    "SELECT try_reflect('java.nio.file.Files', 'readString', '{secret}')",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_parquet('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_files('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM text.`{secret}`",
    "SELECT * FROM csv.`{secret}`",
    "SELECT * FROM binaryFile.`{secret}`",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM `{secret}`",
    'SELECT * FROM "{secret}"',
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM pragma_version()",
    "SELECT getenv('PATH')",
    "SELECT current_setting('home_directory')",
    "SELECT input_file_name() FROM posreports",
    "COPY posreports TO '{out}'",
    "COPY (SELECT 1) TO '{out}' (FORMAT csv)",
    "EXPORT DATABASE '{out}'",
    "ATTACH '{out}' AS x",
    "INSTALL httpfs",
    "LOAD '{secret}'",
    "PRAGMA database_list",
    "SET VARIABLE x = getenv('PATH')",
    "SET spark.sql.variable.substitute = true",
    "SELECT '${{env:PATH}}', '${{system:user.home}}'",
    "ADD JAR '{secret}'",
    "ADD FILE '{secret}'",
    "LIST FILES",
    "CREATE TEMPORARY FUNCTION f AS 'x' USING JAR '{secret}'",
    "CREATE FUNCTION f(a INT) RETURNS INT AS PYTHON 'os:system'",
    "CREATE SOURCE s (a STRING) FROM FILES '{secret}' FORMAT CSV",
    "CREATE SOURCE s (a STRING) FROM SOCKET '127.0.0.1:1' FORMAT CSV",
    "CREATE TABLE p FROM POSTGRES 'host=/tmp'",
    "CREATE TABLE x USING csv LOCATION '{out}'",
    "CREATE EXTERNAL TABLE x (a INT) LOCATION '{out}'",
    "INSERT OVERWRITE DIRECTORY '{out}' USING csv SELECT 1",
    "INSERT OVERWRITE LOCAL DIRECTORY '{out}' SELECT 1",
    "LOAD DATA LOCAL INPATH '{secret}' INTO TABLE owners",
    "CACHE TABLE x OPTIONS ('path' '{out}') AS SELECT 1",
    "DESCRIBE FUNCTION EXTENDED reflect",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "CALL system('{run}')",
    "SELECT system('{run}')",
    "SELECT shell('{run}')",
    "SELECT * FROM shellfs('{run} |')",
    "SELECT repeat('x', 2000000000)",
    "SELECT sequence(1, 2000000000)",
    "SELECT count(*) FROM posreports a, posreports b, posreports c, posreports d",
    "SELECT * FROM range(100000000000)",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
    "SELECT 1e",
    "SELECT .1.",
    "SELECT COUNT() FROM posreports",
)
FRAGMENTS = (
    *(
        "(",
        ")",
        ",",
        ";",
        "'",
        "`",
        '"',
        "--",
        "/*",
        "*/",
        "[",
        "]",
        "[NOW]",
        "[ROWS 3]",
        "[vid ROWS 2]",
        "[UNBOUNDED]",
    ),
    *(
        "NULL",
        "1e",
        ".1.",
        "0x",
        "1E400",
        "-9223372036854775808",
        "99999999999999999999",
        "''",
        "x'",
        "?",
        ":name",
        "$1",
    ),
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "UNION ALL", "JOIN", "USING", "OVER ()", "LATERAL"),
    *(
        "CREATE",
        "DROP",
        "ALTER",
        "INSERT INTO",
        "UPDATE",
        "DELETE FROM",
        "EXPLAIN",
        "SHOW",
        "ISTREAM",
        "DSTREAM",
        "RSTREAM",
    ),
    *(
        "NOW()",
        "PREV(vid)",
        "current_timestamp",
        "INTERVAL '1' DAY",
        "DISTINCT",
        "*",
        "t.*",
        "CAST(",
        "AS",
        "\x00",
        "é",
        "日本",
    ),
)


@dataclass
class Report:
    statements: int = 0
    answered: int = 0
    refused: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    on_spark: int = 0
    slowest: tuple[float, str] = (0.0, "")
    wrong: list[str] = field(default_factory=list)


def seeds() -> list[list[str]]:
    """Statements that people write: the corpus, over tables that are there, and those of the stories."""
    told = [
        line.partition(" ")[2]
        for story in sorted((HERE.parent / "stories").rglob("*.story"))
        for line in story.read_text(encoding="utf-8").splitlines()
        if line.startswith(("> ", "? ", "! ", "?~ "))
    ]
    return [[case.sql for case in load_corpus()], told]


def statements(rng: random.Random, places: dict[str, str]) -> Iterator[str]:
    """Statements without end; the same for the same seed."""
    known = seeds()
    attacks = [text.format(**places) for text in ATTACKS]
    tokens = [t for kind in known for sql in kind for t in _TOKEN.findall(sql) if t.strip()]

    def attacked(parts: list[str]) -> None:
        parts.insert(rng.randrange(len(parts) + 1), " (" + rng.choice(attacks) + ") ")

    def cut(parts: list[str]) -> None:
        begin = rng.randrange(len(parts))
        del parts[begin : begin + rng.randrange(1, 6)]

    def doubled(parts: list[str]) -> None:
        begin = rng.randrange(len(parts))
        parts[begin:begin] = parts[begin : begin + rng.randrange(1, 12)]

    def other(parts: list[str]) -> None:
        parts[rng.randrange(len(parts))] = rng.choice(tokens)

    def added(parts: list[str]) -> None:
        parts.insert(rng.randrange(len(parts) + 1), f" {rng.choice(FRAGMENTS)} ")

    def swapped(parts: list[str]) -> None:
        a, b = rng.randrange(len(parts)), rng.randrange(len(parts))
        parts[a], parts[b] = parts[b], parts[a]

    def nested(parts: list[str]) -> None:
        depth = rng.choice([1, 2, 5, 60])
        parts[:] = ["SELECT * FROM (" * depth, *parts, ") AS n" * depth]

    def byte(parts: list[str]) -> None:
        text = "".join(parts)
        at = rng.randrange(len(text) + 1)
        parts[:] = [text[:at], chr(rng.choice([0, 7, 39, 92, 96, 160, 955, 0x1F600])), text[at:]]

    changes: tuple[Callable[[list[str]], None], ...] = (attacked, cut, doubled, other, added, swapped, nested, byte)
    while True:
        if rng.random() < 0.1:
            yield rng.choice(attacks)
            continue
        parts = _TOKEN.findall(rng.choice(rng.choices(known, (3, 1))[0]))
        for change in rng.choices(changes, k=rng.choice([0, 1, 1, 1, 2, 3])):
            if parts:
                change(parts)
        yield "".join(parts)


def open_pond(folder: Path, engine: str) -> millpond.Pond:
    db = millpond.connect(folder, auto_archive=False, privileged=False, engine=engine, query_time=LIMIT)
    _restore(db)
    return db


def _restore(db: millpond.Pond) -> None:
    """What statements dropped or changed is made anew."""
    for name, make in TABLES.items():
        columns = ", ".join(f"{c} {t}" for c, t in SCHEMA[name].items())
        for kind in ("STREAMING TABLE", "TABLE"):
            try:
                db.sql(f"DROP {kind} {name}")
            except millpond.MillpondError:
                continue
        try:
            if name in _STREAMS:
                db.sql(f"CREATE STREAMING TABLE {name} ({columns}) TIMESTAMP BY {_STREAMS[name]} WITH (late = 'keep')")
            else:
                db.sql(f"CREATE TABLE {name} ({columns})")
            db.append(name, make())
        except millpond.MillpondError:
            continue  # another statement's table has the name, or a query reads it: as good as any


def fuzz(
    count: int, seed: int, root: Path, *, spark: bool = False, tell: Callable[[str], None] | None = None
) -> Report:
    """Run `count` statements in a pond below `root`, and report what went wrong."""
    outside = root / "outside"
    outside.mkdir(parents=True)
    (outside / "secret.csv").write_text(f"a\n{SECRET}\n")
    program = outside / "program"
    program.write_text(f"#!/bin/sh\ntouch {outside}/it_ran\n")
    program.chmod(0o755)
    before = _seen(outside)
    places = {"secret": str(outside / "secret.csv"), "out": str(outside / "out"), "run": str(program)}
    report = Report()
    rng = random.Random(seed)
    made = statements(rng, places)
    db = open_pond(root / "pond", "auto" if spark else "duckdb")
    if spark:
        with contextlib.suppress(millpond.LimitExceeded):  # Spark's start is not what is timed
            db.sql("SELECT approx_count_distinct(vid) FROM posreports")
    begin = time.monotonic()
    for number in range(count):
        text = next(made)
        _run(db, text, report)
        if number % 500 == 499:
            _restore(db)
            if _seen(outside) != before:
                report.wrong.append(f"something outside the pond changed, at latest by: {text!r}")
                before = _seen(outside)
            if tell is not None:
                rate = (number + 1) / (time.monotonic() - begin)
                tell(
                    f"{number + 1:,} statements, {rate:,.0f}/s, {report.answered:,} answered, {len(report.wrong)} wrong"
                )
    db.close()
    if _seen(outside) != before:
        report.wrong.append("something outside the pond changed")
    return report


def _run(db: millpond.Pond, text: str, report: Report) -> None:
    report.statements += 1
    begin = time.monotonic()
    shown = ""
    try:
        result = db.sql(text)
        shown = str(result.rows()[:100]) if result.columns else ""
        report.answered += 1
    except millpond.MillpondError as error:
        shown = str(error).replace(text, "")
        report.refused += 1
        report.errors[error.code] += 1
    except Exception as error:
        report.wrong.append(f"{type(error).__name__}: {str(error)[:200]!r} from {text[:500]!r}")
    took = time.monotonic() - begin
    if took > report.slowest[0]:
        report.slowest = (took, text[:200])
    if took > SLOW:
        report.wrong.append(f"{took:.1f} s for {text[:500]!r}")
    if SECRET in shown:
        report.wrong.append(f"the secret is shown by {text[:500]!r}")


def _seen(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(p.relative_to(folder)), p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spark", action="store_true", help="what only Spark can answer goes there")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PATH"] = f"{folder}/outside:{os.environ['PATH']}"
        live = (lambda line: print(f"\r{line}", end="", file=sys.stderr)) if sys.stderr.isatty() else None
        report = fuzz(options.count, options.seed, Path(folder), spark=options.spark, tell=live or print)
    print(f"\n{report.statements:,} statements: {report.answered:,} answered, {report.refused:,} refused")
    print("refused as: " + ", ".join(f"{code} {n:,}" for code, n in report.errors.most_common()))
    print(f"slowest: {report.slowest[0]:.2f} s, {report.slowest[1]!r}")
    for line in report.wrong[:50]:
        print(f"WRONG: {line}")
    print(f"{len(report.wrong)} wrong")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
