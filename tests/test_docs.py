"""What the documentation says is run: every Python block, the statements in the reference, and the docstring examples."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

import pytest

import millpond

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md", "docs/synopses.md", "docs/correlated.md"])
def test_python_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("page", ["docs/sql.md", "docs/synopses.md"])
def test_sql_blocks_run(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```sql\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        for block in blocks:
            pond.sql(block)


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_setting_is_documented() -> None:
    listed = re.findall(r"`(\w+)`", (ROOT / "docs/sql.md").read_text().partition("## Settings")[2])
    assert [f.name for f in fields(millpond.Config) if f.name not in listed] == []


MODULES = [
    m.name
    for m in pkgutil.walk_packages(millpond.__path__, "millpond.")
    if not m.name.startswith(("millpond.tick.source", "millpond.__main__"))
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def glossary() -> list[tuple[str, str, str]]:
    """Rows of the glossary: term, meaning, where it is met."""
    return re.findall(
        r"^\| \*\*(.+?)\*\* \| (.+?) \| (.*?) ?\|$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE
    )


def test_the_glossary_has_each_term_once_and_says_where_it_is_met() -> None:
    terms = [term for term, _, _ in glossary()]
    assert len(terms) > 50
    assert len(set(terms)) == len(terms)
    assert [term for term, meaning, where in glossary() if not where and "not there yet" not in meaning] == []
