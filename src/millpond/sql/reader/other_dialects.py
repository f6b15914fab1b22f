"""What other stream systems write and millpond does not: refused with the words in which it is said here."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from millpond.errors import Span, UnsupportedSql
from millpond.sql.cursor import TokenCursor

_GROUP = "Group by the window: SELECT k, window.start, COUNT(*) FROM s GROUP BY k, window(t, '10 seconds')."

# The words, what the error calls them, and how it is said natively.
_PHRASES = (
    (
        ("MATCH_RECOGNIZE", "("),
        "MATCH_RECOGNIZE",
        "Compare a row with those before it: SELECT ISTREAM ... FROM t [key ROWS 3] WHERE v > PREV(v) AND PREV(v) > PREV(v, 2).",
    ),
    (
        ("FOR", "SYSTEM_TIME"),
        "FOR SYSTEM_TIME AS OF",
        "Leave it out: at each instant a continuous query sees standard tables as they are then, and streams through windows "
        "such as [key ROWS 1]. A one-time query ends with AS OF <time>.",
    ),
    (
        ("EMIT", "CHANGES"),
        "EMIT CHANGES",
        "Send what is new: CREATE CONTINUOUS QUERY q AS SELECT ISTREAM ... SAMPLE REALTIME.",
    ),
    (("EMIT", "ON", "WINDOW", "CLOSE"), "EMIT ON WINDOW CLOSE", f"Only group windows close. {_GROUP}"),
    (("EMIT", "FINAL"), "EMIT FINAL", f"Only group windows close. {_GROUP}"),
    (("WINDOW", "TUMBLING", "("), "WINDOW TUMBLING", _GROUP),
    (
        ("WINDOW", "HOPPING", "("),
        "WINDOW HOPPING",
        "Group by the window: ... GROUP BY k, window(t, '30 seconds', '10 seconds').",
    ),
    (
        ("WINDOW", "SESSION", "("),
        "WINDOW SESSION",
        "Group by the session: ... GROUP BY k, session_window(t, '5 minutes').",
    ),
)
_FIRST = frozenset(words[0] for words, _, _ in _PHRASES)


def refuse_other_dialects(sql: str, tokens: list[Token], start: int) -> None:
    for place in range(start, len(tokens)):
        if tokens[place].text.upper() not in _FIRST:
            continue
        here = TokenCursor(sql, tokens, place)
        for words, name, hint in _PHRASES:
            if here.at(*words):
                last = tokens[place + len([w for w in words if w != "("]) - 1]
                span = Span(tokens[place].start, last.end + 1)
                raise UnsupportedSql(f"{name} is not supported", hint=hint, sql=sql, span=span)
