"""The page docs/system-tables.md, made from the definitions by `make docs`."""

from __future__ import annotations

from millpond.query.system_names import SCHEMA
from millpond.system.registry import definitions

_HEAD = """# System tables

What a pond knows of itself, as tables in the schema `millpond`. They can be read by any one-time query, alone or joined with
other tables; `SHOW` statements and `db.status()` read the same tables.

```sql
SELECT name, frontier, lag_seconds FROM millpond.queries WHERE state = 'running' ORDER BY lag_seconds DESC;
SELECT q.name, t.name, t.watermark FROM millpond.queries q JOIN millpond.tables t ON q.reads LIKE concat('%', t.name, '%');
SELECT AVG(seconds), MAX(seconds), SUM(rows) FROM millpond.ticks;
SELECT query, SUM(seconds) AS seconds FROM millpond.costs GROUP BY query ORDER BY seconds DESC;
```

- A system table shows the pond as it is when the statement is planned. Within one statement each is read once.
- A continuous query cannot read them: no rows arrive in them.
- They can be read in any process. What only the process that writes the pond knows is NULL elsewhere.
- The event time of a table is an integer or a TIMESTAMP. A system table has it in two columns: a text, as the table's own
  time column shows it (`watermark`, `frontier`), and a number of seconds to compare and subtract (`watermark_seconds`):
  the integer itself, or seconds since 1970.
"""


def markdown() -> str:
    parts = [_HEAD]
    for definition in definitions().values():
        rows = "".join(f"| `{c.name}` | {c.type} | {c.description} |\n" for c in definition.columns)
        parts.append(
            f"\n## {SCHEMA}.{definition.name}\n{definition.description}\n\n| column | type | |\n|---|---|---|\n{rows}"
        )
    return "".join(parts)
