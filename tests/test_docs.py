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
from millpond.cli import main
from scripts import write_docs

ROOT = Path(__file__).parent.parent
# A block of Python and, if one follows at once, the block of what it prints.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


PAGES = [
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "guide",
            "how-to",
            "differences",
            "extending",
            "standing-queries",
            "reduced-reads",
            "synopses",
            "correlated",
        )
    ),
]


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_and_print_what_follows_them(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if page == "README.md":
        run_readme_sql(monkeypatch, capsys)
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert blocks
    names: dict[str, object] = {}
    for block, output in blocks:
        exec(compile(block, page, "exec"), names)
        printed = capsys.readouterr().out
        assert not output or printed.endswith(output)


def run_readme_sql(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The SQL example, run as the README says: the Python example goes on in the same pond."""
    (block,) = re.findall(r"^```sql\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    Path("clicks.sql").write_text(block)
    command = re.search(r"`millpond (sql .*?)`", (ROOT / "README.md").read_text())
    assert command is not None
    monkeypatch.setattr("sys.argv", ["millpond", *command[1].split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    printed = capsys.readouterr().out
    assert printed
    assert printed.strip() in (ROOT / "README.md").read_text()


def test_sql_blocks_run(tmp_path: Path) -> None:
    blocks = re.findall(r"^```sql\n(.*?)^```", (ROOT / "docs/synopses.md").read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    with millpond.connect(tmp_path / "pond", auto_archive=False) as pond:
        for block in blocks:
            pond.sql(block)


def test_the_sql_reference_runs_and_shows_todays_messages() -> None:
    page = (ROOT / "docs/sql.md").read_text()
    assert write_docs.with_messages(page) == page, "run `make docs`"


def test_every_statement_of_the_sql_reference_has_grammar_and_an_example() -> None:
    page = (ROOT / "docs/sql.md").read_text()
    sections = re.findall(r"^### ([A-Z]{2}.*)\n((?:(?!^##).*\n)*)", page, re.MULTILINE)
    assert len(sections) > 15
    for title, text in sections:
        assert "```sql\n" in text, f"{title} has no example"
        assert title == "SELECT" or "```\n" in text.partition("```sql\n")[0], f"{title} has no grammar"


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, made as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], ids=lambda p: p.name)
def test_links_to_headings_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text()):
        there = page.parent / target if target else page
        assert anchor in anchors(there), f"{page.name}: {target}#{anchor}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/index.md").read_text()
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in ROOT.glob("docs/**/*.md") if p.name != "index.md"]
    assert [page for page in pages if not re.search(rf"\({re.escape(page)}[#)]", index)] == []


def test_every_setting_is_documented() -> None:
    listed = re.findall(r"`(\w+)`", (ROOT / "docs/sql.md").read_text().partition("## Settings")[2])
    assert [f.name for f in fields(millpond.Config) if f.name not in listed] == []


MODULES = [
    m.name
    for m in pkgutil.walk_packages(millpond.__path__, "millpond.")
    if not m.name.startswith(("millpond.tick.source", "millpond.__main__"))
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_hold(name: str, tmp_path: Path) -> None:
    """In the examples `db` is an open pond, new for each docstring."""
    runner = doctest.DocTestRunner()
    for number, test in enumerate(doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))):
        if any(re.search(r"\bdb\.", example.source) for example in test.examples) and "db" not in test.globs:
            with millpond.connect(tmp_path / str(number), auto_archive=False) as test.globs["db"]:
                runner.run(test)
        else:
            runner.run(test)
    assert runner.failures == 0


WITHOUT_EXAMPLE = {
    # They need Java, a receiver outside, or have nothing to show.
    *(
        "Pond.spark",
        "register_format",
        "Pond.subscribe",
        "Pond.on",
        "Pond.start",
        "Pond.archive",
        "Pond.status",
        "Pond.close",
    ),
    *("Pond.folder", "Pond.durations"),
    *("Pond", "Config", "Cursor", "Subscription"),
    *("Pond.advance", "Pond.tick", "Pond.idle"),  # `Pond.now` and `Pond.resume` show the first two
}


def test_public_names_have_examples() -> None:
    pond = {f"Pond.{name}": getattr(millpond.Pond, name) for name in vars(millpond.Pond) if not name.startswith("_")}
    public = {name: getattr(millpond, name) for name in millpond.__all__}
    ours = {**pond, **{name: thing for name, thing in public.items() if not write_docs.is_error(thing)}}
    assert sorted(n for n, t in ours.items() if ">>>" not in (t.__doc__ or "") and n not in WITHOUT_EXAMPLE) == []


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


def test_the_python_reference_is_made_from_todays_docstrings() -> None:
    assert write_docs.python_reference() == (ROOT / "docs/python.md").read_text(), "run `make docs`"


@pytest.mark.parametrize("page", [ROOT / "ARCHITECTURE.md", *ROOT.glob("docs/**/*.md")], ids=lambda p: p.name)
def test_modules_named_in_the_documentation_exist(page: Path) -> None:
    named = re.findall(r"`((?:[\w.-]+/)+(?:[\w-]+\.py)?)`", page.read_text())
    roots = (ROOT, ROOT / "src/millpond", ROOT / "src/linear_road", ROOT / "src", page.parent)
    parts = {p.name for p in (ROOT / "src/millpond").iterdir() if p.is_dir()} | {
        "src",
        "tests",
        "scripts",
        "benchmarks",
    }
    missing = [n for n in named if n.split("/")[0] in parts and not any((root / n).exists() for root in roots)]
    assert missing == []
