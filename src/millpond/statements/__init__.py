"""What each statement does to a pond: one function a statement. `run` finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millpond.errors import SqlError
from millpond.query.deadline import Deadline
from millpond.result import Result
from millpond.sql import statements as st
from millpond.statements import ask, change, continuous, define, functions, reduction, show, standing, trigger
from millpond.statements.privilege import require

if TYPE_CHECKING:
    from millpond.workspace.workspace import Workspace

_ACTS: dict[type[st.Statement], Callable[[Workspace, Any], Result]] = {
    st.Select: ask.select,
    st.Explain: ask.explain_statement,
    st.Insert: change.insert,
    st.Update: change.update,
    st.Delete: change.delete,
    st.CreateStreamingTable: define.create_streaming,
    st.CreateStandardTable: define.create_standard,
    st.CreateIndex: define.create_index,
    st.CreateSource: define.create_source,
    st.CreateReduction: reduction.create,
    st.CreateFunction: functions.create,
    st.Drop: define.drop,
    st.AlterTable: define.alter,
    st.Describe: show.describe_relation,
    st.Show: show.show,
    st.CreateQuery: continuous.create,
    st.AlterQuery: continuous.alter,
    st.PauseQuery: continuous.pause,
    st.ExplainQuery: continuous.explain,
    st.CreateTrigger: trigger.create,
    st.DropTrigger: trigger.drop,
    st.CreateStanding: standing.create,
    st.DropStanding: standing.drop,
    st.Invoke: standing.invoke,
    st.ExplainStanding: standing.explain,
}


def run(workspace: Workspace, statement: st.Statement, deadline: Deadline) -> Result:
    """Carry out a statement, whose queries end by `deadline`; an error about it says where in its text."""
    require(workspace.config, statement.privilege)
    before = workspace.catalog
    try:
        with ask.within(deadline):
            result = _ACTS[type(statement)](workspace, statement)
    except SqlError as error:
        if error.span is None:
            raise
        raise error.at(statement.sql, error.span) from error.__cause__
    if workspace.owned and workspace.catalog is not before:
        workspace.rounds.settle()
    return result
