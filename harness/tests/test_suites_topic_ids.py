"""No scenario is answered by the topics' ids: brokers draw them by lot, and assign topics in their order."""

import hashlib
import uuid
from collections.abc import Mapping

import pytest

from harness.orchestration.reference_runs import ReferenceRuns
from harness.runner.sharing import asked_config
from harness.scenario.script import Script
from harness.targets.reference.target import DEFAULT_PROFILE
from harness.tests.completed_runs import catalogue
from reference_coordinator.broker import topics
from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.map_order import uuid_hash_code

pytestmark = pytest.mark.slow

_BY_TOPIC_ID = {"ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"}


async def test_answers_are_the_same_in_whatever_order_the_ids_of_topics_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripts = [script for script in catalogue().values() if _BY_TOPIC_ID.intersection(script.apis)]
    monkeypatch.setattr(topics, "_topic_id", _in_order_of_names)
    in_order = await _digests(scripts)
    monkeypatch.setattr(topics, "_topic_id", _in_reverse)
    in_reverse = await _digests(scripts)
    assert len(in_order) > 100
    assert {name for name in in_order if in_order[name] != in_reverse[name]} == set()


def _in_order_of_names(name: str) -> TopicId:
    """Return an id that begins like the name; its partitions are in order in a map."""
    return _id(int.from_bytes(name.encode()[:8].ljust(8, b"\0")), name, first=0)


def _in_reverse(name: str) -> TopicId:
    """Return an id with which any two topics change places, and the first partition comes last in a map."""
    return _id(int.from_bytes(name.encode()[:8].ljust(8, b"\0")) ^ (1 << 64) - 1, name, first=15)


def _id(begin: int, name: str, *, first: int) -> TopicId:
    """Return an id whose first partition is in one of the 16 buckets of a small HashMap of partitions."""
    for salt in range(1 << 16):
        rest = hashlib.sha256(f"{salt}/{name}".encode()).digest()[:8]
        drawn = str(uuid.UUID(int=begin << 64 | int.from_bytes(rest)))
        spread = 31 * uuid_hash_code(drawn) & 0xFFFFFFFF
        if (spread ^ spread >> 16) & 15 == first:
            return TopicId(drawn)
    raise AssertionError(name)


async def _digests(scripts: list[Script]) -> Mapping[str, str]:
    runs = ReferenceRuns(DEFAULT_PROFILE)
    return {script.id: await runs.trace(script, asked_config(script)) for script in scripts}
