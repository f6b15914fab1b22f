"""The folder of a pond: what makes one, and what is refused.

    millpond.json   the marker: the format of the pond, sealed with a checksum
    catalog.json    the definitions
    tables/ standard/ results/ feeds/ triggers/ ...   each described where it is written

A folder without a marker becomes a pond only if it is empty, or holds nothing but what a crash left of the making of one.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path

from millpond import catalog_file
from millpond.catalog import Catalog
from millpond.durable import make_folder
from millpond.errors import NotAPond
from millpond.sealed import BrokenSeal, unseal, write_sealed

MARKER = "millpond.json"
FORMAT = 2


def prepare_folder(folder: Path, create: bool) -> None:
    """Check that a folder is a pond, or make it one if `create` allows it."""
    if (folder / MARKER).exists():
        written = _written_format(folder)
        if written != FORMAT:
            raise NotAPond(
                f'pond "{folder.name}" has format {written}, this millpond reads {FORMAT}',
                hint="Update millpond."
                if written > FORMAT
                else "It was made by an older millpond: export its tables there, and load them into a new pond.",
            )
        return
    if folder.exists() and not folder.is_dir():
        raise NotAPond(f'"{folder}" is a file, not a pond', hint="Give the path of a folder.")
    if folder.exists() and any(not _half_made(p.name) for p in folder.iterdir()):
        raise NotAPond(
            f'"{folder}" is not a pond',
            detail=f"It holds other files and no {MARKER}.",
            hint="Give the folder of a pond, or one that is empty or does not exist yet.",
        )
    if not create:
        raise NotAPond(f'there is no pond at "{folder}"', hint="CREATE a table there first, or check the path.")
    above = next((p for p in folder.resolve().parents if p.exists() and not p.is_dir()), None)
    if above is not None:
        raise NotAPond(f'no pond can be made at "{folder}": "{above}" is a file', hint="Check the path.")
    make_folder(folder.resolve())
    catalog_file.save(Catalog(), folder)
    write_sealed(folder / MARKER, {"format": FORMAT, "id": str(uuid.uuid4())})


def _written_format(folder: Path) -> int:
    """The format of the pond in a folder, by its marker. The first format had no checksum there."""
    try:
        raw = (folder / MARKER).read_bytes()
        try:
            return int(unseal(raw)["format"])
        except BrokenSeal:
            if json.loads(raw)["format"] == 1:
                return 1
            raise
    except (ValueError, KeyError, TypeError, IsADirectoryError) as error:
        raise NotAPond(
            f'"{folder}" has a damaged {MARKER}', detail=str(error), hint="Restore it from a copy."
        ) from error


def _half_made(name: str) -> bool:
    """Whether a file can be what a crash left of the making of a pond."""
    return name == catalog_file.FILE or (
        name.startswith((f".{catalog_file.FILE}.", f".{MARKER}.")) and name.endswith(".tmp")
    )
