"""Fuzzing of SQL: statements made of the project's own ones and of a grammar (`fuzz_forms`), cut, mixed and mixed with attacks,
through the front door. Between them the pond is used as a client would: values for parameters, handles of standing queries, rows, ticks.

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
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import millpond
from millpond.errors import EngineError
from tests.corpus import load_corpus
from tests.corpus.tables import SCHEMA, TABLES
from tests.faults.fuzz_forms import Forms

HERE = Path(__file__).parent
SECRET = "canary-2f8a61c0"
SLOW = 5.0  # seconds
LIMIT = timedelta(seconds=3)
_ASKED = 20  # handles that the client keeps
_TOKEN = re.compile(
    r"'(?:[^'\\]|''|\\.)*'|`[^`]*`|\"[^\"]*\"|[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|\s+|[^\w\s]{2}|.", re.S
)
_STREAMS = {"posreports": "t", "readings": "at"}
_IN_ORDER = {"cars": "posreports", "sensors": "readings"}

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
    written = (HERE.parents[1] / "docs" / "sql.md").read_text(encoding="utf-8")
    told += [sql for block in re.findall(r"```sql\n(.*?)```", written, re.S) for sql in block.split(";") if sql.strip()]
    return [[case.sql for case in load_corpus()], told]


def statements(rng: random.Random, places: dict[str, str]) -> Iterator[str]:
    """Statements without end; the same for the same seed."""
    known = seeds()
    forms = Forms(rng)
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
        if rng.random() < 0.4:
            parts = _TOKEN.findall(forms.statement())
            often = rng.choice([0, 0, 0, 0, 0, 1, 1, 2])
        else:
            parts = _TOKEN.findall(rng.choice(rng.choices(known, (3, 1))[0]))
            often = rng.choice([0, 1, 1, 1, 2, 3])
        for change in rng.choices(changes, k=often):
            if parts:
                change(parts)
        yield "".join(parts)


@dataclass(frozen=True)
class Call:
    """What is done to the pond, and what a report calls it."""

    shown: str
    run: Callable[[millpond.Pond], object]
    timed: bool = True


class Client:
    """Uses a pond in every way that takes text or values from a user; the same for the same random numbers."""

    def __init__(self, rng: random.Random, texts: Iterator[str]) -> None:
        self._rng = rng
        self._texts = texts
        self._forms = Forms(rng)
        self._handles: list[millpond.Handle] = []

    def call(self) -> Call:
        kinds = (
            (self._statement, 200), (self._parameters, 12), (self._register, 10), (self._register_many, 3), (self._ask, 16),
            (self._find, 3), (self._append, 3), (self._tick, 2),
        )  # fmt: skip
        return self._rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]()

    def _statement(self) -> Call:
        text = next(self._texts)
        return Call(text, lambda db: db.sql(text))

    def _parameters(self) -> Call:
        text, values = self._forms.with_marks()
        return Call(f"{text} with {values!r}", lambda db: db.sql(text, values))

    def _register(self) -> Call:
        text, values = self._forms.with_marks() if self._rng.random() < 0.5 else (self._forms.standing_query(), None)
        keep = self._rng.choice(["auto", "partial", "complete", "nothing"])
        return Call(
            f"register {text} with {values!r} keep {keep}",
            lambda db: self._keep(db.register(text, values, keep=keep)),
        )

    def _register_many(self) -> Call:
        text, values = self._forms.with_marks()
        count = len(values) if isinstance(values, list) else 1
        lists: list[Any] = [values, *(self._forms.parameters(count) for _ in range(self._rng.choice([0, 1, 5, 40])))]
        return Call(
            f"register_many {text} with {lists!r}",
            lambda db: [self._keep(h) for h in db.register_many(text, lists)][:9],
        )

    def _keep(self, handle: millpond.Handle) -> str:
        self._handles.append(handle)
        del self._handles[:-_ASKED]
        return repr(handle) + handle.sql

    def _ask(self) -> Call:
        if not self._handles:
            return self._register()
        handle = self._rng.choice(self._handles)
        moment = self._rng.choice([None, None, 0, 400, -1, 2**63, "2024-03-01", "never", 1.5, datetime(2024, 3, 1)])
        what: tuple[tuple[str, Callable[[millpond.Pond], object]], ...] = (
            (f"invoke({moment!r})", lambda db: handle.invoke(moment)),
            ("invoke()", lambda db: handle.invoke()),
            ("changes()", lambda db: handle.changes()),
            ("changes(since=visit)", lambda db: handle.changes(since=handle.invoke().visit)),
            ("changes(since=...)", lambda db: handle.changes(since=self._rng.choice(VISITS))),
            ("explain()", lambda db: handle.explain()),
            ("drop()", lambda db: handle.drop()),
        )
        name, run = self._rng.choice(what)
        return Call(f"{name} of {handle!r}", run)

    def _find(self) -> Call:
        name = self._rng.choice(
            [0, 1, 2, -1, 10**30, "sq", "SQ", "../queries", "", "a\x00b", None, 1.5, True, b"x", "1"]
        )
        return Call(f"registered({name!r})", lambda db: self._keep(db.registered(name)))

    def _append(self) -> Call:
        time = self._rng.choice([0, 100, 500, 700, 10**6])
        rows = [
            (self._rng.choice([100, 101, None]), self._rng.randrange(100), 0, 0, 0, 1, 5000, time + i)
            for i in range(50)
        ]
        return Call(f"append rows from {time} on", lambda db: db.append("cars", rows))

    def _tick(self) -> Call:
        return Call("tick", lambda db: db.tick(), timed=False)  # its time has as many limits as there are queries


VISITS = (
    "", "{}", "[]", "null", "7", '{"x": 1}', '{"x": [1, 2]}', '{"posreports-0": [null, 1e400]}', '{"posreports-0": [0, -1]}',
    '{"posreports-0": [9999999999999999999999, 99999999999999999999]}', '{"../../etc": [0, 0]}', "[" * 100_000, "\x00",
)  # fmt: skip


def open_pond(folder: Path, engine: str) -> millpond.Pond:
    db = millpond.connect(
        folder, auto_archive=False, privileged=False, engine=engine, query_time=LIMIT, evaluation_time=LIMIT,
        standing_memory=32 << 20,
    )  # fmt: skip
    _restore(db)
    return db


def _restore(db: millpond.Pond) -> None:
    """What statements dropped or changed is made anew; queries that were registered go."""
    for _ in range(9):  # a view that another reads goes after it
        queries = [row[0] for row in db.sql("SELECT name FROM millpond.queries").rows()]
        for query in queries:
            for noun in ("CONTINUOUS QUERY", "STREAMING VIEW"):
                with contextlib.suppress(millpond.MillpondError):
                    db.sql(f"DROP {noun} `{query}`")
    for (number,) in db.sql("SELECT id FROM millpond.standing_queries").rows():
        db.registered(number).drop()
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
    for name, same in _IN_ORDER.items():
        time = _STREAMS[same]
        columns = ", ".join(f"{c} {t}" for c, t in SCHEMA[same].items())
        with contextlib.suppress(millpond.MillpondError):
            db.sql(f"DROP STREAMING TABLE IF EXISTS {name}")
        with contextlib.suppress(millpond.MillpondError):
            db.sql(f"CREATE STREAMING TABLE {name} ({columns}) TIMESTAMP BY {time}")
            db.append(name, TABLES[same]().sort_by(time))


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
    client = Client(rng, statements(rng, places))
    reached = contextlib.nullcontext() if spark else patch("millpond.spark.session.get_session", _no_spark)
    with reached, open_pond(root / "pond", "auto" if spark else "duckdb") as db:
        _use(db, client, count, spark, report, outside, tell)
    if _seen(outside) != before:
        report.wrong.append("something outside the pond changed")
    return report


def _no_spark(*_: object, **__: object) -> None:
    """Continuous queries take Spark where DuckDB cannot answer, whatever the pond's engine is."""
    raise EngineError("Spark is out of reach")


def _use(
    db: millpond.Pond,
    client: Client,
    count: int,
    spark: bool,
    report: Report,
    outside: Path,
    tell: Callable[[str], None] | None,
) -> None:
    before = _seen(outside)
    if spark:
        with contextlib.suppress(millpond.LimitExceeded):  # Spark's start is not what is timed
            db.sql("SELECT approx_count_distinct(vid) FROM posreports")
    begin = time.monotonic()
    for number in range(count):
        call, wrong = client.call(), len(report.wrong)
        _run(db, call, report)
        if tell is not None and len(report.wrong) > wrong:
            tell(f"WRONG: {report.wrong[-1]}")  # now: the run may be ended early
        if number % 500 == 499:
            _restore(db)
            if _seen(outside) != before:
                report.wrong.append(f"something outside the pond changed, at latest by: {call.shown!r}")
                before = _seen(outside)
            if tell is not None:
                rate = (number + 1) / (time.monotonic() - begin)
                tell(
                    f"{number + 1:,} statements, {rate:,.0f}/s, {report.answered:,} answered, {len(report.wrong)} wrong"
                )


def _run(db: millpond.Pond, call: Call, report: Report) -> None:
    text = call.shown
    report.statements += 1
    begin = time.monotonic()
    shown = ""
    try:
        result = call.run(db)
        shown = str(result.rows()[:100]) if isinstance(result, millpond.Result) else str(result)
        report.answered += 1
    except millpond.MillpondError as error:
        shown = str(error).replace(text, "")
        report.refused += 1
        report.errors[error.code] += 1
    except Exception as error:
        report.wrong.append(f"{type(error).__name__}: {str(error)[:200]!r} from {text[:500]!r}")
    took = time.monotonic() - begin
    if call.timed and took > report.slowest[0]:
        report.slowest = (took, text[:200])
    if call.timed and took > SLOW:
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
