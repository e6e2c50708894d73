"""A reference with a fault may never end, and is found by that."""

import threading
import time

import pytest

from harness.search.mutated import Limit, NeverEndsError


def _never_ends(limit: Limit) -> float:
    def spin() -> None:
        while True:
            pass

    began_s = time.process_time()
    with pytest.raises(NeverEndsError), limit.kept():
        spin()
    return time.process_time() - began_s


@pytest.mark.slow
def test_what_never_ends_is_ended_and_sooner_the_next_time() -> None:
    limit = Limit()
    first_s = _never_ends(limit)

    assert _never_ends(limit) < first_s


def test_what_ends_is_let_be_in_any_thread() -> None:
    ended = []

    def end() -> None:
        with Limit().kept():
            ended.append(True)

    end()
    thread = threading.Thread(target=end)
    thread.start()
    thread.join()

    assert ended == [True, True]
