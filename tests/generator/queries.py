"""Statements: SELECT with its clauses, joins, subqueries, CTEs, grouping sets, set operations and windows.

`statement(seed, number)` is a pure function. What it gives is mostly valid, and its answer is decided: LIMIT stands only behind an
order by all columns, and functions that see the order of rows get a decided one.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from random import Random

from tests.generator.dress import dressed
from tests.generator.expressions import SQL_TYPES, Column, Expressions, Mix, Sight
from tests.generator.productions import KINDS, LITERALS
from tests.generator.tables import SCHEMA, STREAMS, WINDOWS

_KINDS = {"DECIMAL(10,2)": "decimal", "DECIMAL(12,4)": "decimal", "DECIMAL(38,6)": "decimal"}
_WIDE = 0.2  # statements with functions that only Spark knows
_UNNAMED = 0.15  # columns without an alias
_MERGED = 0.5  # columns of USING and NATURAL that are named without their table
_COLUMN_LISTS = 0.05  # tables whose columns get other names
_DRESSED = 0.2  # statements with comments and the like
_SHADOWS = 0.2  # CTEs that have the name of a table
_TWICE = 0.3  # joins with a relation of a name that is taken, which chance made
_WINDOWED = 0.5  # streaming tables that are seen through a window
_LATERALS = 0.04
_PIVOTS = 0.01
_GROUP_WINDOWS = 0.02
_OF_TABLES = 0.05  # queries of all columns of some of their tables
_STARS = 0.04  # queries without groups that have `*` in a call
_STAR_CALLS = (("to_json(struct(*))", "string"), ("hash(*)", "int"), ("size(array(to_json(struct(*))))", "int"))
_SIZES = (1, 1, 2, 2, 3)


@dataclass(frozen=True)
class Statement:
    sql: str
    ordered: bool
    """Whether the order of rows is decided."""
    plain: str = ""
    """The statement as Spark knows it, if that is another text."""

    @property
    def for_spark(self) -> str:
        """The statement with what windows show in their places."""
        text = self.plain or self.sql
        for window, shown in WINDOWS.items():
            text = text.replace(window, shown)
        return text


@dataclass(frozen=True)
class Source:
    """A relation in FROM: its text, its name, its columns."""

    text: str
    name: str
    columns: tuple[tuple[str, str], ...]  # name and kind
    unique: tuple[str, ...] = ()
    hidden: str = ""
    """The time of a window: it can be named, and `*` does not show it."""


@dataclass(frozen=True)
class Output:
    text: str
    columns: tuple[tuple[str, str], ...]
    ordered: bool = False


def statement(seed: int, number: int) -> Statement:
    """The statement of a number."""
    made = _Statements(Random(f"{seed}:{number}"))
    output = made.query(2, top=True)
    if made.rng.random() < _DRESSED:
        return Statement(dressed(output.text, made.rng), output.ordered, output.text)
    return Statement(output.text, output.ordered)


class _Statements:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.mix = Mix(
            wide=rng.random() < _WIDE, wrong=rng.choice((0.0, 0.0, 0.0, 0.02)), nulls=rng.choice((0.02, 0.06))
        )
        self.make = Expressions(rng, self.mix, self.scalar_query, self.condition_query)
        self.names = 0
        self.ctes: list[Source] = []
        self.extreme = rng.random() < 0.15
        self.depth = rng.choice(_SIZES)

    def fresh(self, prefix: str = "t") -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # -- queries --------------------------------------------------------------------------------------------------------

    def query(self, depth: int, *, top: bool = False) -> Output:
        rng = self.rng
        before = list(self.ctes)
        with_ = ""
        if rng.random() < (0.15 if top else 0.04) and depth > 0:
            parts = []
            for _ in range(rng.choice((1, 1, 2))):
                inner, name = self.query(depth - 1), self.cte_name()
                given, listed = inner.columns, ""
                if rng.random() < 0.15:
                    given = tuple((f"{each}_", kind) for each, kind in given)
                    listed = f"({', '.join(each for each, _ in given)})"
                parts.append(f"{name}{listed} AS ({inner.text})")
                self.ctes.append(Source(name, name, given))
            with_ = f"WITH {', '.join(parts)} "
        made = self.set_operation(depth - 1) if depth > 0 and rng.random() < 0.14 else self.select(depth, top=top)
        text, ordered = with_ + made.text, False
        if top or rng.random() < 0.1:
            text, ordered = self.order(text, made)
        self.ctes = before
        return Output(text, made.columns, ordered)

    def cte_name(self) -> str:
        """A new name, or that of a table, which is then not seen behind it."""
        name = self.rng.choice(("a", "b", "c")) if self.rng.random() < _SHADOWS else self.fresh("c")
        return self.fresh("c") if name in [each.name for each in self.ctes] else name

    def order(self, text: str, made: Output) -> tuple[str, bool]:
        """Perhaps an ORDER BY over all columns, which decides the order, and then perhaps a LIMIT."""
        rng = self.rng
        if rng.random() > 0.3 or not made.columns or any(kind in ("map", "struct") for _, kind in made.columns):
            return text, False
        ways = ("", "", " DESC", " ASC", " NULLS LAST", " DESC NULLS FIRST")
        names = [name for name, _ in made.columns]
        by_name = len(set(names)) == len(names) and rng.random() < 0.5
        keys = [f"{name if by_name else i}{rng.choice(ways)}" for i, name in enumerate(names, 1)]
        if rng.random() < 0.5:
            rng.shuffle(keys)
        text += f" ORDER BY {', '.join(keys)}"
        if rng.random() < 0.5:
            text += f" LIMIT {rng.choice((0, 1, 2, 3, 5, 100))}"
            if rng.random() < 0.3:
                text += f" OFFSET {rng.choice((0, 1, 2))}"
        return text, True

    def set_operation(self, depth: int) -> Output:
        rng = self.rng
        kinds = [rng.choice([k for k in KINDS if k != "float"]) for _ in range(rng.choice((1, 2, 2, 3)))]
        sides = [self.select(depth, kinds) for _ in range(rng.choice((2, 2, 2, 3)))]
        words = ("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL", "MINUS", "UNION DISTINCT")
        text = sides[0].text
        for side in sides[1:]:
            right = f"({side.text})" if rng.random() < 0.3 else side.text
            text = f"{text} {rng.choice(words)} {right}"
        return Output(text, sides[0].columns)

    def select(self, depth: int, kinds: list[str] | None = None, *, top: bool = False) -> Output:
        rng = self.rng
        if kinds is None and rng.random() < 0.04:
            return self.values(alone=top)
        if top and rng.random() < _PIVOTS:
            return Output(self.pivot(), ())
        if top and rng.random() < _GROUP_WINDOWS:
            return Output(self.group_windows(), ())
        source, sight, star = self.source(depth)
        sight = replace(sight, queries=depth > 0)
        where = f" WHERE {self.condition(sight)}" if rng.random() < 0.5 else ""
        group = having = ""
        if source and rng.random() < 0.35:
            group, sight = self.group(sight)
            if rng.random() < 0.3:
                having = f" HAVING {self.make.value('boolean', replace(sight, queries=False), self.depth)}"
        elif source and rng.random() < 0.2:
            sight = replace(sight, windows=True)
            if rng.random() < 0.2 and sight.unique:
                sight = replace(sight, named_window="w")
                having = f" WINDOW w AS (PARTITION BY {sight.columns[0].text} ORDER BY {', '.join(sight.unique)})"
            elif rng.random() < 0.2 and sight.unique:
                key = rng.choice(sight.columns).text
                having = f" QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {', '.join(sight.unique)}) <= {rng.choice('12')}"
        elif kinds is None and source and (star or top) and rng.random() < 0.2:
            distinct = rng.choice(("", "", "DISTINCT "))
            return self.starred(star, f"SELECT {distinct}", f"{source}{where}")
        relations = sorted({column.text.partition(".")[0] for column in sight.columns if "." in column.text})
        if kinds is None and top and relations and not group and rng.random() < _OF_TABLES:
            chosen = rng.sample(relations, rng.choice((1, len(relations))))
            return Output(f"SELECT {', '.join(f'{name}.*' for name in chosen)}{source}{where}{having}", ())
        wanted = kinds if kinds is not None else [self.wanted(sight) for _ in range(rng.choice((1, 2, 2, 3, 4)))]
        items, columns = [], []
        if kinds is None and group and not sight.sets and rng.random() < 0.25:
            group = self.keys_first(sight, items, columns)
        for kind in wanted:
            text = self.make.value(kind, sight, self.depth)
            name = self.fresh("o")
            if kinds is None and rng.random() < _UNNAMED:
                items.append(text)
            else:
                items.append(f"{text} {rng.choice(('AS ', 'AS ', ''))}{name}")
            columns.append((name, kind))
        if kinds is None and source and not group and rng.random() < _STARS:
            name = self.fresh("o")
            call, kind = rng.choice(_STAR_CALLS if sight.grouped is None else (("count(DISTINCT *)", "bigint"),))
            items.append(f"{call} AS {name}")
            columns.append((name, kind))
        distinct = rng.choice(("DISTINCT ", "", "", "", "", "", ""))
        return Output(f"SELECT {distinct}{', '.join(items)}{source}{where}{group}{having}", tuple(columns))

    def keys_first(self, sight: Sight, items: list[str], columns: list[tuple[str, str]]) -> str:
        """Put the keys of groups first among the outputs; the GROUP BY that names them there."""
        names = [self.fresh("o") for _ in sight.columns]
        items += [f"{key.text} AS {name}" for key, name in zip(sight.columns, names, strict=True)]
        columns += [(name, key.kind) for key, name in zip(sight.columns, names, strict=True)]
        places = [str(i) for i, _ in enumerate(names, 1)]
        return f" GROUP BY {', '.join(self.rng.choice((places, names, ['ALL'])))}"

    def starred(self, star: tuple[tuple[str, str], ...], select: str, rest: str) -> Output:
        """A query of `*`, or of all columns but one."""
        if self.rng.random() < 0.7 or len(star) < 2:
            return Output(f"{select}*{rest}", star)
        left_out = self.rng.choice(star)[0]
        return Output(f"{select}* EXCEPT ({left_out}){rest}", tuple(each for each in star if each[0] != left_out))

    def pivot(self) -> str:
        """A query whose columns only Spark knows."""
        table, key, values, more = self.rng.choice(
            (("b", "k", "1, 2", "q"), ("a", "g", "'x', 'y' AS why", "n"), ("c [UNBOUNDED]", "s", "'x'", "k"))
        )
        if self.ctes:  # one may have the name of a table
            table, key, values, more = "x", "i", "0, 1", "n"
        agg = self.rng.choice((f"sum({more})", f"max({more}) AS m, count({more}) AS n"))
        given = table if self.rng.random() < 0.3 else f"(SELECT {key}, {more} FROM {table})"
        if self.rng.random() < 0.3:
            return f"SELECT * FROM {table} UNPIVOT (val FOR name IN (id, k))"
        return f"SELECT * FROM {given} PIVOT ({agg} FOR {key} IN ({values}))"

    def group_windows(self) -> str:
        """A query that is grouped by windows of time."""
        rng = self.rng
        name = rng.choice(("window", "window", "session_window"))
        lengths = (
            ["'1 day'"]
            if name == "session_window"
            else rng.choice((["'1 day'"], ["'400 days'"], ["'12 hours'", "'4 hours'"]))
        )
        if name == "window" and rng.random() < 0.3:
            lengths = [*lengths, *lengths[-1:], "'90 minutes'"][-3:]
        alias = rng.choice(("a", "t"))
        keys = rng.sample(("g", "f", "k", f"{alias}.n > 5"), rng.choice((0, 0, 1, 1, 2)))
        call = f"{name}({rng.choice((alias + '.', ''))}at, {', '.join(lengths)})"
        where = rng.choice(("", "", " WHERE id > 2", " WHERE FALSE", " WHERE at > TIMESTAMP '2001-01-01'"))
        group = [*keys, call]
        rng.shuffle(group)
        rest = f" FROM a {alias}{where} GROUP BY {', '.join(group)}".replace("a a", "a")
        if name == "window" and rng.random() < 0.2:
            return f"SELECT window_time(window) AS t, window.start AS s, c FROM (SELECT window, count(*) AS c{rest})"
        items = [
            *keys,
            f"{name}.start",
            f"{name}.end AS e",
            "count(*)",
            "sum(n) AS n",
            "max(id)",
            "count(DISTINCT k) AS k",
        ]
        items = rng.sample(items, rng.choice((2, 3, 4)))
        having = rng.choice(("", "", "", " HAVING count(*) > 1", f" HAVING {name}.start > DATE '2001-01-01'"))
        return f"SELECT {', '.join(items)}{rest}{having}"

    def condition(self, sight: Sight) -> str:
        """A condition. Spark takes `FROM t WHERE (x)` for a table called WHERE with a column x: such a one loses its brackets."""
        return re.sub(r"^\((\w+)\)$", r"\1", self.make.value("boolean", sight, self.depth))

    def wanted(self, sight: Sight) -> str:
        if sight.sets and self.rng.random() < 0.2:
            return "tinyint"
        if self.mix.wide and self.rng.random() < 0.15:
            return self.rng.choice(("array", "sarray", "map", "struct", "binary"))
        return self.make.kind(KINDS, sight)

    def values(self, *, alone: bool) -> Output:
        rng = self.rng
        kinds = [rng.choice([k for k in KINDS if k in LITERALS]) for _ in range(rng.choice((1, 2, 3)))]
        lines = []
        for _ in range(rng.choice((1, 2, 3))):
            row = [rng.choice(LITERALS[k]) if rng.random() < 0.9 else "NULL" for k in kinds]
            lines.append(f"({', '.join(row)})")
        if alone and rng.random() < 0.3:
            return Output(f"VALUES {', '.join(lines)}", tuple((f"col{i}", kind) for i, kind in enumerate(kinds, 1)))
        if alone and rng.random() < 0.1:
            return Output(
                "TABLE b", tuple((name, _KINDS.get(kind, kind.lower())) for name, kind in SCHEMA["b"].items())
            )
        names = [self.fresh("o") for _ in kinds]
        text = f"SELECT * FROM VALUES {', '.join(lines)} AS {self.fresh()}({', '.join(names)})"
        return Output(text, tuple(zip(names, kinds, strict=True)))

    # -- FROM -----------------------------------------------------------------------------------------------------------

    def source(self, depth: int) -> tuple[str, Sight, tuple[tuple[str, str], ...]]:
        """FROM with its joins, what can be seen through it, and what `*` shows (empty if that is not worked out)."""
        rng = self.rng
        if rng.random() < 0.04:
            return "", Sight(), ()
        first = self.relation(depth)
        seen, merged = [first], set[str]()
        text = f" FROM {first.text}"
        star: tuple[tuple[str, str], ...] = first.columns
        hidden = ""  # a name that two relations have
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
            right = self.relation(depth - 1)
            if any(s.name.lower() == right.name.lower() for s in seen):
                if rng.random() > _TWICE:
                    continue
                text, hidden, star = f"{text}, {right.text}", right.name, ()
                break
            text, kept = self.join(text, seen, merged, right)
            star = ()
            if kept:
                seen.append(right)
        columns = []
        counts: dict[str, int] = {}
        for each in seen:
            for name in (*(name for name, _ in each.columns), each.hidden):
                counts[name] = counts.get(name, 0) + 1
        for each in seen:
            for name, kind in each.columns if each.name != hidden else ():
                bare = counts[name] == 1 and rng.random() < 0.6
                if counts[name] > 1 and name in merged:
                    bare = rng.random() < _MERGED
                columns.append(Column(name if bare else f"{each.name}.{name}", kind))
        unique = tuple(f"{each.name}.{u}" for each in seen for u in each.unique)
        if any(not each.unique for each in seen) or (merged & {"id"}) or hidden:
            unique = ()
        if columns and not hidden and rng.random() < _LATERALS:
            return self.lateral(text, Sight(tuple(columns)))
        return text, Sight(tuple(columns), unique), star

    def lateral(self, text: str, sight: Sight) -> tuple[str, Sight, tuple[tuple[str, str], ...]]:
        """FROM with rows made from each of its rows."""
        view, column = self.fresh(), self.fresh("u")
        one, other = self.make.value("int", sight, 0), self.make.value("int", sight, 0)
        more = Column(f"{view}.{column}", "int")
        if self.rng.random() < 0.3:
            text += f", LATERAL (SELECT {one} AS {column}) {view}"
        else:
            outer = self.rng.choice(("", "OUTER "))
            text += f" LATERAL VIEW {outer}explode(array({one}, {other})) {view} AS {column}"
        return text, Sight((*sight.columns, more)), ()

    def relation(self, depth: int) -> Source:
        rng = self.rng
        chance = rng.random()
        if self.ctes and chance < 0.4:
            cte = rng.choice(self.ctes)
            name = self.fresh()
            text = cte.text.upper() if rng.random() < 0.1 else cte.text
            return Source(f"{text} {name}", name, cte.columns)
        if depth > 0 and chance > 0.85:
            inner, name = self.query(depth - 1), self.fresh()
            return Source(f"({inner.text}) {rng.choice(('AS ', ''))}{name}", name, inner.columns)
        hidden = ""
        table = (
            rng.choice(("x", "x", "a", "e"))
            if self.extreme
            else rng.choice(("a", "a", "a", "b", "b", "b", "c", "c", "e"))
        )
        if self.mix.wide and chance > 0.8:
            name = self.fresh()
            return Source(
                f"(SELECT id FROM range({rng.choice((0, 1, 3))})) AS {name}", name, (("id", "bigint"),), ("id",)
            )
        shadow = next((each for each in self.ctes if each.name == table), None)
        if shadow is not None:
            return shadow
        alias = self.fresh() if rng.random() < 0.7 else ""
        columns = tuple((name, _KINDS.get(kind, kind.lower())) for name, kind in SCHEMA[table].items())
        if table in STREAMS and rng.random() < _WINDOWED:
            hidden = STREAMS[table]
            columns = tuple(each for each in columns if each[0] != hidden)
            table = rng.choice([window for window, shown in WINDOWS.items() if bool(alias) != (" AS " in shown)])
        text = f"{table} {rng.choice(('AS ', ''))}{alias}" if alias else table
        if alias and rng.random() < _COLUMN_LISTS:
            columns = tuple((f"{name}_", kind) for name, kind in columns)
            listed = ", ".join(name for name, _ in columns)
            return Source(f"{text}({listed})", alias, columns, ("id_",))
        return Source(text, alias or table.partition(" ")[0], columns, ("id",), hidden)

    def join(self, text: str, seen: list[Source], merged: set[str], right: Source) -> tuple[str, bool]:
        """FROM with one more join, and whether its columns can be seen behind it."""
        rng = self.rng
        words = (
            "JOIN",
            "INNER JOIN",
            "LEFT JOIN",
            "LEFT OUTER JOIN",
            "RIGHT JOIN",
            "FULL JOIN",
            "FULL OUTER JOIN",
            "LEFT SEMI JOIN",
            "LEFT ANTI JOIN",
            "SEMI JOIN",
            "ANTI JOIN",
        )
        word = rng.choice(words)
        chance = rng.random()
        if chance < 0.08:
            return f"{text}{rng.choice((', ', ' CROSS JOIN '))}{right.text}", True
        before = Counter(name for s in seen for name, _ in s.columns)
        shared = [name for name, _ in right.columns if before[name] == 1 or (before[name] and name in merged)]
        kept = "SEMI" not in word and "ANTI" not in word
        if shared and chance < 0.35:
            if chance < 0.15:
                merged.update(shared)
                return f"{text} NATURAL {word if kept else 'JOIN'} {right.text}", True
            keys = rng.sample(shared, rng.choice((1, 1, min(2, len(shared)))))
            if kept:
                merged.update(keys)
            return f"{text} {word} {right.text} USING ({', '.join(keys)})", kept
        both = [(s, name, kind) for s in seen for name, kind in s.columns]
        pairs = [
            f"{s.name}.{name} = {right.name}.{other}"
            for s, name, kind in both
            for other, its in right.columns
            if its == kind and name not in merged
        ]
        on = rng.choice(pairs) if pairs else "1 = 1"
        if rng.random() < 0.4:
            sight = Sight(
                tuple(Column(f"{s.name}.{n}", k) for s in (*seen, right) for n, k in s.columns if n not in merged)
            )
            on = f"{on} {rng.choice(('AND', 'AND', 'OR'))} {self.make.value('boolean', sight, 1)}"
            on = self.make.value("boolean", sight, 1) if rng.random() < 0.2 else on
        return f"{text} {word} {right.text} ON {on}", kept

    # -- GROUP BY -------------------------------------------------------------------------------------------------------

    def group(self, sight: Sight) -> tuple[str, Sight]:
        rng = self.rng
        inside = replace(sight, queries=False, windows=False)
        plain = replace(sight, unique=())
        if rng.random() < 0.15:
            return "", Sight(grouped=plain, queries=False)
        keys: list[Column] = []
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            kind = self.make.kind(KINDS, sight)
            text = self.make.value(kind, inside, 0 if rng.random() < 0.7 else 1)
            if text not in [key.text for key in keys] and not _is_constant(text):
                keys.append(Column(text, kind))
        if not keys:
            return "", Sight(grouped=plain)
        listed = ", ".join(key.text for key in keys)
        grouped = Sight(tuple(keys), tuple(key.text for key in keys), plain, windows=rng.random() < 0.15)
        chance = rng.random()
        if chance < 0.65:
            return f" GROUP BY {listed}", grouped
        grouped = replace(grouped, unique=(), windows=False, sets=tuple(keys))
        if chance < 0.75:
            return f" GROUP BY ROLLUP ({listed})", grouped
        if chance < 0.83:
            return f" GROUP BY CUBE ({listed})", grouped
        if chance < 0.88:
            return f" GROUP BY {listed} WITH {rng.choice(('ROLLUP', 'CUBE'))}", grouped
        parts = []
        for _ in range(rng.choice((1, 2, 3))):
            chosen = [key.text for key in keys if rng.random() < 0.6]
            parts.append(f"({', '.join(chosen)})")
        parts.append(f"({listed})")
        return f" GROUP BY GROUPING SETS ({', '.join(parts)})", grouped

    # -- subqueries -----------------------------------------------------------------------------------------------------

    def scalar_query(self, kind: str, sight: Sight) -> str:
        """A query of at most one row: an aggregate, perhaps of the rows that belong to a row outside."""
        rng = self.rng
        table = self.relation(0)
        columns = tuple(Column(f"{table.name}.{name}", its) for name, its in table.columns)
        made = self.make.aggregate(kind, Sight(columns), 0)
        if made is None:
            made = f"max({self.make.value(kind, Sight(columns), 0)})"
        where = self.correlated(table, sight) if rng.random() < 0.5 else ""
        return f"(SELECT {made} FROM {table.text}{where})"

    def condition_query(self, sight: Sight) -> str:
        rng = self.rng
        table = self.relation(0)
        columns = tuple(Column(f"{table.name}.{name}", its) for name, its in table.columns)
        kind = self.make.kind(KINDS, Sight(columns))
        where = self.correlated(table, sight) if rng.random() < 0.6 else ""
        negated = rng.choice(("", "NOT "))
        if rng.random() < 0.5:
            return f"({negated}EXISTS (SELECT {rng.choice(('1', '*'))} FROM {table.text}{where}))"
        outside = self.make.value(kind, replace(sight, queries=False, windows=False), 0)
        return f"({outside} {negated}IN (SELECT {self.make.value(kind, Sight(columns), 0)} FROM {table.text}{where}))"

    def correlated(self, table: Source, sight: Sight) -> str:
        pairs = [
            f"{table.name}.{name} {self.rng.choice(('=', '=', '=', '<', '<=>'))} {outer.text}"
            for name, kind in table.columns
            for outer in sight.columns
            if outer.kind == kind and "." in outer.text
        ]
        if not pairs:
            return ""
        more = f" AND {table.name}.id > 1" if "id" in dict(table.columns) and self.rng.random() < 0.3 else ""
        return f" WHERE {self.rng.choice(pairs)}{more}"


def _is_constant(text: str) -> bool:
    return text == "NULL" or text.startswith("CAST(NULL") or any(text in each for each in LITERALS.values())


assert set(SQL_TYPES) == set(KINDS)
