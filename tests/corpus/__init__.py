"""The corpus: SELECTs on which every way to run a query must agree. One file per feature, statements divided by `;`.

    -- a title in words
    -- on: spark        the statement must be sent to Spark
    -- error            it must raise, wherever it runs
    -- names: ours      Spark would choose another name for an unnamed column (both engines get ours)
    SELECT ...

`ordered` is true when the outermost query has an ORDER BY; write such a statement only with a total order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    file: str
    title: str
    sql: str
    where: str  # 'duckdb' or 'spark'
    error: bool
    ordered: bool
    our_names: bool

    @property
    def id(self) -> str:
        return f"{self.file}: {self.title}"


def load_corpus() -> list[Case]:
    """Every statement of the corpus, in the order of files and places."""
    cases = [case for path in sorted(_HERE.glob("*.sql")) for case in _read(path)]
    ids = [case.id for case in cases]
    twice = {id for id in ids if ids.count(id) > 1}
    assert not twice, f"titles used twice: {sorted(twice)}"
    return cases


def _read(path: Path) -> list[Case]:
    cases = []
    for part in re.split(r";[ \t]*\n", path.read_text(encoding="utf-8")):
        lines = [line for line in part.splitlines() if line.strip()]
        comments = [line[3:].strip() for line in lines if line.startswith("-- ")]
        sql = "\n".join(line for line in lines if not line.startswith("-- ")).strip()
        if not sql:
            continue
        marks = {"on: spark", "error", "names: ours"}
        titles = [comment for comment in comments if comment not in marks]
        assert titles, f"{path.name}: no title above {sql[:60]!r}"
        cases.append(
            Case(
                file=path.stem,
                title=titles[-1],
                sql=sql,
                where="spark" if "on: spark" in comments else "duckdb",
                error="error" in comments,
                ordered=_is_ordered(sql),
                our_names="names: ours" in comments,
            )
        )
    return cases


def _is_ordered(sql: str) -> bool:
    """Whether the outermost query has an ORDER BY: one outside all parentheses."""
    depth, outside = 0, []
    for character in re.sub(r"'[^']*'", "''", sql):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            outside.append(character)
    return bool(re.search(r"\border\s+by\b", "".join(outside), re.IGNORECASE))
