"""What a commit of the archive's log looks like: Delta Lake's actions, our own facts among them, and a checksum.

A commit is a text of one JSON object a line. The first is `commitInfo`; Delta leaves its members to the writer, and ours
holds `millpond`: the position, the intake state, and `check`, the CRC-32 of the whole text with eight zeros in its place.
So a flipped bit in a bound or a position is noticed, and so is a commit that somebody else wrote.

Others may read the log and must not write it: they know nothing of positions. The protocol therefore names a writer feature
that only we know. By Delta's rules a writer that does not know a feature refuses; readers do not care.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from millpond.errors import CorruptBlock
from millpond.schema import Column, DataType, Schema

PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["millpond"]}}

_TYPES = {
    "TINYINT": "byte",
    "SMALLINT": "short",
    "INT": "integer",
    "BIGINT": "long",
    "BOOLEAN": "boolean",
    "FLOAT": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "BINARY": "binary",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
}
_CHECK = re.compile(rb'"millpond":\{"check":"([0-9a-f]{8})"')
_NO_CHECK = b"00000000"


def delta_schema(schema: Schema) -> str:
    def kind(t: DataType) -> str:
        return f"decimal({t.precision},{t.scale})" if t.name == "DECIMAL" else _TYPES[t.name]

    fields = [{"name": c.name, "type": kind(c.type), "nullable": True, "metadata": {}} for c in schema]
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))


def schema_from_delta(text: str) -> Schema:
    back = {v: k for k, v in _TYPES.items()}
    columns = []
    for item in json.loads(text)["fields"]:
        decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", item["type"])
        kind = DataType("DECIMAL", int(decimal[1]), int(decimal[2])) if decimal else DataType(back[item["type"]])
        columns.append(Column(item["name"], kind))
    return Schema(tuple(columns))


def commit_path(log: Path, number: int) -> Path:
    return log / f"{number:020d}.json"


def commit_info(operation: str, position: int, state: Mapping[str, Any], now_ms: int) -> dict[str, Any]:
    own = {"check": _NO_CHECK.decode(), "position": position, "state": state}
    return {"commitInfo": {"timestamp": now_ms, "operation": operation, "millpond": own}}


def metadata(schema: Schema, table_id: str, now_ms: int) -> dict[str, Any]:
    return {
        "metaData": {
            "id": table_id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": delta_schema(schema),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": now_ms,
        }
    }


def encode_commit(actions: Iterable[Mapping[str, Any]]) -> bytes:
    """The text of a commit; the first action is `commit_info`."""
    text = "".join(json.dumps(a, separators=(",", ":")) + "\n" for a in actions).encode()
    found = _CHECK.search(text)
    assert found is not None, "a commit begins with commit_info"
    return text[: found.start(1)] + b"%08x" % zlib.crc32(text) + text[found.end(1) :]


def commit_check(text: bytes) -> int:
    """The checksum a commit carries; 0 if it carries none."""
    found = _CHECK.search(text)
    return int(found[1], 16) if found is not None else 0


def decode_commit(text: bytes, path: Path, label: str) -> list[dict[str, Any]]:
    """The actions of a commit, if it is one that `encode_commit` made."""
    found = _CHECK.search(text)
    if found is None:
        raise CorruptBlock(
            f'archive commit "{path.name}" of "{label}" was not written by millpond',
            detail="Another program wrote into the archive, or the file is damaged. The rows from before it are intact.",
            hint=f'Move "{path}" and the later commits away to go on without it, or restore the file from a copy.',
        )
    whole = text[: found.start(1)] + _NO_CHECK + text[found.end(1) :]
    if b"%08x" % zlib.crc32(whole) != found[1]:
        raise CorruptBlock(
            f'archive commit "{path.name}" of "{label}" cannot be read',
            detail="Its checksum does not match its contents.",
            hint="Restore the file from a copy.",
        )
    return [json.loads(line) for line in whole.splitlines()]
