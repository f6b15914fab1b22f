"""The queries of a table's shards, for the workers: sent once to each that has a shard of the table, in each version."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from millpond.catalog import Catalog
from millpond.codec import from_json, to_json


@dataclass(frozen=True)
class ShardDefinitions:
    """The queries that are evaluated in the shards of a table, and the catalog they are defined in. `key` names the run of the
    network, the table and the version, and is never used for others."""

    key: str
    catalog: Catalog
    queries: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        """As JSON: made once, however many workers it goes to."""
        steps = {n: [q.part_of, q.combines] for n, q in self.catalog.queries.items() if q.part_of or q.combines}
        return json.dumps({"key": self.key, "catalog": to_json(self.catalog), "steps": steps, "queries": self.queries})

    @classmethod
    def from_text(cls, text: str) -> ShardDefinitions:
        """What `text` was made of."""
        found = json.loads(text)
        catalog = from_json(Catalog, found["catalog"])
        steps = {
            name: replace(catalog.queries[name], part_of=part_of, combines=combines)
            for name, (part_of, combines) in found["steps"].items()
        }
        return cls(found["key"], replace(catalog, queries={**catalog.queries, **steps}), tuple(found["queries"]))


class DefinitionVersions:
    """The newest definitions of each table."""

    def __init__(self) -> None:
        self.newest: dict[str, ShardDefinitions] = {}  # by table

    def update(self, table: str, key: str, catalog: Catalog, queries: Collection[str]) -> None:
        """Make sure that the definitions of a table are those called `key`."""
        known = self.newest.get(table)
        if known is None or known.key != key:
            self.newest[table] = ShardDefinitions(key, catalog.without_functions_here(), tuple(queries))
