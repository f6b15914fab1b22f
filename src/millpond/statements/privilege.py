"""Who may reach beyond the pond: the one place that decides.

Some definitions read files, open connections or run code that a text names. `Statement.privilege` says which; the same holds
for their twins in Python when they are given a text. They need the setting `privileged`. A definition that exists is used
whatever the setting is: who made it was allowed to, and a pond must not change by how it is opened.

A callable needs no privilege: whoever can hand one over runs code in this process anyway.
"""

from __future__ import annotations

from millpond.config import Config
from millpond.errors import NotPermitted


def require(config: Config, what: str | None) -> None:
    """Refuse `what` if it needs a privilege that this process has not."""
    if what is not None and not config.privileged:
        raise NotPermitted(what)
