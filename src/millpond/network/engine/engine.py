"""The engine of the network: one DuckDB connection that answers SQL over Arrow tables."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Mapping

import duckdb
import pyarrow as pa

from millpond.catalog import Function
from millpond.errors import EngineError
from millpond.network.engine import spares
from millpond.network.engine.watch import Evaluation
from millpond.process import ProcessBound
from millpond.query.data_errors import is_in_data
from millpond.query.functions import register
from millpond.query.limits import limit_error, limit_memory, query_memory, too_large
from millpond.query.local import confine, translate_error
from millpond.sql.translate import configure, needs_spark

SETTING = "evaluation_memory"
_MOST_PARSED = 1024  # texts that are remembered; those that name an instant never come again


class ForSpark(EngineError):
    """DuckDB met a value about which Spark has to decide: the engines differ there, or only DuckDB may have an error."""

    differs = False  # whether Spark is known to have another answer


class Engine(ProcessBound):
    """Not thread safe. `threads` is how many cores one question may use, `memory` the setting evaluation_memory."""

    def __init__(self, threads: int = 1, memory: int = 0) -> None:
        self._memory = query_memory(memory)
        self._limits = (threads, self._memory)
        self._connection = spares.take(self._limits) or _instance(*self._limits)
        self._functions: set[str] = set()
        self._clean = True  # no question is under way or has ended in an error
        self._parsed: OrderedDict[str, duckdb.Statement | None] = OrderedDict()
        self.evaluation: Evaluation | None = None  # under way: each question has its deadline
        self._at_end = weakref.finalize(self, self._connection.close)  # as in `Local`

    def learn(self, functions: Mapping[str, Function]) -> None:
        """Know a query's functions before it is run."""
        if functions:
            register(self._connection, functions.values(), self._functions)

    def run(self, text: str, tables: Mapping[str, pa.Table], *, types: bool = False) -> pa.Table:
        """The answer to a question about tables, by the names it has for them. They are let go afterwards. With `types` only its
        columns are of interest: it has no rows, and none are looked for, so that it takes no longer than to understand it."""
        clean, self._clean = self._clean, False
        for name, rows in tables.items():
            self._connection.register(name, rows)
        try:
            if types:
                answer = self._connection.sql(text).limit(0).to_arrow_table()
            elif self.evaluation is None:
                answer = self._answer(text)
            else:
                with self.evaluation.question() as deadline, deadline.guard(self._connection):
                    answer = self._answer(text)
            self._clean = clean
            return self._within_memory(answer)
        except duckdb.Error as error:
            limit = limit_error(error, self._memory, "an evaluation", SETTING)
            if limit is not None:
                raise limit from error
            if needs_spark(error):
                value = str(error).splitlines()[0].partition("] ")[2]
                left = ForSpark("the query met a value on which DuckDB and Spark differ", detail=f"{value}.")
                left.differs = True
                raise left from error
            told = translate_error(error)
            if is_in_data(error) and type(told) is EngineError:
                raise ForSpark(told.primary, detail=told.detail, hint=told.hint) from error
            raise told from error
        finally:
            for name in tables:
                self._connection.unregister(name)

    def _answer(self, text: str) -> pa.Table:
        return self._connection.sql(self._statement(text)).to_arrow_table()

    def _within_memory(self, rows: pa.Table) -> pa.Table:
        if rows.nbytes > self._memory:
            raise too_large("the result of an evaluation", self._memory, SETTING)
        return rows

    def _statement(self, text: str) -> str | duckdb.Statement:
        """The text, from the second time on parsed: a query asks the same at most instants. Names are looked up each time."""
        found = self._parsed.get(text)
        if found is not None:
            self._parsed.move_to_end(text)
            return found
        if text in self._parsed:
            (found,) = self._connection.extract_statements(text)
        self._parsed[text] = found
        if len(self._parsed) > _MOST_PARSED:
            self._parsed.popitem(last=False)
        return text if found is None else found

    def close(self) -> None:
        if self._at_end.detach() is None:
            return  # closed before
        self._parsed.clear()
        if self._clean and not self._functions:
            spares.give_back(self._limits, self._connection)
        else:
            self._connection.close()

    def _leave_to_parent(self) -> None:
        self._at_end.detach()


def _instance(threads: int, memory: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": threads})
    configure(connection)
    limit_memory(connection, memory)
    confine(connection)
    connection.execute("SET python_enable_replacements = false")
    return connection
