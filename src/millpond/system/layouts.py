"""`millpond.layouts`: how streaming tables are laid out to be read reduced."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.system.registry import Reading, Row, system_table
from millpond.table.draws import DRAWS
from millpond.table.work import misplaced, without_copies

_ALL = 1 << 62


@system_table(
    "layouts",
    "How the archives of streaming tables are laid out to be read reduced.",
    [
        ("table", "STRING", "the table"),
        ("design", "STRING", "`randomize`, `replicate`, `lazy` or `none`, as REDUCE BY says"),
        ("levels", "STRING", "how many percent of the rows its copies leave out; NULL if it is to have none"),
        ("files", "BIGINT", "files of the archive, without copies"),
        ("runs", "BIGINT", "randomised runs among them, each of which is several files"),
        ("bytes", "BIGINT", "the size of these files"),
        ("copies", "BIGINT", "thinned copies beside them"),
        ("copied_bytes", "BIGINT", "the size of the copies"),
        ("to_convert", "BIGINT", "rows that are not laid out so yet; archive work of the next ticks does it"),
    ],
)
def layouts(reading: Reading) -> Iterator[Row]:
    for name, table in reading.host.streams().items():
        if name not in reading.catalog.streaming or table.damage is not None:
            continue
        files, spec = list(table.rows.manifest.current.files.values()), table.rows.spec
        copies = [copy for file in files for copy in file.copies]
        left = [file for unit in misplaced(files, spec, _ALL) for file in unit]
        left += without_copies([f for f in files if f not in left], spec, 0 if spec.randomise else _ALL)
        levels = ", ".join(f"{100 * (1 - high / DRAWS):.4g}" for high in sorted(spec.copies, reverse=True))
        yield {
            "table": name,
            "design": table.definition.reduce_by,
            "levels": levels or None,
            "files": len(files),
            "runs": len({(f.run, f.compartment) for f in files if f.run is not None}),
            "bytes": sum(f.size for f in files),
            "copies": len(copies),
            "copied_bytes": sum(copy.size for copy in copies),
            "to_convert": sum(file.rows for file in left),
        }
