"""Every program in `examples/` is run as a user runs it, and prints what its docstring says."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres import running_postgres
from tests.test_architecture import application_violations, public_names

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LONGEST = 100  # lines: one page
NEEDS_POSTGRES = {"postgres_join.py"}


def run(example: Path, folder: Path, *arguments: str) -> str:
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(example), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def promised(example: Path) -> str:
    """The output that the docstring promises."""
    text = ast.get_docstring(ast.parse(example.read_text()), clean=False) or ""
    before, found, output = text.partition("It prints:\n\n")
    assert found, f'{example.name} does not say what it prints, after "It prints:"'
    assert before.strip(), f"{example.name} does not say what it shows"
    return output


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.name not in NEEDS_POSTGRES], ids=lambda e: e.stem)
def test_an_example_prints_what_it_says(example: Path, tmp_path: Path) -> None:
    assert run(example, tmp_path) == promised(example)
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"


@pytest.mark.postgres
def test_the_postgres_example_prints_what_it_says(tmp_path: Path) -> None:
    example = ROOT / "examples" / "postgres_join.py"
    with running_postgres(tmp_path / "postgres") as dsn:
        assert run(example, tmp_path, dsn) == promised(example)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.stem)
def test_an_example_is_a_page_of_public_names_without_sleep(example: Path) -> None:
    source = example.read_text()
    assert len(source.splitlines()) <= LONGEST
    assert application_violations(source, f"examples.{example.stem}", public_names()) == []
    assert "sleep" not in source


def test_the_list_of_examples_is_complete() -> None:
    listed = re.findall(r"^\| \[(\S+)\]", (ROOT / "examples" / "README.md").read_text(), re.MULTILINE)
    there = [p.name for p in (ROOT / "examples").iterdir() if p.suffix in (".py", ".sql")]
    assert sorted(listed) == sorted(there)
