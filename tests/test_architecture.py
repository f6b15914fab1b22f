"""Who may import whom. The table `MAY_IMPORT` is the diagram: change the picture by changing it, with a reason.

Data flows down the table, imports point up it. Every import counts, also one inside a function or under
`TYPE_CHECKING`: a name that a part needs is a name that it depends on.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"

# Imported by everyone; they import only each other.
VOCABULARY = {
    *("errors", "schema", "duration", "clock", "config", "arrow", "event_time", "catalog", "durable", "failpoints"),
    *("anchor", "catalog_file", "codec", "extensions", "process", "result", "sealed"),
}

STAGES = {
    *(
        "sql",
        "spark",
        "sources",
        "ingest",
        "table",
        "foreign_tables",
        "sinks",
        "results",
        "query",
        "network",
        "standing",
        "tick",
        "system",
    ),
}

# A part is a module or folder directly in src/millpond. Each may import itself, the vocabulary, and:
MAY_IMPORT: dict[str, set[str]] = {
    **{word: set() for word in VOCABULARY},
    "lock": set(),
    # Conditions on one row as data: no SQL and no engine, so that whoever filters, skips or matches rows can use them.
    "predicate": set(),
    # What a window is: how it is written, where it begins, which rows it holds. Everyone who has a window asks it.
    "windows": set(),
    # The one place where a condition in SQL becomes a predicate.
    "sql": {"predicate", "windows"},
    # The settings under which Spark and DuckDB are proved to agree belong to the proof, in sql.
    "spark": {"sql"},
    "sources": set(),
    "sinks": set(),
    # A library of its own: no table, no engine.
    "synopses": set(),
    # Estimates from samples: numbers in, numbers out.
    "estimators": set(),
    # How much of the archive a query reads: asked with numbers, answered with a fraction.
    "reductions": set(),
    "table": set(),
    # Tables in other systems are asked with the bounds that a table's own files are.
    "foreign_tables": {"table"},
    # The intake hands frames to a table's log: rows, rejects and position go in together or not at all.
    "ingest": {"sources", "table"},
    # Results are kept in files like a table's, and handed on; how they are computed is nothing to them.
    "results": {"table", "sinks"},
    # The shelf hands out the rows of all tables, those in other systems too. Bounds are derived from predicates.
    "query": {"table", "foreign_tables", "sql", "spark", "predicate", "windows", "estimators"},
    # Continuous queries are queries over the tables' rows: bound, translated and asked like any other.
    # Shards are found by the same arithmetic as at the door.
    # Filters are predicates, evaluated over the columns of a batch.
    "network": {"table", "foreign_tables", "results", "sql", "query", "ingest", "synopses", "predicate", "windows"},
    # Standing queries are asked like one-time queries; what is kept of them are rows and numbers of rows that match predicates.
    "standing": {"table", "sql", "query", "predicate", "windows"},
    "tick": {"table", "spark", "query", "network", "standing"},
    # What the pond knows of itself as relations: it looks at every stage that has something to tell, and changes none.
    "system": {"sources", "ingest", "table", "results", "query", "network", "standing", "tick", "lock"},
    # Wires the stages together, so it sees them all; it knows no SQL statement.
    "workspace": {*STAGES - {"sql", "system"}, "lock"},
    # What each statement does to a workspace.
    "statements": {*STAGES, "workspace", "predicate", "reductions", "estimators"},
    # Runs in processes of Spark that open a pond's folder for themselves, as readers of its tables and results. Whoever commits a
    # write there may have to write the pond for a moment, as a workspace does.
    "spark_format": {
        "sql",
        *("table", "query", "results", "network", "ingest", "predicate", "spark", "workspace", "lock"),
    },
    # What a user holds: calls of the workspace and of statements.
    "pond": {
        *("workspace", "statements", "ingest", "query", "results", "sql", "standing", "system", "reductions"),
        "spark_format",
    },
    # The public names: a list, so it may take from wherever they live. Faces use these or `pond`.
    "__init__": {*STAGES, "pond", "spark_format"},
    # Public checks of what a user can extend.
    "testing": {"sources", "sinks", "synopses", "reductions", "__init__"},
    # Public names for whoever adds a kind of source or sink.
    "extending": {"sources", "sinks", "reductions"},
    # A face: splits its input into statements, and tells who holds the lock.
    "cli": {"pond", "__init__", "sql", "lock"},
    "__main__": {"cli"},
}
# The packages of `network`, likewise: each may import itself and those named. What a query is evaluated with is below how it
# is evaluated (`strategies`), and that is below the loop over all queries (`evaluate`) and ticks (`run`).
NETWORK_MAY_IMPORT: dict[str, set[str]] = {
    "time": set(),
    # Partitioned windows take their rows out of inlets.
    "buffers": {"time"},
    # State of groups, and nothing of SQL: groups are numbered as keys of windows are.
    "aggregates": {"buffers"},
    # Where state comes from and goes to; whose it is is nothing to it.
    "state": set(),
    # DuckDB over Arrow tables.
    "engine": set(),
    # What a query asks, from its text. A window that only grows is refused here unless its aggregates can be kept.
    "plan": {"aggregates"},
    "strategies": {"time", "buffers", "aggregates", "state", "engine", "plan"},
    "evaluate": {"time", "state", "engine", "plan", "strategies"},
    "run": {"state", "engine", "plan", "strategies", "evaluate"},
}
# Packages of `standing` that are plain data structures: besides themselves and the vocabulary they may import these parts.
STANDING_MAY_IMPORT: dict[str, set[str]] = {
    "index": {"predicate"},
    "kept": {"predicate"},
}
# Built on the public names; they reach the `millpond` command by entry points.
APPLICATIONS = {"linear_road", "benchmarks", "tests"}
# Only these may import pyspark when they are imported: anything else would start loading Spark for a small question.
SPARK_PARTS = {"spark", "spark_format", "tick"}
# What `import millpond` must not load: together they cost seconds, and a help text or a small question needs none.
HEAVY = ["pyspark", "pandas", "deltalake"]
NAMES_THAT_SAY_NOTHING = {"utils", "util", "common", "core", "helpers", "helper"}
LONGEST_MODULE = 500


@dataclass(frozen=True)
class Import:
    """`module` in full; `name` when written `from module import name`; `eager` when importing the importer runs it."""

    module: str
    name: str | None
    line: int
    eager: bool


def module_name(path: Path) -> str:
    """`millpond.sql.parser` for src/millpond/sql/parser.py; a package's own file keeps its `__init__`."""
    return ".".join(path.relative_to(SRC).with_suffix("").parts)


def sources(package: str) -> list[Path]:
    return sorted((SRC / package).rglob("*.py"))


def imports(source: str, importer: str) -> list[Import]:
    """Every import in `source`, the text of the module `importer`."""

    def visit(node: ast.AST, eager: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, None, node.lineno, eager)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                package = importer.split(".")[: -node.level]
                module = ".".join([*package, *([module] if module else [])])
            for alias in node.names:
                yield Import(module, alias.name, node.lineno, eager)
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for child in node.body:
                yield from visit(child, False)
            for child in node.orelse:
                yield from visit(child, eager)
        else:
            inside = eager and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, inside)

    return list(visit(ast.parse(source), True))


def part_of(module: str) -> str:
    """The part a module of millpond belongs to: `sql` for millpond.sql.parser, `__init__` for millpond itself."""
    return [*module.split("."), "__init__"][1]


def imported_part(found: Import) -> str | None:
    """The part of millpond that `found` reaches, or None when it is someone else's module."""
    if found.module.split(".")[0] != "millpond":
        return None
    if found.module == "millpond" and found.name is not None and found.name in MAY_IMPORT:
        return found.name  # `from millpond import errors`
    return part_of(found.module)


def violations(source: str, importer: str) -> list[str]:
    """What `source`, the text of the millpond module `importer`, imports against the table."""
    part = part_of(importer)
    if part not in MAY_IMPORT:
        return [f'{importer}: "{part}" is a new part: say in MAY_IMPORT what it may import, and why']
    wrong = []
    for found in imports(source, importer):
        target = imported_part(found)
        if target is not None and target not in {part} | VOCABULARY | MAY_IMPORT[part]:
            wrong.append(f"{importer}:{found.line}: {part} may not import {target}")
        if found.module.split(".")[0] in APPLICATIONS:
            wrong.append(f"{importer}:{found.line}: millpond may not import {found.module}, an application built on it")
        if found.eager and found.module.split(".")[0] == "pyspark" and part not in SPARK_PARTS:
            wrong.append(f"{importer}:{found.line}: imports pyspark when it is imported; only {SPARK_PARTS} may")
    return wrong


def network_violations(source: str, importer: str) -> list[str]:
    """What `source`, the text of a module of `millpond.network`, imports against the table of its packages."""
    package = importer.split(".")[2]
    if package == "__init__":
        package = ""
    elif package not in NETWORK_MAY_IMPORT:
        return [f'{importer}: "{package}" is a new package: say in NETWORK_MAY_IMPORT what it may import, and why']
    wrong = []
    for found in imports(source, importer):
        parts = [*found.module.split("."), *([found.name] if found.name is not None else [])]
        if parts[:2] != ["millpond", "network"] or len(parts) < 3:
            continue
        if parts[2] not in {package} | NETWORK_MAY_IMPORT.get(package, set()):
            wrong.append(f"{importer}:{found.line}: network.{package} may not import network.{parts[2]}")
    return wrong


def standing_violations(source: str, importer: str) -> list[str]:
    """What `source`, the text of a module of `millpond.standing`, imports against the table of its plain packages."""
    package = importer.split(".")[2]
    if package not in STANDING_MAY_IMPORT:
        return []
    wrong = []
    for found in imports(source, importer):
        parts = [*found.module.split("."), *([found.name] if found.name is not None else [])]
        target = imported_part(found)
        if target is None or target in VOCABULARY | STANDING_MAY_IMPORT[package] or parts[1:3] == ["standing", package]:
            continue
        wrong.append(f"{importer}:{found.line}: standing.{package} may not import {'.'.join(parts[1:3])}")
    return wrong


def application_violations(source: str, importer: str, public: set[str]) -> list[str]:
    """What an application imports from millpond besides its public names."""
    wrong = []
    for found in imports(source, importer):
        if found.module.split(".")[0] != "millpond":
            continue
        if found.module != "millpond":
            wrong.append(f"{importer}:{found.line}: imports {found.module}, which is beneath the public API")
        elif found.name is not None and found.name not in public:
            wrong.append(f"{importer}:{found.line}: millpond.{found.name} is not a public name")
    return wrong


def public_names() -> set[str]:
    """`millpond.__all__`, read from the text, so that this file needs nothing to be importable."""
    init = SRC / "millpond" / "__init__.py"
    for node in ast.parse(init.read_text()).body if init.exists() else []:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
            return set(ast.literal_eval(node.value))  # type: ignore[attr-defined]
    return set()


@pytest.mark.parametrize("table", [MAY_IMPORT, NETWORK_MAY_IMPORT], ids=["millpond", "network"])
def test_the_table_has_no_cycle(table: dict[str, set[str]]) -> None:
    left = {part: table[part] - {part} for part in table}
    while left:
        free = {part for part, needs in left.items() if not needs & left.keys()}
        assert free, f"these import each other: {sorted(left)}"
        left = {part: needs for part, needs in left.items() if part not in free}


@pytest.mark.parametrize("path", sources("millpond"), ids=module_name)
def test_millpond_imports_along_the_arrows(path: Path) -> None:
    assert violations(path.read_text(), module_name(path)) == []


@pytest.mark.parametrize("path", sources("millpond/network"), ids=module_name)
def test_packages_of_the_network_import_along_the_arrows(path: Path) -> None:
    assert network_violations(path.read_text(), module_name(path)) == []


@pytest.mark.parametrize("path", sources("millpond/standing"), ids=module_name)
def test_plain_packages_of_standing_import_along_the_arrows(path: Path) -> None:
    assert standing_violations(path.read_text(), module_name(path)) == []


def test_the_check_of_packages_of_standing() -> None:
    fine = "from millpond.standing.kept.rows import Rows\nfrom . import tree\nfrom millpond.predicate.form import Value"
    assert standing_violations(fine, "millpond.standing.kept.matches") == []
    assert standing_violations("from millpond.query import plan", "millpond.standing.plan") == []
    for source in ("from millpond.table import tail", "from millpond.standing import index", "from .. import keeper"):
        assert len(standing_violations(source, "millpond.standing.kept.matches")) == 1


def test_the_check_of_packages_of_the_network() -> None:
    fine = "from millpond.network.plan.prepared import Prepared\nfrom .base import Strategy\nfrom millpond.errors import SqlError"
    assert network_violations(fine, "millpond.network.strategies.rows") == []
    for source in (
        "from millpond.network.evaluate import evaluator",
        "from millpond.network import run",
        "from ..run import x",
    ):
        assert len(network_violations(source, "millpond.network.strategies.rows")) == 1
    assert len(network_violations("", "millpond.network.novelty.x")) == 1


def test_nobody_asks_which_strategy_a_query_has() -> None:
    """A strategy is asked for what it does, never for what it is."""
    names = re.compile(r"strategy\.name\b|kind\.name ==|isinstance\([^)]*\w+Strategy\b")
    for package in ("evaluate", "run"):
        for path in sources(f"millpond/network/{package}"):
            assert names.findall(path.read_text()) == [], path


@pytest.mark.parametrize("path", sources("linear_road"), ids=module_name)
def test_linear_road_uses_only_public_names(path: Path) -> None:
    assert application_violations(path.read_text(), module_name(path), public_names()) == []


def test_import_millpond_loads_nothing_heavy(tmp_path: Path) -> None:
    program = f"import sys, millpond; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# Calls that read the wall clock. `time.monotonic` is not one: waiting and measuring may be done anywhere.
WALL_CLOCK = {
    *("time.time", "time.time_ns", "time.localtime", "time.gmtime", "time.ctime", "time.strftime"),
    *("datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
}
# Modules that may look at the environment, and for whose variables.
ENVIRONMENT = {
    "millpond.config": "ours, MILLPOND_...",
    "millpond.spark.session": "what Java and Spark read: JAVA_HOME, PYSPARK_PYTHON, PYTHONPATH",
    "millpond.foreign_tables.postgres.connection": "what the PostgreSQL client reads: PGHOST, PGPORT, PGUSER",
}


def wall_clock_calls(source: str) -> list[str]:
    """Calls in `source` that read the wall clock; `import datetime as d` does not hide them, the last two names count."""
    calls = [ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call for call in calls if ".".join(call.split(".")[-2:]) in WALL_CLOCK]


def reads_environment(source: str) -> bool:
    names = {ast.unparse(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    return bool(names & {"os.environ", "os.getenv", "os.environb"}) or "from os import environ" in source


@pytest.mark.parametrize("path", sources("millpond"), ids=module_name)
def test_only_the_clock_reads_the_wall_clock(path: Path) -> None:
    if module_name(path) != "millpond.clock":
        assert wall_clock_calls(path.read_text()) == [], "take a Clock as an argument"


@pytest.mark.parametrize("path", sources("millpond"), ids=module_name)
def test_the_environment_is_read_in_few_places(path: Path) -> None:
    source = path.read_text()
    if module_name(path) not in ENVIRONMENT:
        assert not reads_environment(source), "settings are read by config.py; others need a reason in ENVIRONMENT"
    elif module_name(path) != "millpond.config":
        assert "MILLPOND_" not in source, "our own settings are read by config.py"


def test_the_checks_of_clock_and_environment_object() -> None:
    assert wall_clock_calls("import time\nx = time.time() + time.monotonic()") == ["time.time"]
    assert wall_clock_calls("import datetime\ndatetime.datetime.now(datetime.UTC)") == ["datetime.datetime.now"]
    assert reads_environment("import os\nos.environ['HOME']")
    assert not reads_environment("import os\nos.path.join('a', 'b')")


@pytest.mark.parametrize("package", ["millpond", "linear_road"])
def test_names_say_something(package: str) -> None:
    vague = [name for name in map(module_name, sources(package)) if NAMES_THAT_SAY_NOTHING & set(name.split("."))]
    assert vague == [], "name it after what it is about"


@pytest.mark.parametrize("path", [*sources("millpond"), *sources("linear_road")], ids=module_name)
def test_modules_can_be_read_at_one_sitting(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= LONGEST_MODULE, f"{lines} lines: it has more than one reason to change; split it"


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("millpond.sql.parser", "from millpond.errors import SqlError"),
        (
            "millpond.sql.parser",
            "from . import statements\nfrom .statements import Window\nfrom ..schema import Column",
        ),
        ("millpond.query.once", "import millpond.table.log\nfrom millpond import errors"),
        ("millpond.workspace.rounds", "from millpond.tick.pipeline import start"),
        ("millpond.cli", "from millpond import Pond"),
        ("millpond.query.once", "def run():\n    import pyspark"),
        (
            "millpond.query.once",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pyspark.sql import DataFrame",
        ),
        ("millpond.spark.session", "import pyspark"),
    ],
)
def test_the_check_accepts(importer: str, source: str) -> None:
    assert violations(source, importer) == []


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("millpond.sql.parser", "import millpond.table.log"),
        ("millpond.sql.parser", "from ..table import log"),
        ("millpond.sql.__init__", "from ..table import log"),
        ("millpond.sql.parser", "from .. import table"),
        ("millpond.sql.parser", "from millpond import table"),
        ("millpond.sql.parser", "from millpond import Pond"),
        ("millpond.sql.parser", "def late():\n    from millpond.pond import Pond"),
        ("millpond.errors", "from millpond.sql import parser"),
        ("millpond.cli", "from millpond.table.log import Log"),
        ("millpond.workspace.tables", "from millpond.statements import run"),
        ("millpond.pond", "from millpond.tick.pipeline import Pipeline"),
        ("millpond.query.once", "try:\n    import pyspark\nexcept ImportError:\n    pass"),
        ("millpond.query.once", "class A:\n    from pyspark.sql import types"),
        ("millpond.novelty", ""),
        ("millpond.cli", "from linear_road.cli import app"),
        ("millpond.cli", "def demo():\n    from linear_road.demo import run_demo"),
    ],
)
def test_the_check_objects(importer: str, source: str) -> None:
    assert len(violations(source, importer)) == 1


def test_the_check_of_applications() -> None:
    allowed = "import millpond\nfrom millpond import Pond\nimport duckdb"
    assert application_violations(allowed, "linear_road.driver", {"Pond"}) == []
    for source in ("import millpond.pond", "from millpond.errors import SqlError", "from millpond import table"):
        assert len(application_violations(source, "linear_road.driver", {"Pond"})) == 1
