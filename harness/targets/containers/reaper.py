"""Takes away a process's containers when that process ends, also by a signal that nobody can catch.

`python -m harness.targets.containers.reaper SESSION` reads its standard input, which its starter keeps open.
At its end the starter is gone; it was an orderly end if there is a word to read.
"""

import sys
import time
from contextlib import suppress
from typing import Final

from harness.targets.base.interface import TargetError
from harness.targets.containers.engine import remove_session

_ROUNDS: Final = 4
_PAUSE_S: Final = 1.0
"""A container that the engine was asked for in the starter's last moment may come after the first round."""


def main(session: str) -> None:
    """Wait for the end of standard input, then take away what is labelled with a session."""
    was_orderly = bool(sys.stdin.read())
    with suppress(TargetError):
        remove_session(session)
        for _ in range(0 if was_orderly else _ROUNDS):
            time.sleep(_PAUSE_S)
            remove_session(session)


if __name__ == "__main__":
    main(sys.argv[1])
