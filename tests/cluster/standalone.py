"""A cluster on one machine: Spark's own standalone Master, and Workers each in a network namespace of its own.

    root namespace    the pond's process with Spark's driver, the Master; on a bridge, 10.213.N.1
    a namespace each  a Worker of one core, and what it starts: an executor, and its Python workers; on a veth pair, 10.213.N.2, ...;
                      it has a host name of its own, too

So processes on different Workers reach each other by their addresses alone, a link can be cut, and what listens on loopback is
reached by nobody. The file system is one: that is the shared folder. Nothing leaves these networks.

Everything carries the number of the process that made it. It is put away by `close`; Master and Workers end with their process
also when that is killed, and networks that a killed process left are put away by the next.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

_HOME = Path(pyspark.__file__).parent
_PATIENCE = 90.0  # seconds until something that is started must be there
_LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss512k"
_BRIDGE = re.compile(r"mp(\d+)")
_LOCK = Path(tempfile.gettempdir()) / "millpond-test-networks.lock"
_pause = threading.Event()


def why_not() -> str | None:
    """Why there can be no such cluster here; None if there can."""
    if sys.platform != "linux":
        return "network namespaces are of Linux"
    missing = [program for program in ("ip", "setpriv", "unshare", "hostname", "java") if shutil.which(program) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (packages iproute2, util-linux, hostname, openjdk-17-jre-headless)"
    name = f"mp{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"no network namespace can be made here: {made.stderr.strip()}"
    _ip("netns", "del", name)
    tried = subprocess.run(
        ["ip", "link", "add", f"mp{os.getpid()}", "type", "bridge"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        return f"no bridge can be made here: {tried.stderr.strip()}"
    _ip("link", "del", f"mp{os.getpid()}")
    return None


def wait_until(what: Callable[[], Any], why: str, seconds: float = _PATIENCE) -> Any:
    """What `what` gives, once it gives something."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"not within {seconds:.0f} seconds: {why}"
        _pause.wait(0.02)
    return found


@dataclass
class Host:
    """A namespace with a Worker in it."""

    name: str
    link: str  # its end of the veth pair that is outside
    address: str
    worker: subprocess.Popen[bytes] | None = None

    def up(self) -> None:
        _ip("link", "set", self.link, "up")

    def down(self) -> None:
        """Cut the network: nothing arrives, and nobody is told."""
        _ip("link", "set", self.link, "down")

    def executors(self) -> list[int]:
        assert self.worker is not None
        return [p for p, line in descendants(self.worker.pid).items() if "CoarseGrainedExecutorBackend" in line]

    def python_workers(self) -> list[int]:
        """Those that do tasks: children of the process that forks them."""
        assert self.worker is not None
        daemons = [p for p, line in descendants(self.worker.pid).items() if "pyspark.daemon" in line]
        return [p for p in daemons if any(p in children(d) for d in daemons)]


class Cluster:
    """A Master and some Workers. `folder` gets their logs and work folders."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.hosts: list[Host] = []
        self._bridge = f"mp{os.getpid()}"
        self._master: subprocess.Popen[bytes] | None = None
        try:
            with _alone():
                _put_away_left()
                self.address = self._make_network(workers)
            self._start(workers)
        except BaseException:
            self.close()
            raise

    @property
    def master(self) -> str:
        return f"spark://{self.address}:7077"

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a pond whose pipeline runs here."""
        return {
            "spark_master": self.master,
            "driver_host": self.address,
            "spark_conf": {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": "-XX:+UseSerialGC"},
        }

    def _make_network(self, workers: int) -> str:
        used = {entry["local"] for link in json.loads(_ip("-json", "addr")) for entry in link["addr_info"]}
        number = next(n for n in range(1, 255) if f"10.213.{n}.1" not in used)
        address = f"10.213.{number}.1"
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("addr", "add", f"{address}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")
        for place in range(workers):
            host = Host(f"{self._bridge}-{place}", f"{self._bridge}v{place}", f"10.213.{number}.{place + 2}")
            _ip("netns", "add", host.name)
            self.hosts.append(host)
            _ip("link", "add", host.link, "type", "veth", "peer", "name", "eth0", "netns", host.name)
            _ip("link", "set", host.link, "master", self._bridge, "up")
            _ip("-netns", host.name, "addr", "add", f"{host.address}/24", "dev", "eth0")
            _ip("-netns", host.name, "link", "set", "eth0", "up")
            _ip("-netns", host.name, "link", "set", "lo", "up")
        return address

    def _start(self, workers: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._master = self._spark("master", self.address, [], "master.Master", "--port", "7077")
        wait_until(lambda: "I have been elected leader" in self.log("master"), "the Master runs")
        for host in self.hosts:
            self.start_worker(host)
        wait_until(lambda: self.registered() >= workers, "the Workers are registered")

    def start_worker(self, host: Host) -> None:
        """Start a Worker, as at first or in the place of one that has ended."""
        if host.worker is not None:
            host.worker.wait(_PATIENCE)
        host.worker = self._spark(
            host.name, host.address, ["ip", "netns", "exec", host.name, "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host.name],
            "worker.Worker", "--cores", "1", "--memory", "512m", "--work-dir", str(self.folder / "work" / host.name), self.master,
        )  # fmt: skip

    def registered(self) -> int:
        """How many Workers have ever registered."""
        return self.log("master").count("Registering worker")

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _spark(self, name: str, address: str, within: list[str], *what: str) -> subprocess.Popen[bytes]:
        """Start a part of Spark, that ends with this process."""
        environment = {
            **os.environ,
            "SPARK_HOME": str(_HOME),
            "SPARK_LOCAL_IP": address,
            "SPARK_DAEMON_MEMORY": "128m",
            "SPARK_DAEMON_JAVA_OPTS": _LEAN,
            "SPARK_LAUNCHER_OPTS": _LEAN,
        }
        command = [
            str(_HOME / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{what[0]}",
            "--host",
            address,
            "--webui-port",
            "0",
        ]
        with open(self.folder / f"{name}.log", "ab") as log:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *within, *command, *what[1:]],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def close(self) -> None:
        """End it all. Executors and their Python workers end with their Workers, and are ended if they do not."""
        started = [process for process in [self._master, *(host.worker for host in self.hosts)] if process is not None]
        family = [p for process in started for p in (process.pid, *descendants(process.pid))]
        for process in [*family, *(p for host in self.hosts for p in _within(host.name))]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for started_one in started:
            started_one.wait(_PATIENCE)
        for host in self.hosts:
            _ip("netns", "del", host.name, check=False)
        _ip("link", "del", self._bridge, check=False)


# -- processes -----------------------------------------------------------------------------------------------------------------


def _parents() -> dict[int, int]:
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    found[int(entry.name)] = int(parent)
    return found


def children(process: int) -> list[int]:
    return [p for p, parent in _parents().items() if parent == process]


def descendants(process: int) -> dict[int, str]:
    """The living descendants of a process, with their command lines."""
    parents = _parents()
    found: dict[int, str] = {}
    todo = [process]
    while todo:
        one = todo.pop()
        for child in [p for p, parent in parents.items() if parent == one]:
            with contextlib.suppress(OSError):
                found[child] = (Path("/proc") / str(child) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            todo.append(child)
    return found


def lives(process: int) -> bool:
    return process in _parents()


def kill(process: int) -> None:
    """kill -9, and wait until it is gone."""
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: not lives(process), "the killed process is gone")


def _within(name: str) -> list[int]:
    """The processes in a namespace."""
    return [int(p) for p in _ip("netns", "pids", name, check=False).split()]


# -- networks ------------------------------------------------------------------------------------------------------------------


def _ip(*what: str, check: bool = True) -> str:
    done = subprocess.run(["ip", *what], capture_output=True, text=True, check=False, timeout=60)
    assert not check or done.returncode == 0, f"ip {' '.join(what)}: {done.stderr}"
    return done.stdout


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """No other process of tests makes or puts away networks meanwhile."""
    with open(_LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _put_away_left() -> None:
    """Put away the networks of processes that were killed."""
    for name in [line.split()[0] for line in _ip("netns", "list").splitlines() if line]:
        if _is_left(name):
            for process in _within(name):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            _ip("netns", "del", name, check=False)
    for link in json.loads(_ip("-json", "link", "show", "type", "bridge") or "[]"):
        if _is_left(link.get("ifname", "")):
            _ip("link", "del", link["ifname"], check=False)


def _is_left(name: str) -> bool:
    found = _BRIDGE.match(name)
    return found is not None and not Path(f"/proc/{found[1]}").exists()
