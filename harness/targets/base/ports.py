"""Free ports of the loopback interface for brokers to listen on."""

import secrets
import socket
from typing import Final

from harness.targets.base.interface import TargetError

_FIRST: Final = 20000
_COUNT: Final = 12000
"""The range ends below the ports that systems use for outgoing connections, of which a run makes hundreds."""
_TRIES: Final = 200
_given: Final[set[int]] = set()


def free_port() -> int:
    """Return a port that nobody listens on and that this process has not returned before.

    Another process may still take it before the listener does, so a listener must check.
    """
    for _ in range(_TRIES):
        port = _FIRST + secrets.randbelow(_COUNT)
        if port not in _given and _can_bind(port):
            _given.add(port)
            return port
    raise TargetError(
        f"no free port was found on 127.0.0.1 between {_FIRST} and {_FIRST + _COUNT}: stop what listens there"
    )


def _can_bind(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
