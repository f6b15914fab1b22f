"""`millpond.functions`: the user's functions in Python."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.system.registry import Reading, Row, system_table


@system_table(
    "functions",
    "The user's functions that SQL can call.",
    [
        ("name", "STRING", "its name"),
        ("kind", "STRING", "`scalar`, `aggregate` or `table`"),
        ("arguments", "STRING", "names and types of what it takes"),
        ("returns", "STRING", "the type of what it gives, or the columns of a table function"),
        ("nulls", "STRING", "`called` for NULLs too, or `not called`"),
        ("python", "STRING", "`<module>:<name>`, or `this process only`"),
    ],
)
def functions(reading: Reading) -> Iterator[Row]:
    for function in reading.catalog.functions.values():
        columns = ", ".join(f"{c.name} {c.type}" for c in function.returns)
        yield {
            "name": function.name,
            "kind": function.kind,
            "arguments": ", ".join(f"{a.name} {a.type}" for a in function.arguments),
            "returns": columns if function.kind == "table" else str(function.returns.columns[0].type),
            "nulls": "called" if function.nulls else "not called",
            "python": function.python or "this process only",
        }
