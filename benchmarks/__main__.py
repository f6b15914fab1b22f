"""`python -m benchmarks [names] [--quick]`: run benchmarks, each in a process of its own, or one of them in this one."""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = (
    "startup",
    "latency",
    "peers",
    "generator",
    "exchange",
    "history",
    "queries",
    "intake",
    "many",
    "standing_matching",
    "flow",
    "state",
    "synopses",
    "correlated",
    "series",
    "approximate",
    "standing",
    "standing_many",
    "standing_ask",
    "standing_old_rows",
    "standing_memory",
    "reduced",
    "reduced_big",
    "overload",
    "moves",
    "scale",
    "linear_road_peers",
)
"""Quick ones first, so that a mistake shows early."""


def main() -> int:
    options = _arguments()
    if options.list:
        for name in NAMES:
            print(f"{name:17} {_about(name)}")
        return 0
    names = options.names or list(NAMES)
    if len(names) > 1:  # a process each: no session, cache or memory of one is there for the next
        rest = [a for a in sys.argv[1:] if a not in names]
        codes = [subprocess.run([sys.executable, "-m", "benchmarks", n, *rest], cwd=ROOT).returncode for n in names]
        return max(codes)
    return _run(names[0], options)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], metavar="name", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--list", action="store_true", help="say what each one measures, and end")
    parser.add_argument("--quick", action="store_true", help="small sizes, in seconds: does it work, not how fast")
    parser.add_argument("--workdir", type=Path, help="where big intermediate data goes (removed again); 25 GB")
    parser.add_argument("--results", type=Path, help="where results go; benchmarks/results[/quick] unless told")
    parser.add_argument("--files", choices=("csv", "parquet"), default="csv", help="what `intake` reads")
    return parser.parse_args()


def _run(name: str, arguments: argparse.Namespace) -> int:
    # Spark's workers must find this package and the product, also when neither is installed.
    paths = [str(ROOT / "src"), str(ROOT)]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    from benchmarks.harness import Options, Report

    results = arguments.results or ROOT / "benchmarks" / "results" / ("quick" if arguments.quick else "")
    if arguments.workdir is not None:
        arguments.workdir.mkdir(parents=True, exist_ok=True)
    workdir = Path(tempfile.mkdtemp(prefix=f"millpond-{name}-", dir=arguments.workdir))
    workdir.chmod(0o755)  # PostgreSQL runs as another user, and its folder is in here
    try:
        options = Options(arguments.quick, workdir, arguments.files)
        report = Report(name, _about(name), options)
        importlib.import_module(f"benchmarks.{name}").run(options, report)
        report.write(results)
    finally:
        shutil.rmtree(workdir, ignore_errors=True)
    return 0


def _about(name: str) -> str:
    """The first line of the module's text, without importing it."""
    return (ROOT / "benchmarks" / f"{name}.py").read_text().split("\n", 1)[0].strip('"')


if __name__ == "__main__":
    sys.exit(main())
