"""What stands in the folder of a run, so that a command given again does what its user means: go on, or say it is done.

`begun.json` is written before anything else and says what is run. It makes the folder ours: a run that was broken off while
it loaded the histories is cleared away and begun again, one that was broken off later goes on, a finished one stays as it is,
and a folder with other files in it is left alone.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import millpond
from linear_road.run import RunConfig
from linear_road.survey import Facts

BEGUN: Final = "begun.json"
POND_MARKER: Final = "millpond.json"
_SAME: Final = {"input": "--input", "tolls": "--tolls", "segments": "--segments", "pond": "--pond", "today": "--today"}
"""What must not change between the parts of a run."""


class State(StrEnum):
    NEW = "new"
    BROKEN_OFF = "broken off while it was prepared"
    UNDER_WAY = "under way"
    FINISHED = "finished"


def state_of(out: Path) -> State:
    """How far the run in a folder is; raises `PondError` if the folder is somebody else's."""
    if out.exists() and not out.is_dir():
        raise millpond.PondError(f'"{out}" is a file', hint="Give a folder with --out.")
    if not out.exists() or not any(out.iterdir()):
        return State.NEW
    if not (out / BEGUN).exists():
        raise millpond.PondError(
            f'the folder "{out}" is not empty',
            detail="It holds no run that could go on.",
            hint="Give a new folder with --out.",
        )
    if (out / "run.json").exists():
        return State.FINISHED
    return State.UNDER_WAY if (out / "prepared.json").exists() else State.BROKEN_OFF


def begin(config: RunConfig, facts: Facts) -> None:
    """Make a folder ours, before anything else is in it. What an earlier beginning left is removed."""
    out, before = config.out, known(config.out)
    if before:
        pond = Path(before["pond"] or out / "pond")
        _check_ended(out)
        check_free(pond)
        if before["own_pond"]:
            shutil.rmtree(pond, ignore_errors=True)
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    own = config.pond is None or not config.pond.exists() or not any(config.pond.iterdir())
    (out / BEGUN).write_text(json.dumps({**_said(config), "own_pond": own, "facts": asdict(facts)}, indent=1), "utf-8")


def _check_ended(out: Path) -> None:
    """Refuse to clear away a run that goes on: it holds its lock."""
    with (out / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise millpond.PondError(
                f'a run is under way in "{out}"', hint="Let it end, or give another folder with --out."
            ) from error


def check_free(pond: Path) -> None:
    """Refuse to touch a pond that somebody writes now."""
    if not (pond / POND_MARKER).exists():
        return
    with millpond.connect(pond, create=False, auto_archive=False) as db:
        if db.status()["written"]:
            raise millpond.PondError(
                f'pond "{pond}" is in use by another program', hint="Let it end, or give another folder."
            )


def known(out: Path) -> dict[str, Any]:
    """What the run in a folder was given; nothing if there is none."""
    path = out / BEGUN
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def facts_of(out: Path) -> Facts:
    return Facts(**known(out)["facts"])


def check_same(config: RunConfig) -> None:
    """Refuse to go on with a run that was begun with something else."""
    before, now = known(config.out), _said(config)
    for name, option in _SAME.items():
        if before[name] != now[name]:
            raise millpond.PondError(
                f'the run in "{config.out}" was begun with another {option}',
                detail=f"It was {before[name]}, now it is {now[name]}.",
                hint="Give the same to go on with that run, or another --out for a new one.",
            )


def _said(config: RunConfig) -> dict[str, Any]:
    def text(path: Path | None) -> str | None:
        return None if path is None else str(path.absolute())

    paths = {name: text(getattr(config, name)) for name in ("input", "tolls", "segments", "pond")}
    return {**paths, "today": config.today}
