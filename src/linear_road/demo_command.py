"""The `millpond demo` command: Linear Road, small and live. What it needs is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[
        Path, typer.Option("--out", help="A folder for the demo; that of an earlier demo is replaced.")
    ] = Path("demo"),
    speed: Annotated[float, typer.Option("--speed", help="How many times as fast as real traffic.", min=1)] = 8,
) -> None:
    """See it work: Linear Road, small and live.

    Eight minutes of an expressway's traffic with an accident and tolls are generated, answered on a live screen, validated and
    reported. The exit code is 1 if an answer is wrong; on a busy machine some may be late, which is told.
    """
    from linear_road.demo import run_demo

    if not run_demo(out, speed=speed):
        raise typer.Exit(1)
