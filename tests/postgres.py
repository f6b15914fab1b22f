"""A PostgreSQL server of our own, for tests and benchmarks: made in a folder, stopped at the end.

    with running_postgres(tmp_path) as dsn:        # stopped when the block ends
        ...
    dsn = start_postgres(folder)                   # stopped when this process ends

The server listens on a Unix socket and on a free port of the loopback interface. It is stopped also when this process
is killed: Linux sends it SIGINT then (PR_SET_PDEATHSIG, set by `_BECOME` between fork and exec).

PostgreSQL refuses to run as root. When we are root it runs as `postgres`, or `nobody` where that user is missing, and
its folder then belongs to that user. pytest keeps its temporary folders closed to other users; a folder the server
could not enter is left alone and the server gets one of its own under /tmp, removed when it stops.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

FIND = Path(__file__).parent.parent / "scripts" / "find-postgres"
START_SECONDS = 60.0
STOP_SECONDS = 30.0
# A Unix socket's path has at most 107 bytes, of which "/.s.PGSQL.12345" takes 15.
LONGEST_FOLDER = 90

# Becomes another user (argument 1: its number, or "-"), asks to be told when the parent (argument 2) dies, and becomes
# the program in the other arguments. It is a program and not a `preexec_fn`, because Python code between fork and exec
# may deadlock in a process with threads (and is warned about). Changing user comes first: it forgets the request.
_BECOME = """
import ctypes, os, pwd, signal, sys
user, parent, program = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
if user != "-":
    entry = pwd.getpwuid(int(user))
    os.initgroups(entry.pw_name, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGINT, 0, 0, 0)  # 1 is PR_SET_PDEATHSIG; SIGINT is a fast, clean shutdown
    if os.getppid() != parent:
        sys.exit("the process that wanted a PostgreSQL server is gone")
os.execv(program[0], program)
"""


def start_postgres(folder: Path, settings: Mapping[str, str] | None = None) -> str:
    """Start a server in `folder`; return its connection string. It is stopped when this process ends.

    `settings` are those of postgresql.conf. Without any, the server is as durable as it comes: fsync is on.
    """
    server = _start(folder, settings or {})
    atexit.register(server.stop)
    return server.dsn


@contextlib.contextmanager
def running_postgres(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """The same for the length of a `with` block."""
    server = _start(folder, settings or {})
    try:
        yield server.dsn
    finally:
        server.stop()


@dataclass
class _Server:
    process: subprocess.Popen[bytes]
    dsn: str
    own_folder: Path | None  # to be removed with the server

    def stop(self) -> None:
        """Fast shutdown, then an immediate one, then none of its own choosing. Calling it again does nothing."""
        for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            if self.process.poll() is not None:
                break
            self.process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
        if self.own_folder is not None:
            shutil.rmtree(self.own_folder, ignore_errors=True)


def _start(folder: Path, settings: Mapping[str, str]) -> _Server:
    programs = _programs()
    user = _server_user()
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    own_folder = None
    if len(os.fsencode(folder)) > LONGEST_FOLDER or (user is not None and not _can_enter(folder.parent, user)):
        folder = own_folder = Path(tempfile.mkdtemp(prefix="millpond-postgres-", dir="/tmp"))
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    try:
        password = secrets.token_hex(8)
        _initdb(programs, folder, user, password)
        process, port = _run(programs, folder, user, settings)
    except BaseException:
        if own_folder is not None:
            shutil.rmtree(own_folder, ignore_errors=True)
        raise
    return _Server(process, f"postgresql://millpond:{password}@127.0.0.1:{port}/postgres", own_folder)


def _programs() -> Path:
    found = subprocess.run([str(FIND)], capture_output=True, text=True)
    if found.returncode != 0:
        _give_up("no PostgreSQL server programs (initdb, postgres) were found: apt-get install postgresql")
    return Path(found.stdout.strip()).absolute()


def _give_up(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _server_user() -> pwd.struct_passwd | None:
    """Whom the server runs as, or None for ourselves."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    _give_up('PostgreSQL does not run as root, and there is no user "postgres" or "nobody"')


def _can_enter(folder: Path, user: pwd.struct_passwd) -> bool:
    for place in (folder, *folder.parents):
        about = place.stat()
        need = stat.S_IXUSR if about.st_uid == user.pw_uid else stat.S_IXOTH
        if not about.st_mode & need:
            return False
    return True


def _as(user: pwd.struct_passwd | None, *program: str) -> list[str]:
    name = "-" if user is None else str(user.pw_uid)
    return [sys.executable, "-I", "-S", "-c", _BECOME, name, str(os.getpid()), *program]


def _environment() -> dict[str, str]:
    """Ours without what would change the server or its answers."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("PG", "LC_", "LANG"))}


def _initdb(programs: Path, folder: Path, user: pwd.struct_passwd | None, password: str) -> None:
    secret = folder / "password"
    secret.write_text(password)
    secret.chmod(0o600)
    if user is not None:
        os.chown(secret, user.pw_uid, user.pw_gid)
    command = [str(programs / "initdb"), "--pgdata", str(folder / "data"), "--username=millpond", f"--pwfile={secret}"]
    command += ["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"]
    done = subprocess.run(
        _as(user, *command), cwd=folder, env=_environment(), capture_output=True, text=True, timeout=START_SECONDS * 2
    )
    secret.unlink()
    if done.returncode != 0:
        raise RuntimeError(f"initdb failed:\n{done.stdout}{done.stderr}")


def _run(
    programs: Path, folder: Path, user: pwd.struct_passwd | None, settings: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int]:
    """Start the server; once more if another process took the port in the meantime."""
    attempts = 3
    log = folder / "log"
    for attempt in range(1, attempts + 1):
        port = _free_port()
        chosen = {
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": str(folder),
            **settings,
        }
        command = [str(programs / "postgres"), "-D", str(folder / "data")]
        command += [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
        with log.open("wb") as output:
            process = subprocess.Popen(
                _as(user, *command),
                cwd=folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal is for the tests; they stop the server in their time
            )
        if _is_ready(process, folder / "data"):
            return process, port
        if "could not bind" not in log.read_text(errors="replace") or attempt == attempts:
            break
    raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text(errors='replace')[-4000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_ready(process: subprocess.Popen[bytes], data: Path) -> bool:
    """Wait until the server says in postmaster.pid, line 8, that it takes connections."""
    give_up_at = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < give_up_at:
        with contextlib.suppress(OSError):
            lines = (data / "postmaster.pid").read_text().splitlines()
            if len(lines) >= 8 and lines[7].strip() == "ready":
                return True
        time.sleep(0.02)  # a poll; there is nothing to be woken by
    if process.poll() is None:
        process.kill()
        process.wait()
    return False
