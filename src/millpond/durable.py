"""Writes that survive: the few file operations millpond trusts, each with the fsync that makes it true.

Everything here either happened completely and is on disk, or raised and left the old state in place. A full disk is
reported as `DiskFull`, whatever call noticed it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from millpond.errors import DiskFull, PondError
from millpond.failpoints import reach

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
_NOT_A_FILE = (errno.EISDIR,)
_NOT_A_FOLDER = (errno.ENOTDIR,)


@contextlib.contextmanager
def disk_errors(path: Path, *, undone: str = "what was asked for was not done") -> Iterator[None]:
    """Turn "no space left" inside the block into `DiskFull`; what is not allowed, or of the wrong kind, into `PondError`.

    `undone` says what does not happen then.
    """
    try:
        yield
    except PondError:
        raise
    except OSError as error:
        # Arrow raises OSError without errno on some paths; its text still names the cause.
        if error.errno in _FULL or "No space left on device" in str(error):
            raise disk_full(path, undone) from error
        if error.errno in _DENIED:
            raise denied(path, error) from error
        if error.errno in _NOT_A_FILE or error.errno in _NOT_A_FOLDER:
            raise misplaced(path, error) from error
        raise


def misplaced(path: Path, error: OSError) -> PondError:
    found, wanted = ("folder", "file") if error.errno in _NOT_A_FILE else ("file", "folder")
    return PondError(
        f'"{error.filename or path}" is a {found} where the pond has a {wanted}',
        hint="Move it away, and restore what was there from a copy.",
    )


def denied(path: Path, error: OSError) -> PondError:
    return PondError(
        f'"{error.filename or path}" cannot be used: {os.strerror(error.errno or 0).lower()}',
        hint="Check who owns the pond's files, and their permissions.",
    )


def disk_full(path: Path, undone: str) -> DiskFull:
    return DiskFull(
        f'no space left on the disk of "{path.name}"',
        detail=f"Nothing that was acknowledged is lost; {undone}.",
        hint="Free some space and try again.",
    )


def sync_folder(folder: Path) -> None:
    """Make creations, renames and deletions inside `folder` durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Create `folder` and its parents durably."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with disk_errors(folder):
        try:
            folder.mkdir(exist_ok=True)
        except FileExistsError as error:
            raise misplaced(folder, error) from error
        try:
            sync_folder(folder.parent)
        except BaseException:
            with contextlib.suppress(OSError):
                folder.rmdir()  # a folder that is there counts as synced
            raise


def delete_folder(folder: Path, pond: Path) -> None:
    """Delete a folder of a pond and what is in it; one that is not inside the pond is never touched."""
    if Path(os.path.abspath(pond)) not in Path(os.path.abspath(folder)).parents:
        raise PondError(f'"{folder}" is not inside the pond "{pond}"', hint="It was not deleted.")
    shutil.rmtree(folder, ignore_errors=True)


def write_file(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write a whole file so that a reader sees all of it or the file that was there before.

    With `replace=False` an existing file is an error (FileExistsError): this is how a version number is claimed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    before = path.with_name(f".{path.name}.{os.getpid()}.old")
    with disk_errors(path):
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(handle, view) :]
                os.fsync(handle)
            finally:
                os.close(handle)
            reach("file.before_rename")
            if replace:
                before.unlink(missing_ok=True)
                with contextlib.suppress(FileNotFoundError):
                    os.link(path, before)
                os.replace(temporary, path)
            else:
                os.link(temporary, path)
            reach("file.after_rename")
            try:
                sync_folder(path.parent)
            except BaseException:
                with contextlib.suppress(OSError):  # what is not known to last must not be there
                    if before.exists():
                        os.replace(before, path)
                    else:
                        os.unlink(path)
                raise
        finally:
            for leftover in (temporary, before):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(leftover)
