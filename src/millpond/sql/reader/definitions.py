"""Statements that define or alter tables, indexes, sources and functions.

What a definition says about itself (a column named twice, a shard key it does not have) is checked here, where the place
is known; what needs the catalog is checked by `define`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlglot.tokenizer_core import TokenType

from millpond.errors import SqlSyntaxError
from millpond.schema import Column
from millpond.sql import statements as st
from millpond.sql.cursor import TokenCursor
from millpond.sql.reader.parts import REFUSED_CLAUSES
from millpond.sql.reader.queries import QueryReader
from millpond.sql.statements import Statement


class DefinitionReader(QueryReader):
    """Reads definitions."""

    def create_streaming_table(self) -> Statement:
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("table")
        columns = self.column_list()

        def time_column() -> str:
            names = self.own_columns(columns, name)
            if len(names) > 1:
                raise self.unsupported("TIMESTAMP BY takes one column", self.index - 1)
            return names[0]

        read = self.clauses(
            {
                "TIMESTAMP BY": time_column,
                "SHARD BY": lambda: self.own_columns(columns, name),
                "RANGE": self.history,
                "LATENESS": self.interval,
                "AHEAD": lambda: (self.history("AHEAD"),),
                "IDLE AFTER": lambda: (self.history("IDLE AFTER"),),
                "REDUCE BY": self.reduce_by,
                "WITH": self.options,
            }
        )
        self.nullable(read.get("TIMESTAMP BY"))
        return st.CreateStreamingTable(
            self.sql, self.place, name, columns,
            time_column=read.get("TIMESTAMP BY"), shard_by=read.get("SHARD BY", ()), history=read.get("RANGE"),
            lateness=read.get("LATENESS", timedelta(0)), ahead=read.get("AHEAD"), idle_after=read.get("IDLE AFTER"),
            options=read.get("WITH", {}), reduce=read.get("REDUCE BY"), if_not_exists=if_not_exists,
        )  # fmt: skip

    def create_table(self) -> Statement:
        """TABLE FUNCTION, unless what follows says that a table is called `function`."""
        after = TokenCursor(self.sql, self.tokens, self.index + 2)
        named = after.at_word() or after.look().token_type is TokenType.IDENTIFIER
        if self.at("TABLE", "FUNCTION") and named and not after.at("AS") and not after.at("FROM"):
            return self.create_function()
        return self.create_standard()

    def create_standard(self) -> Statement:
        self.accept("STANDARD")
        self.expect("TABLE", after="CREATE STANDARD")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("table")
        parts: dict[str, Any] = {}
        if self.accept("AS"):
            parts["query"] = self.query("AS")
        elif self.accept("FROM"):
            parts["kind"], parts["kind_place"] = self.kind("a kind of foreign table after FROM, such as POSTGRES")
            parts["address"] = self.text("the address of a database, as a text")
            if self.accept("TABLE"):
                parts["foreign_name"] = self.text("the name of its table, as a text")
        elif self.at("("):
            parts["columns"] = self.column_list()
            self.nullable()
            hint = "Only a streaming table has it: CREATE STREAMING TABLE."
            self.refuse(
                ("TIMESTAMP", "SHARD", "RANGE", "LATENESS", "AHEAD", "IDLE", "REDUCE", "WITH"),
                prefix="clause ",
                hint=hint,
            )
            self.refuse(REFUSED_CLAUSES, prefix="clause ")
        else:
            self.refuse(REFUSED_CLAUSES, prefix="clause ")
            raise self.unexpected('"(", AS or FROM', ("AS", "FROM"))
        return st.CreateStandardTable(self.sql, self.place, name, if_not_exists=if_not_exists, **parts)

    def create_index(self) -> Statement:
        self.expect("INDEX")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = None if self.at("ON") else self.name("index")
        self.expect("ON")
        table = self.name("table")
        return st.CreateIndex(self.sql, self.place, table, self.name_list(), name=name, if_not_exists=if_not_exists)

    def create_reduction(self) -> Statement:
        self.expect("REDUCTION")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("reduction")
        self.expect("ON", after="the name of the reduction")
        table = self.name("table")
        self.expect("AS", after="the name of the table")
        start, end = self.index, len(self.tokens)
        lazy = self.tokens[-1].text.upper() == "LAZY"
        place = next((n for n in reversed(range(start, end)) if self.tokens[n].text.upper() == "EVERY"), None)
        if place is None:
            raise SqlSyntaxError(
                "expected EVERY at the end of a reduction",
                detail="It says how long its windows are.",
                hint="Write EVERY INTERVAL '1' HOUR.",
                sql=self.sql,
                span=self.span(end - 1, end),
            )
        self.index = place + 1
        every = self.interval()
        self.accept("LAZY")
        if self.look():
            raise self.unexpected("LAZY or the end of the statement", ("LAZY",))
        told = self.span(place, end - lazy)
        self.tokens, self.index = self.tokens[:place], start
        query = self.query("AS")
        text = self.sql[self.tokens[start].start : self.tokens[place - 1].end + 1]
        return st.CreateReduction(
            self.sql, self.place, name, table, query, text, every, lazy=lazy, if_not_exists=if_not_exists, place=told
        )

    def create_source(self) -> Statement:
        self.expect("SOURCE")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("source")
        columns = self.column_list()
        self.nullable()
        self.expect("FROM")
        kind, kind_place = self.kind("a kind of source after FROM, such as FILES")
        location = self.text(f"the location after {kind.upper()}, as a text")
        read = self.clauses({"FORMAT": lambda: self.name("format").lower(), "WITH": self.options})
        return st.CreateSource(
            self.sql, self.place, name, columns, kind, location, format=read.get("FORMAT"),
            options=read.get("WITH", {}), if_not_exists=if_not_exists, kind_place=kind_place,
        )  # fmt: skip

    def create_function(self) -> Statement:
        kind = "table" if self.accept("TABLE") else "aggregate" if self.accept("AGGREGATE") else "scalar"
        if kind != "aggregate":
            self.expect("FUNCTION")
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name("function")
        if self.accept("(", ")"):
            arguments: tuple[Column, ...] = ()
        else:
            arguments = self.column_list()
        self.expect("RETURNS", after="the arguments")
        returns = self.column_list() if kind == "table" else (Column("result", self.type()),)
        self.nullable()
        nulls = self.accept("CALLED", "ON", "NULL", "INPUT")
        if not nulls:
            self.accept("RETURNS", "NULL", "ON", "NULL", "INPUT")
        self.expect("AS", "PYTHON", after="what the function returns")
        python = self.text("'<module>:<name>', as a text")
        return st.CreateFunction(
            self.sql, self.place, name, kind, arguments, returns, python, nulls=nulls, if_not_exists=if_not_exists
        )

    def alter_table(self) -> Statement:
        name = self.name("table")
        self.refuse(("DROP", "ALTER", "CHANGE", "REPLACE", "RECOVER"), prefix="ALTER TABLE ")
        action = self.one_of(("ADD", "RENAME", "SET"), "the table name")
        change: dict[str, Any] = {}
        if action == "ADD":
            many = self.one_of(("COLUMN", "COLUMNS"), "ADD") == "COLUMNS"
            change["add_columns"] = self.column_list() if many else (self.column(),)
            self.nullable()
        elif action == "RENAME":
            self.refuse(("COLUMN",), prefix="ALTER TABLE RENAME ")
            self.expect("TO", after="RENAME")
            change["rename_to"] = self.name("table")
        elif self.at("("):
            change["options"] = self.options()
        else:
            self.refuse(("TBLPROPERTIES", "LOCATION"), prefix="ALTER TABLE SET ")
            what = self.one_of(("RANGE", "LATENESS", "AHEAD", "NOW", "IDLE", "ACTIVE", "REDUCE"), "SET")
            if what == "LATENESS":
                change["lateness"] = self.interval()
            elif what == "AHEAD":
                change["ahead"] = (self.history("AHEAD"),)
            elif what == "IDLE" and self.accept("AFTER"):
                change["idle_after"] = (self.history("IDLE AFTER"),)
            elif what == "REDUCE":
                self.expect("BY", after="REDUCE")
                change["reduce"] = self.reduce_by()
            elif what == "NOW":
                change["now"] = self.moment()
            elif what != "RANGE":
                change["idle"] = what == "IDLE"
            else:
                change["history"] = self.history()
                change["drop_history"] = change["history"] is None
        return st.AlterTable(self.sql, self.place, name, **change)
