"""Connections to PostgreSQL: opening one, a transaction on it, and what a user is told when that fails.

Every call opens a connection and a transaction of its own, so that it also works behind a connection pool. What a user
gets to see never contains the password: texts of libpq about an address it cannot read may quote any part of it and are
dropped (and not kept as `__cause__`), in other texts the password is replaced.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from millpond.errors import EngineError, MillpondError, Unreachable

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 10
# What the text of a value depends on, for the length of a transaction.
_SETTINGS = """
SELECT set_config('timezone', 'UTC', true), set_config('datestyle', 'ISO, YMD', true),
       set_config('extra_float_digits', '3', true), set_config('standard_conforming_strings', 'on', true)
"""


@contextlib.contextmanager
def transaction(dsn: str, failure: str, *, read_only: bool) -> Iterator[psycopg.Connection[Any]]:
    """A transaction that reads and writes times as UTC. PostgreSQL's complaints become an error that says `failure`."""
    connection, secrets = _connect(dsn)
    import psycopg

    error: MillpondError
    try:
        # The connection commits or rolls back, but does not close itself when it is the commit that fails.
        with contextlib.closing(connection), connection:
            connection.read_only = read_only
            connection.execute(_SETTINGS)
            yield connection
        return
    except psycopg.Error as problem:
        said = problem.diag
        facts = [said.message_primary or str(problem), said.message_detail, said.context]
        detail = redact(". ".join(" ".join(f.split()).rstrip(".") for f in facts if f), secrets) + "."
        hint = redact(said.message_hint, secrets) if said.message_hint else None
        if isinstance(problem, psycopg.errors.InsufficientPrivilege):
            hint = hint or f"Grant {'SELECT' if read_only else 'INSERT'} on it to this user."
        # Operational errors are the server's: it was shut down, is out of memory, ended the connection.
        kind = Unreachable if isinstance(problem, psycopg.OperationalError) else EngineError
        error = kind(failure, detail=detail[0].upper() + detail[1:], hint=hint)
    raise error


def _connect(dsn: str) -> tuple[psycopg.Connection[Any], list[str]]:
    """A connection, and what must not be shown."""
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as missing:
        raise EngineError(
            "a table in PostgreSQL needs psycopg, which is not installed", hint="pip install 'millpond[postgres]'"
        ) from missing

    options: dict[str, Any] = {}
    try:
        options = psycopg.conninfo.conninfo_to_dict(dsn)
        readable = _is_sensible(dsn, options)
    except (psycopg.Error, ValueError):
        readable = False
    if not readable:  # raised here and not above, so that libpq's text is not in `__context__` either
        raise EngineError(
            "the address of a PostgreSQL database cannot be read",
            hint="Write 'postgresql://user:password@host:5432/database' or 'host=... dbname=... user=...'. In the "
            "first form, write @ / : ? # and % in a password as %40 %2F %3A %3F %23 and %25.",
        )
    secrets = [str(options[name]) for name in ("password", "sslpassword") if options.get(name)]
    chosen = {"connect_timeout": CONNECT_SECONDS, "application_name": "millpond", **options, "client_encoding": "UTF8"}
    error: MillpondError
    try:
        return psycopg.connect(**chosen, prepare_threshold=None), secrets
    except (psycopg.Error, ValueError) as problem:
        error = _no_connection(problem, chosen, secrets)
    raise error


def _is_sensible(dsn: str, options: dict[str, Any]) -> bool:
    """Whether libpq understood what was meant. It takes an unescaped @ or / in a URI's password for the end of it, and
    then would show the rest of the password as the name of a host, a port or a database.
    """
    if "\0" in dsn:  # the end of a text for libpq, which would ignore the rest
        return False
    if not all(p == "" or p.isdecimal() for p in str(options.get("port") or "").split(",")):
        return False
    is_uri = dsn.lstrip().startswith(("postgresql://", "postgres://"))
    return not (is_uri and any("@" in str(options.get(part) or "") for part in ("host", "hostaddr", "dbname")))


def _no_connection(problem: Exception, options: dict[str, Any], secrets: list[str]) -> Unreachable:
    import psycopg

    host = options.get("host") or options.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
    place = f"PostgreSQL at {host}:{options.get('port') or os.environ.get('PGPORT') or 5432}"
    user = options.get("user") or os.environ.get("PGUSER")
    of_user = f'user "{user}"' if user else "the user"
    said = " ".join(str(problem).split())
    detail = redact(said[:1].upper() + said[1:], secrets)
    if isinstance(problem, psycopg.errors.ConnectionTimeout):
        return Unreachable(
            f"{place} did not answer within {options['connect_timeout']} s",
            hint="Is the address right, and does a firewall stand between?",
        )
    pgconn = problem.pgconn if isinstance(problem, psycopg.Error) else None
    if pgconn is not None and pgconn.needs_password:
        return Unreachable(
            f"{place} wants a password for {of_user}", hint="Write it into the address or into the file ~/.pgpass."
        )
    missing = re.search(r'database "([^"]*)" does not exist', said)
    if missing:
        return Unreachable(f'database "{redact(missing.group(1), secrets)}" does not exist in {place}')
    if "password authentication failed" in said:
        return Unreachable(f"{place} did not accept the password of {of_user}", hint="Check user and password.")
    if pgconn is not None and pgconn.used_password:
        return Unreachable(f"{place} did not let {of_user} in", detail=detail)
    return Unreachable(
        f"{place} cannot be reached", detail=detail, hint="Is the address right, and the server running?"
    )


def redact(text: str, secrets: Sequence[str]) -> str:
    """`text` without the passwords. Only whole words are replaced: a password "a" must not dot every sentence."""
    for secret in secrets:
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return text


def name_text(name: str) -> str:
    from psycopg import sql

    return sql.Identifier(name).as_string()


def literal_text(value: int | date | str) -> str:
    from psycopg import sql

    return sql.Literal(value).as_string()
