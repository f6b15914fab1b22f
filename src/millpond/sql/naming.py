"""Column names: those that Spark itself would give, on both engines.

Spark names an unnamed output after its expression (`sum(spd)`, `(a + 1)`, `count(1)`: see `spark_names`) and keeps the
spelling of the query (`SELECT VID` gives `VID`). sqlglot's `qualify` would call it `_col_0` and lower-case it. So:

- `name_outputs`, before `qualify`, writes an alias behind every unnamed output;
- `spell_outputs`, after `qualify`, puts the spelling back on the names the user will see;
- `only_spark_names`, when types are known, says whether there is a name that only Spark can give. Such a query goes to Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from millpond.sql.literal_names import NoName
from millpond.sql.moments import MOMENT, Moments
from millpond.sql.spark_names import CALL, DATED, describe

_SPELLING = "spelling"
_MADE_UP = "made_up"  # in the meta of a name that nobody wrote: 'sure', or 'unsure' if Spark may choose another
_ASIDE = "aside"  # in the meta of such a name: words in its expression that may be aliases of other outputs


def name_outputs(query: exp.Expr, moments: Mapping[str, Mapping[str, str]] | None = None) -> exp.Expr:
    """Give every unnamed output of every SELECT in `query` a name, in place; run it on both engines' trees. `moments` are
    those columns of tables that are dates or timestamps, by table, each with the one it is.

    >>> from millpond.sql.dialect import read_tree, tokenize
    >>> text = "SELECT VID, count(*), spd + 1 FROM p"
    >>> name_outputs(read_tree(text, tokenize(text))).sql("spark")
    'SELECT VID AS VID, COUNT(*) AS `count(1)`, spd + 1 AS `(spd + 1)` FROM p'
    """
    for node in list(query.find_all(exp.Select, exp.Values)):
        if isinstance(node, exp.Values):
            _name_values(node)
            continue
        if moments:
            _note_moments(node, moments)
        aliases: set[str] = set()
        for place, projection in enumerate(node.expressions, 1):
            if isinstance(projection, exp.Alias):
                identifier = projection.args["alias"]
                identifier.meta[_SPELLING] = identifier.name
                aliases.add(identifier.name.lower())
            elif not projection.is_star and not isinstance(projection, exp.Aliases):
                identifier = _made_up(projection, place)
                identifier.meta[_ASIDE] = _aside(projection, aliases)
                projection.replace(exp.Alias(this=projection.copy(), alias=identifier))
    return query


def _note_moments(select: exp.Expr, moments: Mapping[str, Mapping[str, str]]) -> None:
    source = select.args.get("from_")
    found = [source.this, *(join.this for join in select.args.get("joins") or ())] if source is not None else []
    tables = {table.alias_or_name.lower(): moments[table.name] for table in found if table.name in moments}
    if not tables:
        return
    for projection in select.expressions:
        for column in projection.find_all(exp.Column):
            of = [tables.get(column.table.lower(), {})] if column.table else list(tables.values())
            kind = next((each[column.name.lower()] for each in of if column.name.lower() in each), None)
            if kind is not None and column.parent_select is select:
                column.meta[MOMENT] = kind


def _made_up(projection: exp.Expr, place: int) -> exp.Identifier:
    made_up = "sure"
    try:
        name = describe(_under_cast(projection))
    except (NoName, RecursionError):
        name = ""
    if not name:
        made_up = "unsure"
        name = f"col{place}" if projection.find(exp.Query) is not None else projection.sql("spark", comments=False)
    plain = name.isidentifier() and name.isascii()
    identifier = exp.to_identifier(name, quoted=not plain)
    identifier.meta.update({_SPELLING: name, _MADE_UP: made_up})
    return identifier


def _under_cast(node: exp.Expr) -> exp.Expr:
    """A column lends its name to a cast of it, but not to a cast of that."""
    inner = node.unnest()
    if isinstance(inner, (exp.Cast, exp.TryCast)):
        inner = inner.this.unnest()
    return inner if isinstance(inner, exp.Column) else node


def _aside(projection: exp.Expr, aliases: set[str]) -> list[str]:
    if not aliases or isinstance(projection, exp.Column):
        return []
    found = {column.name.lower() for column in projection.find_all(exp.Column) if not column.table}
    return sorted(found & aliases)


def only_spark_names(scopes: Sequence[Scope]) -> str | None:
    """A name of an output in a resolved query that only Spark can give; None if there is none."""
    moments = Moments(scopes)
    for scope in scopes:
        select = scope.expression
        if not isinstance(select, exp.Select) or scope.is_subquery:  # nobody sees the names of a value or of an IN
            continue
        for projection in select.expressions:
            identifier = projection.args.get("alias") if isinstance(projection, exp.Alias) else None
            made_up = identifier.meta_get(_MADE_UP) if isinstance(identifier, exp.Identifier) else None
            if made_up == "unsure" or (made_up is not None and not _is_sure(projection, moments)):
                return str(projection.args["alias"].meta[_SPELLING])
    return None


def _is_sure(alias: exp.Alias, moments: Moments) -> bool:
    """Whether what a name was made of still means the same, now that types and tables are known."""
    aside = alias.args["alias"].meta_get(_ASIDE)
    if aside and not {column.name.lower() for column in alias.find_all(exp.Column)}.issuperset(aside):
        return False  # Spark writes lateralAliasReference(...)
    for node in alias.this.find_all(exp.Add, exp.Sub, exp.Query):
        if isinstance(node, exp.Query):
            if _is_correlated(node):
                return False
        elif _is_dated(node, moments) != bool(node.meta_get(DATED)) or (node.meta_get(DATED) and _in_call(node)):
            return False  # Spark writes date_add(...), or leaves out the brackets
    return True


def _is_dated(node: exp.Add | exp.Sub, moments: Moments) -> bool:
    return bool(moments.kind(node.this) or moments.kind(node.expression))


def _in_call(node: exp.Expr) -> bool:
    """Whether it is in a call, whose name was noted when types were not known."""
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Select):
        if parent.meta_get(CALL) is not None:
            return True
        parent = parent.parent
    return False


def _is_correlated(query: exp.Expr) -> bool:
    own = {source.alias_or_name for source in query.find_all(exp.Table, exp.Subquery, exp.CTE, exp.Values)}
    return any(column.table not in own for column in query.find_all(exp.Column))


def _name_values(node: exp.Values) -> None:
    """VALUES without column names: Spark calls them col1, col2, ..."""
    alias = node.args.get("alias")
    if alias is None or alias.args.get("columns") or not node.expressions:
        return
    first = node.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    alias.set("columns", [exp.to_identifier(f"col{i}") for i in range(1, width + 1)])


def spell_outputs(query: exp.Expr, tables: Mapping[str, Iterable[str]]) -> exp.Expr:
    """Put the user's spelling back on the outermost names of a qualified tree, in place.

    `tables` gives the columns of base tables as they are spelled in the catalog, by table name.
    """
    spelled = {name.lower(): {column.lower(): column for column in columns} for name, columns in tables.items()}
    root = query
    while isinstance(root, (exp.SetOperation, exp.Subquery)):
        root = root.this
    if isinstance(root, exp.Select):
        for projection, name in zip(root.expressions, _spelled_names(root, spelled, {}), strict=True):
            if isinstance(projection, exp.Alias) and projection.alias != name:
                old = projection.alias
                projection.args["alias"].set("this", name)
                _respell_order(query, old, name)
    return query


def _respell_order(query: exp.Expr, old: str, name: str) -> None:
    """ORDER BY refers to the outputs by name."""
    order = query.args.get("order")
    for column in order.find_all(exp.Column) if order is not None else ():
        if not column.table and column.name == old:
            column.this.set("this", name)


_Spelled = dict[str, dict[str, str]]


def _spelled_names(node: exp.Expr, tables: _Spelled, ctes: _Spelled) -> list[str]:
    while isinstance(node, (exp.SetOperation, exp.Subquery)):
        ctes = _with_ctes(node, tables, ctes)
        node = node.this
    if not isinstance(node, exp.Select):
        return [each.name for each in node.selects] if isinstance(node, exp.Query) else []
    ctes = _with_ctes(node, tables, ctes)
    names = []
    sources: _Spelled | None = None
    for projection in node.expressions:
        identifier = projection.args.get("alias") if isinstance(projection, exp.Alias) else None
        name = projection.alias_or_name
        if identifier is not None and _SPELLING in identifier.meta:
            name = identifier.meta[_SPELLING]
        else:  # it came out of a star: spelled as in the source it comes from
            inner = projection.unalias()
            inner = inner.this if isinstance(inner, exp.Coalesce) else inner
            if isinstance(inner, exp.Column):
                sources = sources if sources is not None else _source_names(node, tables, ctes)
                name = sources.get(inner.table, {}).get(inner.name.lower(), name)
        names.append(name)
    return names


def _with_ctes(node: exp.Expr, tables: _Spelled, ctes: _Spelled) -> _Spelled:
    clause = node.args.get("with_")
    if clause is None:
        return ctes
    ctes = dict(ctes)
    for cte in clause.expressions:
        ctes[cte.alias.lower()] = {name.lower(): name for name in _spelled_names(cte.this, tables, ctes)}
    return ctes


def _source_names(node: exp.Select, tables: _Spelled, ctes: _Spelled) -> _Spelled:
    from_ = node.args.get("from_")
    found = [from_.this] if from_ is not None else []
    found += [join.this for join in node.args.get("joins") or ()]
    names: _Spelled = {}
    for source in found:
        if isinstance(source, exp.Table):
            names[source.alias_or_name] = ctes.get(source.name.lower()) or tables.get(source.name.lower(), {})
        elif isinstance(source, exp.Subquery):
            names[source.alias_or_name] = {name.lower(): name for name in _spelled_names(source, tables, ctes)}
    return names
