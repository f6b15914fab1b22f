"""Statements about continuous queries and streaming views, and about the triggers on their results.

A continuous query is a SELECT with two additions: ISTREAM, DSTREAM or RSTREAM after the first SELECT, and SAMPLE at the
end. Both are found among the tokens and taken out; the rest is read like any query. Invariant: the text that is kept of
the query is blank where something was taken out, so that every place in it stays what it was.
"""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

from sqlglot.tokenizer_core import TokenType

from millpond.duration import FOREVER
from millpond.errors import SqlSyntaxError
from millpond.sql import statements as st
from millpond.sql.cursor import VALUES, TokenCursor
from millpond.sql.group_windows import names_group_windows
from millpond.sql.literals import FOLDED
from millpond.sql.query_text import QUERY_TEXT, Change, text_of
from millpond.sql.reader.other_dialects import refuse_other_dialects
from millpond.sql.reader.queries import QUERY_STARTS, QueryReader
from millpond.sql.statements import Statement
from millpond.windows.interval import IntervalWindow
from millpond.windows.registry import read_window

SAMPLE_HINT = "Write SAMPLE INTERVAL '1' MINUTE, SAMPLE REALTIME or SAMPLE EACH ROW."
_SAMPLES = ("INTERVAL", "REALTIME", "EACH")


class ContinuousReader(QueryReader):
    """Reads statements about continuous queries."""

    def create_continuous(self) -> Statement:
        self.expect("CONTINUOUS")
        self.expect("QUERY", after="CREATE CONTINUOUS")
        return self.create_query("query", view=False)

    def create_query(self, noun: str, *, view: bool) -> Statement:
        if_not_exists = self.exists("NOT", "EXISTS")
        name = self.name(noun)
        read: dict[str, Any] = {}
        while not self.accept("AS"):
            clause = self.one_of(("RANGE", "FROM", "OVERLOAD", "AS"), f"the {noun}'s name")
            if clause in read:
                message = f"clause {clause} is given twice"
                raise SqlSyntaxError(message, sql=self.sql, span=self.span(self.index - 1, self.index))
            read[clause] = {"RANGE": self.kept, "FROM": self.moment, "OVERLOAD": self.overload}[clause]()
        return st.CreateQuery(
            self.sql, self.place, name, self.continuous("AS"), view=view,
            history=read.get("RANGE"), start=read.get("FROM"), overload=read.get("OVERLOAD"), if_not_exists=if_not_exists,
        )  # fmt: skip

    def kept(self) -> timedelta:
        """How long results are kept."""
        start = self.index
        if self.accept("UNBOUNDED"):
            return FOREVER
        period = self.interval()
        if period <= timedelta(0):
            raise SqlSyntaxError("results cannot be kept for 0 seconds", sql=self.sql, span=self.span(start),
                                 hint="Leave RANGE out to keep those of the last instant.")  # fmt: skip
        return period

    def overload(self) -> int:
        """How many percent of what it reads a query may leave out while there is too much to do."""
        self.expect("ALLOW", after="OVERLOAD")
        place = self.index
        percent = self.whole("a whole number of percent after ALLOW")
        self.expect("PERCENT", after="the number")
        if not 0 <= percent < 100:
            raise SqlSyntaxError(
                "OVERLOAD allows at least 0 and less than 100 percent of the rows to be left out",
                hint="OVERLOAD ALLOW 90 PERCENT reads at least a tenth of them.",
                sql=self.sql,
                span=self.span(place),
            )
        return percent

    def continuous(self, after: str) -> st.Continuous:
        """The rest of the statement: a SELECT, perhaps with ISTREAM or its like, and SAMPLE at the end."""
        if not any(self.at(start) for start in QUERY_STARTS):
            raise self.unexpected(f"a query after {after}", QUERY_STARTS[:-1])
        start = self.index
        end = self._sample()
        sample, slide, each_row = None, None, False
        if end is None:
            end = self._emit()
            self.index = len(self.tokens)
        else:
            refuse_other_dialects(self.sql, self.tokens, end)
            self.index = end + 1
            slide, each_row = self.sample("SAMPLE")
            sample = self.span(end)
            if self.look():
                raise self.unexpected("the end of the statement")
        form = self._form(start, end)
        tokens = [t for place, t in enumerate(self.tokens[start:end], start) if place != form]
        text = self.sql[self.tokens[start].start : self.tokens[end - 1].end + 1]
        if form is not None:  # blanks in its place, so that everything else stays where it was
            cut = self.tokens[form].start - self.tokens[start].start
            length = len(self.tokens[form].text)
            text = text[:cut] + " " * length + text[cut + length :]
        for before, folded in itertools.pairwise(tokens):
            if (
                before.token_type is TokenType.VALUES and folded.token_type is FOLDED
            ):  # read as a whole, like all its text
                raise self.unsupported("a folded list in a continuous query", start)
        inner = QueryReader(self.sql, tokens)
        tree = inner.query(after)
        if sample is None and not names_group_windows(tree):
            refuse_other_dialects(self.sql, self.tokens, end)
            self.index = end
            raise self.no_sample()
        word = self.tokens[form].text.lower() if form is not None else "rstream"
        if form is not None and (written := text_of(tree)) is not None:
            tree.meta[QUERY_TEXT] = written.changed([Change(self.span(form, form + 1), "")])
        return st.Continuous(text, tree, word, slide, each_row, form is None, sample)

    def no_sample(self) -> SqlSyntaxError:
        return self.unexpected("SAMPLE at the end of a continuous query", hint=SAMPLE_HINT)

    def _emit(self) -> int:
        """Where the query ends that has no SAMPLE. `EMIT ON WINDOW CLOSE` and `EMIT FINAL` say what happens anyway."""
        end = len(self.tokens)
        for words in (("EMIT", "ON", "WINDOW", "CLOSE"), ("EMIT", "FINAL")):
            if TokenCursor(self.sql, self.tokens, end - len(words)).at(*words):
                return end - len(words)
        return end

    def _sample(self) -> int | None:
        """Where the SAMPLE clause begins; None if there is none. A table or column may be called so too: the last place it can
        be is it."""
        places = [TokenCursor(self.sql, self.tokens, i) for i in range(len(self.tokens) - 1, self.index, -1)]
        for here in places:
            if any(here.at("SAMPLE", word) for word in _SAMPLES):
                return here.index
        for here in places:  # misspelt or unfinished
            if here.accept("SAMPLE") and (not here.look() or here.at_word() or here.look().token_type in VALUES):
                return here.index - 1
        return None

    def _form(self, start: int, end: int) -> int | None:
        """Where ISTREAM, DSTREAM or RSTREAM stands behind the first SELECT of the query itself, if it does."""
        depth = 0
        for place in range(start, end - 1):
            token = self.tokens[place]
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            if depth == 0 and token.token_type is TokenType.SELECT:
                return place + 1 if self.is_form(place + 1) else None
        return None

    def sample(self, after: str) -> tuple[timedelta | None, bool]:
        """When a query is evaluated: the time between instants, if it is fixed, and whether each row is one."""
        if self.accept("REALTIME"):
            return None, False
        if self.accept("EACH"):
            self.expect("ROW", after="EACH")
            return None, True
        if not self.at("INTERVAL"):
            raise self.unexpected(f"INTERVAL, REALTIME or EACH ROW after {after}", _SAMPLES)
        place = self.index
        slide = self.interval()
        if slide <= timedelta(0):
            raise SqlSyntaxError("a query cannot be sampled every 0 seconds", sql=self.sql, span=self.span(place))
        return slide, False

    def alter_query(self, noun: str) -> Statement:
        name = self.name(noun)
        self.expect("SET", after=f"the {noun}'s name")
        action = self.one_of(("WINDOW", "SAMPLE", "RANGE", "OVERLOAD"), "SET")
        if action == "OVERLOAD":
            return st.AlterQuery(self.sql, self.place, name, overload=self.overload(), view=noun == "view")
        if action == "SAMPLE":
            return st.AlterQuery(self.sql, self.place, name, sample=self.sample("SET SAMPLE"), view=noun == "view")
        if action == "RANGE":
            return st.AlterQuery(self.sql, self.place, name, history=self.kept(), view=noun == "view")
        self.expect("OF", after="WINDOW")
        alias = self.name("table")
        self.expect("=", after="the table's name")
        # The brackets can be left out: SET WINDOW OF s = INTERVAL '5' MINUTE.
        window = read_window(self) if self.at("[") else IntervalWindow(self.interval())
        return st.AlterQuery(self.sql, self.place, name, window=(alias, window), view=noun == "view")

    def pause(self) -> Statement:
        pause = self.one_of(("PAUSE", "RESUME"), "") == "PAUSE"
        word = "PAUSE" if pause else "RESUME"
        noun = self.query_noun(word)
        return st.PauseQuery(self.sql, self.place, self.name(noun), pause, view=noun == "view")

    def query_noun(self, after: str) -> str:
        if self.one_of(("CONTINUOUS", "STREAMING"), after) == "CONTINUOUS":
            self.expect("QUERY", after=f"{after} CONTINUOUS")
            return "query"
        self.expect("VIEW", after=f"{after} STREAMING")
        return "view"

    def trigger(self) -> Statement:
        self.expect("ON")
        query = self.name("query")
        self.expect("DO", after="the query's name")
        if self.accept("NOTHING"):
            return st.DropTrigger(self.sql, self.place, query)
        kind, kind_place = self.kind("a kind of sink after DO, such as POST, or NOTHING")
        target = self.text(f"the target after {kind.upper()}, as a text")
        options = self.clauses({"WITH": self.options}).get("WITH", {})
        return st.CreateTrigger(self.sql, self.place, query, kind, target, options, kind_place)
