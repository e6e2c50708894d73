"""Python's collector of garbage in a server: no answer has it look at everything."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from reference_coordinator.__main__ import quieten_collector
from reference_coordinator.broker.listener import SendFrame
from reference_coordinator.core.ids import Millis
from reference_coordinator.server.tests.test_server import listener
from reference_coordinator.tests.wire_client import request_frame

PARTITIONS = 4_000


@pytest.fixture(name="collected")
def _collected() -> Iterator[list[int]]:
    """Give the generations that were collected, in the order of happening."""
    before = gc.get_threshold()
    generations: list[int] = []

    def note(phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            generations.append(info["generation"])

    gc.collect()
    gc.callbacks.append(note)
    try:
        yield generations
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)
        gc.unfreeze()


@pytest.mark.slow
def test_a_large_answer_has_nothing_old_looked_at(collected: list[int]) -> None:
    broker = listener("3.9")("127.0.0.1", 9092)
    broker.apis.broker.topics.create("wide", PARTITIONS)
    client = broker.connected(client_host="127.0.0.1")
    quieten_collector()
    for _ in range(3):
        (answer,) = broker.received(client, request_frame("metadata", 1, topics=None), now_ms=Millis(0))
        assert isinstance(answer, SendFrame)
    assert set(collected) <= {0}
