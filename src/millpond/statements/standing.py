"""CREATE, INVOKE, EXPLAIN and DROP of standing queries; registering from Python.

An invocation is answered from what is kept, if that can serve it, else from scratch: the query is asked once, over the same
prefix of the rows. Both give the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millpond.catalog import StreamingTable
from millpond.durable import disk_errors
from millpond.errors import CatalogError, TypeMismatch, brief, counted
from millpond.predicate.form import Predicate
from millpond.query.as_of import check_kept, times_as_of
from millpond.query.binding.bind import bind
from millpond.query.binding.uses import Bound, Use
from millpond.query.clauses import Refusal
from millpond.query.plan import Fetched, Plan, Tiers, make_plan
from millpond.query.portions import portions
from millpond.result import Result
from millpond.sql import statements as st
from millpond.sql.parameters import check_lists, written_out
from millpond.sql.parser import read_standing
from millpond.sql.sizes import check_characters
from millpond.standing.answer import Answer, Visit
from millpond.standing.definition import StandingQuery
from millpond.standing.plan import Served, serve
from millpond.standing.prefixes import PrefixShelf
from millpond.standing.selecting import Found, Moment, Uncovered, ask_tree, select
from millpond.standing.standing import Serving
from millpond.standing.templates import predicates_of
from millpond.standing.text import bound_query, check_still_there, matching_rows, reads_of
from millpond.statements.ask import ask, deadline_of, while_it_is_there, within
from millpond.system.registry import SystemShelf, system_tables

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace


def create(workspace: Workspace, statement: st.CreateStanding) -> Result:
    workspace.own()
    registry = workspace.standing.registry
    if statement.if_not_exists and statement.name in registry:
        return Result(message=f'standing query "{statement.name}" exists already')
    query = _register(workspace, statement.name, statement.body, statement.keep, statement.sql)
    return Result(message=f'standing query "{query.name}" created')


def _register(workspace: Workspace, name: str | None, body: st.Standing, keep: str, sql: str) -> StandingQuery:
    catalog = workspace.catalog
    bound = bound_query(body, catalog, sql, system_tables(), deadline_of(workspace).check)
    query = workspace.standing.registry.register(name, body.text, keep, reads_of(bound))
    workspace.standing.remember(query, catalog, bound)
    workspace.standing.serving(query, bound)
    return query


def register(
    workspace: Workspace, text: str, parameters: Any = None, keep: str = "auto", name: str | None = None
) -> StandingQuery:
    """Register a query from Python."""
    workspace.own()
    check_keep(keep)
    if name is not None and not (isinstance(name, str) and name):
        raise TypeMismatch(f"the name of a standing query is a text, not {brief(name)}")
    check_characters(name or "", "the name of a standing query")
    with within(deadline_of(workspace)):
        text = written_out(text, parameters)
        return _register(workspace, name, read_standing(text), keep, text)


def register_each(
    workspace: Workspace, text: str, parameters: Sequence[Sequence[Any]], keep: str = "auto"
) -> list[StandingQuery]:
    """Register a query for each list of values."""
    workspace.own()
    check_keep(keep)
    if not isinstance(parameters, Sequence) or isinstance(parameters, str | bytes):
        raise TypeMismatch(
            f"many queries take a list of lists of values, not {brief(parameters)}",
            hint='Give a list for each query: [("A", 20), ("B", 40)].',
        )
    if not parameters:
        return []
    values = [_listed(each) for each in parameters]
    check_lists(text, values)
    catalog, standing = workspace.catalog, workspace.standing

    def bound_with(each: Sequence[Any]) -> Bound:
        body = read_standing(text, each)
        return bound_query(body, catalog, text, system_tables(), deadline_of(workspace).check)

    def read(each: Sequence[Any]) -> Predicate | None:
        found = serve(bound_with(each), folders)
        return found.parts[0].predicate if not isinstance(found, Refusal) and found.single else None

    folders = frozenset(t.folder for t in catalog.streaming.values())
    with within(deadline_of(workspace)):
        first = bound_with(values[0])
        served = serve(first, folders)
        predicates = predicates_of(read, values) if not isinstance(served, Refusal) and served.single else None
    queries = standing.registry.register_each(text, values, keep, reads_of(first))
    if not isinstance(served, Refusal) and keep != "nothing" and predicates is not None:
        standing.enter(queries, served, predicates)
    return queries


def _listed(values: Any) -> Sequence[Any]:
    if isinstance(values, list | tuple):
        return values
    raise TypeMismatch(
        f"the values of a query are a list or a tuple, not {brief(values)}", hint="Write ? in the text for each."
    )


def check_keep(keep: str) -> None:
    if keep not in st.KEEPS:
        raise CatalogError(
            f"what is kept of a standing query cannot be {brief(keep)}", hint=f"Use one of {', '.join(st.KEEPS)}."
        )


def drop(workspace: Workspace, statement: st.DropStanding) -> Result:
    workspace.own()
    if statement.if_exists and statement.query not in workspace.standing.registry:
        return Result(message=f"there is no standing query {statement.query}")
    query = workspace.standing.registry.find(statement.query)
    workspace.standing.registry.drop([query.number])
    return Result(message=f"standing query {query.shown} dropped")


def drop_each(workspace: Workspace, numbers: Sequence[int]) -> None:
    """Drop some queries from Python."""
    workspace.own()
    registry = workspace.standing.registry
    registry.drop([registry.find(number).number for number in numbers])


def invoke(workspace: Workspace, statement: st.Invoke) -> Answer:
    workspace.refresh()
    return answer(workspace, workspace.standing.registry.find(statement.query), statement.as_of)


def answer(
    workspace: Workspace, query: StandingQuery, as_of: int | str | None = None, visit: Visit | None = None
) -> Answer:
    """The answer as it is now, or as of an earlier time, or as it was at an earlier visit."""
    bound = understood(workspace, query)
    if visit is not None:
        for use in streams_of(bound):
            _check_visited(workspace, visit, use, query)
    prefixes = PrefixShelf(workspace, lambda: SystemShelf(workspace), streams_of(bound), visit)
    serving = workspace.standing.serving(query, bound)
    moments = moments_of(bound, prefixes, as_of)
    why = serving.served
    if not isinstance(why, Refusal):
        current = query.number if as_of is None and visit is None else None
        found = from_kept(workspace, serving, why, prefixes, moments, as_of, current)
        if isinstance(found, Uncovered) and _cover(workspace, query, serving, why, prefixes, found.low):
            found = from_kept(workspace, serving, why, prefixes, moments, as_of, current)
        if not isinstance(found, Refusal):
            return _answer(*found, bound, prefixes, moments)
        why = found
    plan = _plan(workspace, bound, prefixes, as_of)
    local = workspace.local
    if plan.rows > _MUCH:
        workspace.between_ticks()
        local = workspace.background
    return _answer(ask(workspace, plan, local), f"from scratch, because {why.reason}", bound, prefixes, moments)


def _check_visited(workspace: Workspace, visit: Visit, use: Use, query: StandingQuery) -> None:
    table = use.table
    assert isinstance(table, StreamingTable)
    if table.folder not in visit.times:
        raise TypeMismatch(
            f'the visit is of another query: standing query {query.shown} reads table "{table.name}"',
            hint="Give `visit` of an answer to this query.",
        )
    stream = workspace.stream(table.name)
    if (ahead := visit.positions[table.folder]) > stream.next_row:
        raise CatalogError(
            f'the visit is ahead of table "{table.name}"',
            detail=f"It is of {counted(ahead, 'row')}, and the table has taken {counted(stream.next_row, 'row')}.",
            hint="If the pond was restored from an older copy, ask anew with invoke().",
        )


def streams_of(bound: Bound) -> list[Use]:
    return [use for use in bound.uses.values() if isinstance(use.table, StreamingTable) and not use.rejected]


def moments_of(bound: Bound, prefixes: PrefixShelf, as_of: int | str | None) -> dict[str, Moment]:
    """When each stream is looked at. Raises if retention has deleted rows that are needed then."""
    times = {use.name: prefixes.time(use) for use in streams_of(bound)}
    ends = times_as_of(bound, as_of, times) if as_of is not None else {}
    moments = {}
    for use in streams_of(bound):
        table = use.table
        assert isinstance(table, StreamingTable)
        now = ends.get(use.name, times[use.name])
        if now is not None:
            check_kept(use, now, prefixes.now(table), prefixes.kept(use))
        moments[use.name] = Moment(now, ends.get(use.name), prefixes.position(table))
    return moments


def from_kept(
    workspace: Workspace,
    serving: Serving,
    served: Served,
    prefixes: PrefixShelf,
    moments: Mapping[str, Moment],
    as_of: int | str | None,
    current: int | None,
) -> tuple[pa.Table, str] | Refusal:
    """The answer made of what is kept and how it was made, or why it cannot be. `current` is the number of the query, if it is
    asked as of now."""
    if serving.join is not None:
        joined = serving.join.ask(prefixes.prefixes, moments, serving.bound.names)
        if not isinstance(joined, Refusal):
            return joined, "join"
    if served.aggregated is not None:
        (part,), (table,), (number,) = served.parts, serving.tables, serving.entries
        state, entry = table.state, table.state.entries.get(number)
        if entry is None:
            return Refusal("it was swapped out")
        prefix = prefixes.prefixes[part.table.folder]
        answer = ask_tree(part, entry, served.aggregated, state, prefix, moments[part.use.name])
        if isinstance(answer, Uncovered):
            return answer
        if not isinstance(answer, Refusal):
            return served.aggregated.arranged(answer, serving.bound.names), "aggregate"
    found: dict[str, Found] = {}
    for part, table, number in zip(served.parts, serving.tables, serving.entries, strict=True):
        state, prefix = table.state, prefixes.prefixes[part.table.folder]
        entry = state.entries.get(number)
        if entry is None:  # dropped meanwhile
            return Refusal("it was swapped out")
        rows = select(part, entry, state, prefix, moments[part.use.name], current)
        if isinstance(rows, Refusal):
            return rows
        found[part.use.name] = rows
    if served.plain is not None:
        (rows,) = found.values()
        return rows.newest_first(served.plain).rename_columns(list(serving.bound.names)), "plain"
    plan = _plan(workspace, serving.bound, prefixes, as_of)
    inputs = dict(plan.inputs)
    for name, rows in found.items():
        inputs[name] = Fetched(rows.table(rows.rows.schema.names))
    return ask(workspace, replace(plan, engine="duckdb", text=served.text, inputs=inputs)), "rows"


_MOST_COVERED = 100_000  # rows of the archive that are kept for one entry
_MUCH = 1_000_000  # rows: who asks for an answer that is read from more of them from scratch yields to ticks
_PORTION = 8_000_000  # rows that are looked through at a time, in some tens of milliseconds: a tick may begin meanwhile


def _cover(
    workspace: Workspace, query: StandingQuery, serving: Serving, served: Served, prefixes: PrefixShelf, low: int | None
) -> bool:
    """Find the matches of a query in the archive, from the time `low` on, and keep them if they are few. Returns whether they are
    kept now."""
    table, entry = serving.tables[0], serving.entries[0]
    if not served.single or not table.may_cover(entry, low):
        return False
    tree = matching_rows(
        read_standing(query.text, query.parameters).query, served.parts[0].table, low, _MOST_COVERED + 1
    )
    bound = bind(tree, serving.catalog, query.text, check=deadline_of(workspace).check)
    plan = make_plan(bound, prefixes, engine="duckdb", large_rows=workspace.config.large_rows)
    parts = []
    (name,) = bound.uses
    for portion in portions(plan, name, _PORTION):
        workspace.between_ticks()
        parts.append(ask(workspace, portion, workspace.background))
        if sum(part.num_rows for part in parts) > _MOST_COVERED:
            table.not_covered(entry, low)
            return False
    table.cover(entry, pa.concat_tables(parts).cast(table.state.rows.schema), low)
    return True


class HandleAccess:
    """What handles ask of a workspace (`standing.handle.Asking`)."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def answer(self, query: StandingQuery, as_of: Any, visit: Visit | None) -> Answer:
        workspace = self._workspace
        workspace.check_open()
        workspace.refresh()
        with disk_errors(workspace.folder), within(deadline_of(workspace)):
            return answer(workspace, self._known(query), _moment(as_of), visit)

    def difference(self, rows: pa.Table, without: pa.Table) -> pa.Table:
        if not rows.num_rows or not without.num_rows:
            return rows
        names = [f"c{i}" for i in range(rows.num_columns)]
        listed = ", ".join(names)
        given = rows.rename_columns(names).append_column("place", pa.array(range(rows.num_rows), pa.int64()))
        same = " AND ".join(f"g.{name} IS NOT DISTINCT FROM o.{name}" for name in names)
        text = f"""
            SELECT place FROM (SELECT *, row_number() OVER (PARTITION BY {listed} ORDER BY place) AS nth FROM given_rows) AS g
            LEFT JOIN (SELECT {listed}, count(*) AS often FROM other_rows GROUP BY {listed}) AS o ON {same}
            WHERE nth > coalesce(often, 0) ORDER BY place"""
        relations = {"given_rows": given, "other_rows": without.rename_columns(names)}
        deadline = deadline_of(self._workspace)
        return rows.take(self._workspace.local.run_over(text, relations, {}, deadline).column("place"))

    def drop(self, query: StandingQuery) -> None:
        self._workspace.check_open()
        self._workspace.own()
        self._workspace.standing.registry.drop([self._known(query).number])

    def explain(self, query: StandingQuery) -> Result:
        self._workspace.check_open()
        self._workspace.refresh()
        with within(deadline_of(self._workspace)):
            return explained(self._workspace, self._known(query))

    def _known(self, query: StandingQuery) -> StandingQuery:
        return self._workspace.standing.registry.find(query.number)


def _moment(as_of: Any) -> int | str | None:
    """A time as AS OF takes it."""
    if isinstance(as_of, datetime):
        moment = as_of if as_of.tzinfo is None else as_of.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat(sep=" ")
    if as_of is None or (isinstance(as_of, int | str) and not isinstance(as_of, bool)):
        return as_of
    raise TypeMismatch(f"{brief(as_of)} is no time", hint="Give a whole number, a text or a datetime.")


def understood(workspace: Workspace, query: StandingQuery) -> Bound:
    """A query with its names resolved; raises if what it reads is gone."""
    catalog = workspace.catalog
    check_still_there(query, catalog)
    known = workspace.standing.bound.get(query.number)
    if known is not None and known[0] is catalog:
        return known[1]
    body = read_standing(query.text, query.parameters)
    bound = bound_query(body, catalog, query.text, system_tables(), deadline_of(workspace).check)
    workspace.standing.remember(query, catalog, bound)
    return bound


def _plan(workspace: Workspace, bound: Bound, prefixes: PrefixShelf, as_of: int | str | None) -> Plan:
    config = workspace.config
    with while_it_is_there(workspace, bound):
        plan = make_plan(
            bound,
            prefixes,
            engine=config.engine,
            large_rows=config.large_rows,
            as_of=as_of,
            check=deadline_of(workspace).check,
        )
    inputs = dict(plan.inputs)
    for use in streams_of(bound):
        given = inputs[use.name]
        if isinstance(given, Tiers) and isinstance(use.table, StreamingTable):
            inputs[use.name] = replace(given, below=prefixes.below(use.table))
    return replace(plan, inputs=inputs)


def _answer(rows: pa.Table, way: str, bound: Bound, prefixes: PrefixShelf, moments: Mapping[str, Moment]) -> Answer:
    times: dict[str, int | None] = {}
    tables: dict[str, StreamingTable] = {}
    for use in streams_of(bound):
        assert isinstance(use.table, StreamingTable)
        times[use.table.folder], tables[use.table.folder] = moments[use.name].now, use.table
    positions = {folder: prefixes.position(table) for folder, table in tables.items()}
    return Answer(
        rows,
        {table.name: table.value(times[folder]) for folder, table in tables.items()},
        {table.name: positions[folder] for folder, table in tables.items()},
        way,
        Visit(times, positions),
    )


def explain(workspace: Workspace, statement: st.ExplainStanding) -> Result:
    workspace.refresh()
    return explained(workspace, workspace.standing.registry.find(statement.query))


def explained(workspace: Workspace, query: StandingQuery) -> Result:
    bound = understood(workspace, query)
    lines = [f"standing query {query.shown}, keep {query.keep}", f"sql: {' '.join(query.sql.split())}"]
    serving = workspace.standing.serving(query, bound)
    served = serving.served
    if isinstance(served, Refusal):
        lines.append(f"answered from scratch, because {served.reason}")
    elif served.plain is not None:
        lines.append("answered from its matches alone")
    elif served.aggregated is not None:
        lines.append("answered from a tree of aggregates")
    elif serving.join is not None and serving.join.refusal is None:
        lines.append("answered from the rows of its streams that belong together, which are kept")
    elif serving.join is not None and serving.join.refusal is not None:
        lines.append(f"answered by DuckDB over its matches, because {serving.join.refusal.reason}")
    else:
        lines.append(f"answered by DuckDB over its matches, because {served.not_plain}")
    lines += [_described(use) for use in bound.uses.values() if isinstance(use.table, StreamingTable)]
    return Result(pa.table({"plan": lines}))


def _described(use: Use) -> str:
    window = use.window.description if use.window is not None else "all rows that are kept"
    return f"{use.alias}: {window}"
