"""Queries, and the statements that change rows: SELECT, INSERT, UPDATE and DELETE.

What a query computes is a tree made by sqlglot (`dialect.read_tree`). Invariant: a tree given out here is a query or one
change of one table, and has nothing in it that sqlglot reads and a query cannot mean.
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millpond.errors import SqlSyntaxError, UnsupportedSql
from millpond.sql import statements as st
from millpond.sql.chains import LONG, balance
from millpond.sql.cursor import TEXTS, VALUES, TokenCursor
from millpond.sql.dialect import read_tree, span_of
from millpond.sql.literals import FOLDED, LiteralRows
from millpond.sql.reader.other_dialects import refuse_other_dialects
from millpond.sql.reader.parts import REFUSED_CLAUSES, Parts
from millpond.sql.reduce import CONFIDENCE, read_number, read_percent
from millpond.sql.sizes import Sizes, check_depth
from millpond.sql.statements import Statement

RELATION_TO_STREAM = ("ISTREAM", "DSTREAM", "RSTREAM")
# Words behind which a name such as `istream` is a column after all.
AFTER_COLUMN = ("FROM", "AS", "IS", "IN", "LIKE", "RLIKE", "ILIKE", "BETWEEN", "AND", "OR", "DIV", "OVER", "WHERE",
                "UNION", "SAMPLE")  # fmt: skip
QUERIES = (exp.Query, exp.Values)
QUERY_STARTS = ("SELECT", "WITH", "VALUES", "TABLE", "FROM", "(")
QUERY_TOKENS = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN)
# `t VERSION AS OF 3` and its like go back to a version of a table's files, as other systems know it.
TIME_TRAVEL = ("VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME")


class QueryReader(Parts):
    """Reads queries and changes of rows."""

    def select(self) -> Statement:
        place = self.place
        as_of = self.as_of()
        within = self.within()
        return st.Select(self.sql, place, self.query(""), as_of, within)

    def within(self) -> st.Within | None:
        """The error of a WITHIN at the end of the statement, which is taken off: `WITHIN 2 PERCENT CONFIDENCE 95`."""
        for length in (3, 5):
            start = len(self.tokens) - length
            here = TokenCursor(self.sql, self.tokens, max(0, start))
            here.index += 2
            percent = here.at("PERCENT") and (length == 3 or here.look(1).text.upper() == "CONFIDENCE")
            here.index -= 2
            if start <= self.index or not (percent and here.accept("WITHIN")):
                continue
            error = read_percent(here, "the error of WITHIN", whole=False)
            confidence = 100 * CONFIDENCE
            if here.accept("CONFIDENCE"):
                confidence = read_number(here, "a number of percent after CONFIDENCE")
                if not 50 <= confidence < 100:
                    raise SqlSyntaxError(
                        "CONFIDENCE is at least 50 and less than 100 percent",
                        detail="It is how often an answer is within its error.",
                        sql=self.sql,
                        span=here.span(here.index - 1),
                    )
            self.tokens = self.tokens[:start]
            return st.Within(error / 100, confidence / 100)
        return None

    def as_of(self) -> int | str | None:
        """The time of an AS OF at the end of the statement, which is taken off."""
        words = [token.text.upper() for token in self.tokens[-5:]]
        for length in range(3, len(words) + 1):
            if words[-length : 2 - length or None] == ["AS", "OF"]:
                if len(self.tokens) > length and self.tokens[-length - 1].text.upper() in TIME_TRAVEL:
                    return None  # another thing, and refused as such
                tokens, begin = self.tokens, self.index
                self.index = len(tokens) - length + 2
                self.accept("TIMESTAMP")
                moment = self.moment()
                if self.index < len(tokens):
                    raise self.unexpected("the end of the statement after AS OF and a time")
                self.tokens, self.index = tokens[:-length], begin
                return moment
        return None

    def moment(self) -> int | str:
        """A time: a whole number, or a text."""
        is_text = self.look().token_type in TEXTS
        return self.text("") if is_text else self.whole("a time: a whole number or a text")

    def query(self, after: str) -> exp.Expression:
        """The rest of the statement as a query."""
        if not any(self.at(start) for start in QUERY_STARTS):
            raise self.unexpected(f"a query after {after}" if after else "a query", QUERY_STARTS[:-1])
        self._refuse_continuous()
        refuse_other_dialects(self.sql, self.tokens, self.index)
        place = self.span(self.index, len(self.tokens))
        tree = self.tree(self.index)
        if isinstance(tree, exp.DML):
            hint = "Put it inside: INSERT INTO t WITH ... SELECT."
            raise UnsupportedSql(
                f"WITH before {tree.key.upper()} is not supported", hint=hint, sql=self.sql, span=place
            )
        if not isinstance(tree, QUERIES):
            raise SqlSyntaxError("expected a query, but found an expression", sql=self.sql, span=place)
        return tree

    def tree(self, start: int) -> exp.Expression:
        """The tokens from `start` to the end as a tree, without what sqlglot reads and a query cannot mean."""
        self.index = len(self.tokens)
        tokens = self.tokens[start:]
        tree = read_tree(self.sql, tokens)
        if len(tokens) > LONG:
            tree = balance(tree)
            check_depth(tree)
        sizes = Sizes(self.sql, self.place)
        for node in tree.walk():
            if isinstance(node, exp.Select) and not node.expressions:
                raise SqlSyntaxError("SELECT has no columns", sql=self.sql, span=span_of(node) or self.place)
            sizes.see(node)
            if node is not tree and isinstance(node, (exp.Into, exp.DML)):
                message = f"{node.key.upper()} in a query is not supported"
                raise UnsupportedSql(message, sql=self.sql, span=span_of(node) or self.place)
            if isinstance(node, exp.CTE) and not isinstance(node.this, (*QUERIES, exp.DML)):
                message = "expected a query, but found an expression"
                raise SqlSyntaxError(message, sql=self.sql, span=span_of(node.this) or self.place)
        return tree

    def _refuse_continuous(self) -> None:
        """SAMPLE and ISTREAM belong to continuous queries; sqlglot would take them for aliases and columns."""
        for place, (token, following) in enumerate(pairwise(self.tokens[self.index :]), self.index):
            if token.token_type is TokenType.VAR and token.text.upper() == "SAMPLE":
                if following.text.upper() in ("INTERVAL", "REALTIME"):
                    hint = "Give it a name: CREATE CONTINUOUS QUERY <name> AS SELECT ..."
                    raise self.unsupported("SAMPLE belongs to a continuous query", place, hint=hint)
            elif token.token_type is TokenType.SELECT:
                distinct = following.token_type in (TokenType.DISTINCT, TokenType.ALL)
                self.refuse_form(place + 2 if distinct else place + 1)

    def refuse_form(self, place: int) -> None:
        if self.is_form(place):
            word = self.tokens[place].text.upper()
            raise self.unsupported(f"{word} stands behind the first SELECT of a continuous query", place)

    def is_form(self, place: int) -> bool:
        """Whether ISTREAM or its like stands here, and not a column of that name: an expression follows it."""
        here = TokenCursor(self.sql, self.tokens, place)
        if not here.at_word() or here.look().text.upper() not in RELATION_TO_STREAM:
            return False
        here.index += 1
        if here.at_word():
            return here.look().text.upper() not in AFTER_COLUMN
        if here.accept("*"):
            return not here.look() or here.at(",") or (here.at_word() and here.look().text.upper() != "AS")
        return here.at("(") or here.at("-") or here.look().token_type in VALUES

    def insert(self) -> Statement:
        self.expect("INSERT")
        self.refuse(("OVERWRITE",), prefix="INSERT ")
        self.expect("INTO", after="INSERT")
        if self.at("TABLE") and self.look(1).token_type is not TokenType.L_PAREN:
            self.index += 1
        table = self.name("table")
        starts_query = self.look(1).token_type in QUERY_TOKENS
        columns = self.name_list() if self.at("(") and not starts_query else ()
        self.refuse(REFUSED_CLAUSES, prefix="clause ")
        folded = self.look(1) if self.at("VALUES") and self.look(1).token_type is FOLDED else None
        rows = LiteralRows.read(folded) if folded else None
        if rows is None:
            return st.Insert(self.sql, self.place, table, columns, self.query("the table name"))
        self.index += 2
        return st.Insert(self.sql, self.place, table, columns, rows.sample(), rows)

    def update(self) -> Statement:
        start = self.index
        self.expect("UPDATE")
        table = self.name("table")
        self.expect("SET", after="the table name")
        tree = self.change(start)
        assignments: list[tuple[str, exp.Expression]] = []
        for pair in tree.expressions:
            column = pair.this if isinstance(pair, exp.EQ) else None
            if not isinstance(column, exp.Column) or column.table.lower() not in ("", table.lower()):
                message = "expected assignments such as a = 1 after SET"
                raise SqlSyntaxError(message, sql=self.sql, span=span_of(column or pair) or self.place)
            assignments.append((column.name, pair.expression))
        if not assignments:
            raise self.unexpected("assignments after SET")
        return st.Update(self.sql, self.place, table, tuple(assignments), _condition(tree))

    def delete(self) -> Statement:
        start = self.index
        self.expect("DELETE")
        self.expect("FROM", after="DELETE")
        table = self.name("table")
        if self.look() and not self.at("WHERE"):
            raise self.unexpected("WHERE or the end of the statement", ["WHERE"])
        return st.Delete(self.sql, self.place, table, _condition(self.change(start)))

    def change(self, start: int) -> exp.Expression:
        """The tree of an UPDATE or DELETE of one table, with nothing besides SET and WHERE."""
        tree = self.tree(start)
        for key, value in tree.args.items():
            if value and key not in ("this", "expressions", "where"):
                part = value[0] if isinstance(value, list) else value
                message = f"{tree.key.upper()} with {key.strip('_').upper()} is not supported"
                span = span_of(part) if isinstance(part, exp.Expr) else None
                raise UnsupportedSql(message, sql=self.sql, span=span or self.place)
        return tree


def _condition(tree: exp.Expr) -> exp.Expression | None:
    where = tree.args.get("where")
    return where.this if where else None
