"""What the process of Spark that plans shifts asks the pond's: how many tasks the next shift has.

Executors come and go while a pond is open. So it is asked before each shift, and not told once.
"""

from __future__ import annotations

from millpond.tick.invitation import Invitation
from millpond.tick.wire import WireError, connect


def slots_now(invitation: Invitation) -> int:
    """How many tasks the next shift has; as many as the first had, if the pond's process does not answer."""
    try:
        channel = connect(invitation.host, invitation.port, invitation.secret)
        try:
            channel.send({"is": "plan"})
            return max(1, int(channel.receive()[0]["slots"]))
        finally:
            channel.close()
    except (OSError, EOFError, WireError, KeyError, ValueError):
        return invitation.slots
