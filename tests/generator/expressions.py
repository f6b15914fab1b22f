"""Expressions of a wanted kind over the columns that can be seen, out of the productions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.generator.productions import (
    AGGREGATES,
    CHOICES,
    CORE,
    INTEGERS,
    KINDS,
    LITERALS,
    NUMBERS,
    WIDE,
    WIDE_AGGREGATES,
)

NUMBERED = ("row_number()", "ntile(3)", "ntile(2)")
_BARE = 0.15  # how often an operation has no brackets
_OPERATION = re.compile(r"\([^()]*\)$")
_HOLE = re.compile(r"\{(\w+)(!?)\}")
SQL_TYPES = {
    "string": "STRING",
    "decimal": "DECIMAL(12,2)",
    **{k: k.upper() for k in KINDS if k not in ("string", "decimal")},
}


@dataclass(frozen=True)
class Column:
    """Something that can stand in an expression as it is: a column, or a key of GROUP BY."""

    text: str
    kind: str


@dataclass(frozen=True)
class Sight:
    """What an expression may use."""

    columns: tuple[Column, ...] = ()
    unique: tuple[str, ...] = ()
    """Columns whose values together are unique, if any: an order by them is decided."""
    grouped: Sight | None = None
    """In a query with groups: what aggregates see."""
    windows: bool = False
    queries: bool = False
    """Whether a subquery may stand here."""
    named_window: str = ""
    sets: tuple[Column, ...] = ()
    """Keys of grouping sets, which GROUPING may ask about."""


@dataclass
class Mix:
    """How one statement is made."""

    wide: bool = False
    literals: float = 0.25
    nulls: float = 0.05
    wrong: float = 0.01
    """How often a value of another kind stands where one is asked for."""


Subquery = Callable[[str, Sight], str]


@dataclass
class Expressions:
    rng: Random
    mix: Mix
    scalar_query: Subquery
    """Makes a query of one column of a kind, to stand as a value."""
    condition_query: Callable[[Sight], str]
    """Makes EXISTS or IN with a query."""
    _busy: int = field(default=0)

    def value(self, kind: str, sight: Sight, depth: int) -> str:
        rng = self.rng
        if kind in ("num", "any"):
            kind = self.kind(NUMBERS if kind == "num" else KINDS, sight)
        if rng.random() < self.mix.wrong:
            kind = rng.choice(KINDS)
        if kind == "unique":
            return rng.choice(sight.unique) if len(sight.unique) == 1 else "1"
        chance = rng.random()
        if depth <= 0 or chance < 0.3:
            return self.leaf(kind, sight, depth)
        if sight.sets and kind in ("tinyint", "bigint", "int") and chance < 0.45:
            return rng.choice((f"grouping({rng.choice(sight.sets).text})", "grouping_id()"))
        if sight.grouped is not None and chance < 0.75:
            found = self.aggregate(kind, sight.grouped, depth - 1)
            if found is not None:
                return found
        if sight.windows and chance < 0.5:
            found = self.window(kind, sight, depth - 1)
            if found is not None:
                return found
        if sight.queries and chance < 0.36 and kind in SQL_TYPES:
            return self.condition_query(sight) if kind == "boolean" else self.scalar_query(kind, sight)
        return self.compound(kind, sight, depth)

    def kind(self, among: Sequence[str], sight: Sight) -> str:
        """A kind, mostly one that a column has."""
        seen = [c.kind for c in (*sight.columns, *(sight.grouped.columns if sight.grouped else ())) if c.kind in among]
        common = [k for k in among if k != "float"]
        if not self.mix.wide:  # DuckDB is hardly proved for it
            seen = [k for k in seen if k != "float"]
        return self.rng.choice(seen) if seen and self.rng.random() < 0.7 else self.rng.choice(common)

    def leaf(self, kind: str, sight: Sight, depth: int = 0) -> str:
        rng = self.rng
        if rng.random() < self.mix.nulls:
            return "NULL" if rng.random() < 0.15 else f"CAST(NULL AS {SQL_TYPES.get(kind, 'INT')})"
        seen = [c.text for c in sight.columns if c.kind == kind]
        if not seen and kind == "bigint":
            seen = [c.text for c in sight.columns if c.kind in INTEGERS]
        if seen and rng.random() > self.mix.literals:
            return rng.choice(seen)
        if sight.grouped is not None:
            found = self.aggregate(kind, sight.grouped, 0)
            if found is not None and rng.random() < 0.6:
                return found
        return self.literal(kind, sight)

    def literal(self, kind: str, sight: Sight) -> str:
        if kind in LITERALS:
            return self.rng.choice(LITERALS[kind])
        return self.fill(WIDE[kind][0], kind, replace(sight, windows=False, queries=False), 0)

    def compound(self, kind: str, sight: Sight, depth: int) -> str:
        rng = self.rng
        texts: tuple[str, ...] = CORE.get(kind, ())
        if kind not in CORE or (self.mix.wide and kind in WIDE and rng.random() < 0.5):
            texts = WIDE[kind]
        elif kind in SQL_TYPES and rng.random() < 0.2:
            texts = CHOICES
        return self.fill(rng.choice(texts), kind, sight, depth - 1)

    def fill(self, text: str, kind: str, sight: Sight, depth: int) -> str:
        one = self.kind(KINDS, sight)
        if self.rng.random() < _BARE and _OPERATION.match(text):
            text = text[1:-1]

        def hole(found: re.Match[str]) -> str:
            wanted = {"T": kind, "U": one}.get(found[1], found[1])
            if found[2]:
                wanted = self.kind(NUMBERS if wanted == "num" else KINDS, sight) if wanted in ("num", "any") else wanted
                return self.rng.choice(LITERALS[wanted]) if wanted in LITERALS else self.literal(wanted, sight)
            return self.value(wanted, sight, depth)

        parts, place = [], 0
        for found in _HOLE.finditer(text):
            parts += [text[place : found.start()], hole(found)]
            place = found.end()
        parts.append(text[place:])
        # Only the text's own braces are doubled.
        return "".join(p.replace("{{", "{").replace("}}", "}") if i % 2 == 0 else p for i, p in enumerate(parts))

    def aggregate(self, kind: str, sight: Sight, depth: int) -> str | None:
        rng = self.rng
        texts = AGGREGATES.get(kind, ())
        if self.mix.wide and kind in WIDE_AGGREGATES and rng.random() < 0.5:
            texts = WIDE_AGGREGATES[kind]
        if not texts:
            return None
        inside = replace(sight, windows=False, queries=False, grouped=None)
        made = self.fill(rng.choice(texts), kind, inside, depth)
        if rng.random() < 0.1 and "WITHIN" not in made:
            made += f" FILTER (WHERE {self.value('boolean', inside, 1)})"
        return made

    def window(self, kind: str, sight: Sight, depth: int) -> str | None:
        """A window function. One whose answer hangs on the order of equals gets a decided order."""
        rng = self.rng
        inside = replace(sight, windows=False, queries=False)
        total = ", ".join(f"{u} {rng.choice(('', 'DESC', 'ASC'))}".strip() for u in sight.unique)
        ranks = {"int": ("rank()", "dense_rank()"), "double": ("percent_rank()", "cume_dist()")}
        orders = [f"{self.value('any', inside, 1)}{rng.choice(('', ' DESC', ' ASC NULLS LAST', ' DESC NULLS FIRST'))}"]
        part = ""
        if rng.random() < 0.6:
            part = "PARTITION BY " + ", ".join(self.value("any", inside, 1) for _ in range(rng.choice((1, 1, 2)))) + " "
        choice = rng.random()
        if kind in ranks and choice < 0.4:
            return f"{rng.choice(ranks[kind])} OVER ({part}ORDER BY {', '.join(orders)})"
        if choice < 0.7:
            aggregate = self.fill(rng.choice(AGGREGATES[kind]), kind, inside, 0) if kind in AGGREGATES else None
            if aggregate is None or "DISTINCT" in aggregate:
                return None
            if sight.named_window and rng.random() < 0.5:
                return f"{aggregate} OVER {sight.named_window}"
            if rng.random() < 0.4:
                return f"{aggregate} OVER ({part.strip()})"
            if rng.random() < 0.5 or not total:
                return f"{aggregate} OVER ({part}ORDER BY {', '.join(orders)})"
            return f"{aggregate} OVER ({part}ORDER BY {total} {self.frame()})"
        if not total:
            return None
        over = f"OVER ({part}ORDER BY {', '.join([*orders[: rng.randrange(2)], total])})"
        if kind in ("int", "bigint") and choice < 0.9:
            return f"{rng.choice(NUMBERED)} {over}"
        argument = self.value(kind, inside, 0)
        picks = [
            f"lag({argument})", f"lead({argument}, 2)", f"lag({argument}, 1, {argument})", f"lead({argument}, 0)",
            f"first_value({argument})", f"last_value({argument})", f"nth_value({argument}, 2)", f"first({argument})",
            f"lag({argument}) IGNORE NULLS", f"first_value({argument}) IGNORE NULLS", f"last({argument})",
        ]  # fmt: skip
        picked = rng.choice(picks)
        if not picked.startswith(("lag", "lead")) and rng.random() < 0.5:
            over = f"OVER ({part}ORDER BY {total} {self.frame()})"
        return f"{picked} {over}"

    def frame(self) -> str:
        starts = ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW")
        ends = ("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING", "2 FOLLOWING")
        return f"ROWS BETWEEN {self.rng.choice(starts)} AND {self.rng.choice(ends)}"
