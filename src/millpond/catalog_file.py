"""The catalog on disk: one file, `catalog.json`, replaced as a whole and protected by a checksum."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from millpond.catalog import Catalog
from millpond.codec import from_json, to_json
from millpond.durable import disk_errors
from millpond.errors import CorruptBlock, PondError
from millpond.failpoints import reach
from millpond.sealed import read_sealed, write_sealed

FILE = "catalog.json"


def save(catalog: Catalog, pond: Path) -> None:
    """Make a catalog durable, without the functions that end with this process."""
    durable = {name: f for name, f in catalog.functions.items() if f.python is not None}
    reach("catalog.before_save")
    write_sealed(pond / FILE, to_json(replace(catalog, functions=durable)))
    reach("catalog.after_save")


def identity(pond: Path) -> tuple[int, ...] | None:
    """What changes whenever the catalog of a pond does: it is replaced as a whole."""
    try:
        found = os.stat(pond / FILE)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def load(pond: Path) -> Catalog:
    """The catalog of a pond. Any change of the file that `save` did not make is an error."""
    try:
        with disk_errors(pond / FILE):
            return from_json(Catalog, read_sealed(pond / FILE))
    except PondError:
        raise
    except (ValueError, OSError) as error:
        raise CorruptBlock(
            f'the catalog of pond "{pond.name}" cannot be read',
            detail=f"{pond / FILE}: {error}",
            hint="Restore it from a copy.",
        ) from error
