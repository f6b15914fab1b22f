"""Writes what the documentation can take from the code: docs/python.md, docs/system-tables.md, the messages in docs/sql.md.

    make docs

`python_reference` makes the Python reference from docstrings. `with_messages` runs the SQL reference from top to bottom in one
pond: statements in blocks of `sql` must succeed; each statement after `> ` in a block of `text` must fail, and is followed
by the first line of the error and its hint. `tests/test_docs.py` checks that the committed files are what this writes.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import millpond
from millpond.system.reference import markdown as system_tables

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```(sql|text)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def with_messages(page: str) -> str:
    """`page` with the messages that millpond gives today."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        millpond.connect("pond", auto_archive=False) as db,
    ):
        Path("inbox").mkdir()  # for the example of a source

        def run(block: re.Match[str]) -> str:
            kind, text = block.groups()
            if kind == "sql":
                db.sql(text)
                return block.group()
            statements = [line for line in text.splitlines() if line.startswith("> ")]
            return "```text\n" + "".join(f"{line}\n{_message(db, line[2:])}\n" for line in statements) + "```\n"

        return BLOCK.sub(run, page)


def _message(db: millpond.Pond, statement: str) -> str:
    try:
        db.sql(statement)
    except millpond.MillpondError as error:
        return error.primary + (f"\nHint: {error.hint}" if error.hint else "")
    raise AssertionError(f"this should fail, and does not: {statement}")


# -- the Python reference ------------------------------------------------------------------------------------------------

# What a user calls, in the order in which one meets it. Everything else that is public follows by itself.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Opening a pond": ("connect", "Config"),
    "A pond": ("Pond",),
    "Answers": ("Result", "Receipt", "Cursor", "Subscription"),
    "Functions called by SQL": ("vectorized", "Reader"),
}


def python_reference() -> str:
    """The page docs/python.md."""
    lines = [
        "# Python reference",
        "",
        "Made from the docstrings by `make docs`; do not edit it here. Everything is imported from `millpond`. The examples are",
        "run by the tests; in them, `db` is an open pond, new for each example. Summaries for long windows in little memory,",
        "`millpond.synopses`, are in [synopses.md](synopses.md).",
    ]
    told = {name for names in SECTIONS.values() for name in names}
    for title, names in SECTIONS.items():
        lines += ["", f"## {title}"]
        for name in names:
            if hasattr(millpond, name):
                lines += _entry(name, getattr(millpond, name), 3)
    rest = [name for name in millpond.__all__ if name not in told]
    errors = [name for name in rest if is_error(getattr(millpond, name))]
    other = [name for name in rest if name not in errors]
    if other:
        lines += ["", "## More"]
        for name in other:
            lines += _entry(name, getattr(millpond, name), 3)
    lines += ["", "## Errors and warnings", "", *_errors(errors)]
    return "\n".join(lines) + "\n"


def is_error(thing: object) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Exception)


def _entry(name: str, thing: object, depth: int) -> list[str]:
    """A heading, the signature, the docstring; for a class its public members one level below."""
    lines = ["", f"{'#' * depth} {name}"]
    if inspect.isroutine(thing):
        lines += ["```python", f"{name}{_signature(thing)}", "```"]
    lines += ["", *_prose(inspect.getdoc(thing) or "")]
    if inspect.isclass(thing):
        own = vars(thing)
        for member in (m for m in own if not m.startswith("_")):
            value = inspect.getattr_static(thing, member)
            if isinstance(value, property) and value.fget is not None and value.fget.__doc__:
                lines += ["", f"{'#' * (depth + 1)} {name}.{member}", "", *_prose(inspect.getdoc(value.fget) or "")]
            elif inspect.isroutine(value) and inspect.getdoc(value):
                lines += _entry(f"{name}.{member}", value, depth + 1)
    return lines


class _Bare(str):
    """An annotation that is shown as it is written, without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _signature(thing: Callable[..., object]) -> str:
    """The signature without `self`."""
    signature = inspect.signature(thing)
    parameters = [p.replace(annotation=_bare(p.annotation)) for p in signature.parameters.values() if p.name != "self"]
    return str(signature.replace(parameters=parameters, return_annotation=_bare(signature.return_annotation)))


def _bare(annotation: object) -> object:
    return _Bare(annotation) if isinstance(annotation, str) else annotation


def _prose(text: str) -> list[str]:
    """A docstring as Markdown: examples, tables and drawings stand in blocks."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.lstrip().startswith(">>>"):  # an example
            block = ["```pycon", *paragraph.splitlines(), "```"]
        elif any(re.search(r"\S {2,}\S", line) for line in paragraph.splitlines()):
            block = ["```text", *paragraph.splitlines(), "```"]
        else:
            block = paragraph.splitlines()
        lines += [*([""] if lines else []), *block]
    return lines


def _errors(names: list[str]) -> list[str]:
    """A table: each error, what it is besides, and what it means."""
    lines = [
        "An error has `primary` (a fact), `detail`, `hint` (what to do) and `code`, which is the same in all versions.",
        "Errors about a statement also have `sql` and `span`, the place in it.",
        "",
        "| error | is a | code | meaning |",
        "|---|---|---|---|",
    ]
    for name in names:
        error = getattr(millpond, name)
        parents = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
        code = f"`{error.code}`" if hasattr(error, "code") else ""
        lines.append(f"| `{name}` | {parents} | {code} | {(inspect.getdoc(error) or '').splitlines()[0]} |")
    return lines


def main() -> None:
    sql = DOCS / "sql.md"
    sql.write_text(with_messages(sql.read_text()))
    (DOCS / "python.md").write_text(python_reference())
    (DOCS / "system-tables.md").write_text(system_tables())


if __name__ == "__main__":
    main()
