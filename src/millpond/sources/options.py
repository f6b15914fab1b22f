"""The options of a source, read from its definition; every mistake is found here, before anything is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millpond.catalog import Source
from millpond.errors import CatalogError, nearest

# What can be set, for each kind and format of source.
OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "files": {
        "csv": ("complete", "delimiter", "header", "null", "pattern"),
        "json": ("complete", "pattern", "strict"),
        "parquet": ("complete", "pattern"),
    },
    "socket": {"csv": ("delimiter", "header", "null"), "json": ("strict",)},
}


@dataclass(frozen=True)
class LineOptions:
    """How lines are read. `null` is the text that means NULL; only where it is not in quotes. `strict` refuses JSON
    objects with keys that are not columns. `header`: the first line names the fields, in any order and case."""

    header: bool = False
    delimiter: str = ","
    null: str = ""
    strict: bool = False


def check_options(source: Source) -> None:
    """Raise `CatalogError` unless kind, format and option names go together."""
    formats = OPTIONS.get(source.kind.lower())
    if formats is None:
        raise CatalogError(
            f'source "{source.name}" is of kind "{source.kind}"', detail=f"There is: {', '.join(OPTIONS)}."
        )
    known = formats.get(source.format.lower())
    if known is None:
        raise CatalogError(
            f'source "{source.name}" of kind {source.kind} cannot have format "{source.format}"',
            detail=f"There is: {', '.join(formats)}.",
        )
    for name in source.options:
        if name not in known:
            close = nearest(name, known)
            raise CatalogError(
                f'option "{name}" does not exist for source "{source.name}" ({source.kind}, {source.format})',
                detail=f"There is: {', '.join(known)}.",
                hint=f'Did you mean "{close}"?' if close else None,
            )


def line_options(source: Source) -> LineOptions:
    return LineOptions(
        header=_truth(source, "header"),
        delimiter=_delimiter(source),
        null=source.options.get("null", ""),
        strict=_truth(source, "strict"),
    )


def complete_column(source: Source) -> str | None:
    """The column of which each file has all rows up to its greatest value, if there is one."""
    name = source.options.get("complete")
    if name is None:
        return None
    column = source.columns.find(name, source.name)
    if not (column.type.is_integer or column.type.name == "TIMESTAMP"):
        raise CatalogError(
            f'option "complete" of source "{source.name}" names column "{column.name}", which is not a time',
            hint="It must be an integer (seconds) or a TIMESTAMP.",
        )
    return column.name


def folder_of(source: Source) -> Path:
    folder = Path(source.location).expanduser()
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise CatalogError(
            f'folder "{source.location}" of source "{source.name}" {what}', hint="Create it first; it may be empty."
        )
    return folder


def host_and_port(source: Source) -> tuple[str, int]:
    """The two halves of `host:port`; an IPv6 address stands in brackets, `[::1]:9000`."""
    host, _, port = source.location.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    ambiguous = ":" in host and bare == host
    if not bare or ambiguous or not (port.isascii() and port.isdigit()) or not 1 <= int(port) <= 65535:
        raise CatalogError(
            f'"{source.location}" of source "{source.name}" is not a host and a port',
            hint="Write host:port, for example localhost:9000 or [::1]:9000.",
        )
    return bare, int(port)


def _truth(source: Source, name: str) -> bool:
    value = source.options.get(name, "false")
    if value.lower() not in ("true", "false"):
        raise CatalogError(
            f'option "{name}" of source "{source.name}" is "{value}"', hint="It can be 'true' or 'false'."
        )
    return value.lower() == "true"


def _delimiter(source: Source) -> str:
    value = source.options.get("delimiter", ",")
    value = "\t" if value == "\\t" else value
    if len(value) != 1 or not value.isascii() or value in '"\r\n\0':
        raise CatalogError(
            f'option "delimiter" of source "{source.name}" is "{value}"',
            hint="It can be one ASCII character, or \\t for a tab; not a quote or a line end.",
        )
    return value
