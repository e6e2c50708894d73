"""Removes a process's containers when that process ends, even by a signal that cannot be caught.

`python -m harness.targets.containers.reaper SESSION` reads its standard input, which its parent keeps open.
At the end of the input the parent has ended; if the input contains a word, the end was orderly.
"""

import sys
import time
from contextlib import suppress
from typing import Final

from harness.targets.base.interface import TargetError
from harness.targets.containers.engine import remove_session

_ROUNDS: Final = 4
_PAUSE_S: Final = 1.0
"""A container requested in the parent's last moment may be created after the first round."""


def main(session: str) -> None:
    """Wait for the end of standard input, then remove everything that is labelled with a session."""
    was_orderly = bool(sys.stdin.read())
    with suppress(TargetError):
        remove_session(session)
        for _ in range(0 if was_orderly else _ROUNDS):
            time.sleep(_PAUSE_S)
            remove_session(session)


if __name__ == "__main__":
    main(sys.argv[1])
