"""The folder of a pond: what makes one, and what is refused.

    millpond.json   the marker: the format of the pond, sealed with a checksum
    catalog.json    the definitions
    tables/ standard/ results/ feeds/ triggers/ ...   each described where it is written

A folder without a marker becomes a pond only if it is empty, or holds nothing but what a crash left of the making of one.
Processes that make the same pond at the same time take turns (`making.lock`): one makes it, the others find it made.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

from millpond import catalog_file
from millpond.catalog import Catalog
from millpond.durable import delete_folder, disk_errors, make_folder
from millpond.errors import NotAPond
from millpond.sealed import BrokenSeal, unseal, write_sealed

MARKER = "millpond.json"
FORMAT = 2
_MAKING = "making.lock"
# What a crash can leave of the making of a pond.
_HALF_MADE = re.compile(
    rf"{re.escape(catalog_file.FILE)}|{re.escape(_MAKING)}"
    rf"|\.({re.escape(catalog_file.FILE)}|{re.escape(MARKER)})\.[0-9]+\.(tmp|old)"
)


def prepare_folder(folder: Path, create: bool) -> None:
    """Check that a folder is a pond, or make it one if `create` allows it."""
    if _is_pond(folder):
        return
    if folder.exists() and not folder.is_dir():
        raise NotAPond(f'"{folder}" is a file, not a pond', hint="Give the path of a folder.")
    if folder.exists() and any(_HALF_MADE.fullmatch(p.name) is None for p in folder.iterdir()):
        if _is_pond(folder):  # another process has just made it
            return
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
    with _alone(folder):
        if not _is_pond(folder):
            catalog_file.save(Catalog(), folder)
            write_sealed(folder / MARKER, {"format": FORMAT, "id": str(uuid.uuid4())})


def _is_pond(folder: Path) -> bool:
    """Whether a folder is a pond that this millpond reads; raises if it is one and cannot be read."""
    if not (folder / MARKER).exists():
        return False
    written = _written_format(folder)
    if written != FORMAT:
        raise NotAPond(
            f'pond "{folder.name}" has format {written}, this millpond reads {FORMAT}',
            hint="Update millpond."
            if written > FORMAT
            else "It was made by an older millpond: export its tables there, and load them into a new pond.",
        )
    return True


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time makes a pond; the others wait for the moment it takes.

    The file goes once the pond is made. Who still waits for it then finds the marker, so it does not matter that a later one
    would lock another file. If the making fails, the file stays, for those who wait and for the next try.
    """
    path = folder / _MAKING
    with disk_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        with contextlib.suppress(OSError):
            path.unlink()
    finally:
        os.close(handle)


def sweep_dropped(folder: Path, catalog: Catalog) -> None:
    """Delete the files of tables, feeds and reductions that were dropped just before a crash. The writer calls it when it begins.

    Only folders with a number that this catalog has given are looked at: should somebody bring back an older catalog, what was
    made after it stays.
    """
    there: dict[str, set[str]] = {
        "tables": {table.folder for table in catalog.streaming.values()},
        "standard": {table.folder for table in catalog.standard.values()},
        "feeds": {feed.folder for feed in catalog.feeds.values()},
        "reductions": {reduction.folder for reduction in catalog.reductions.values()},
    }
    for kind, known in there.items():
        for path in (folder / kind).glob("*-*"):
            number = path.name.rpartition("-")[2]
            if path.name not in known and number.isdecimal() and int(number) < catalog.made and path.is_dir():
                delete_folder(path, folder)


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
