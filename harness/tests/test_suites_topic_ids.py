"""No scenario is answered by the topics' ids: brokers draw them by lot, and assign topics in their order."""

from collections.abc import Mapping

import pytest

from harness.orchestration.reference_runs import ReferenceRuns
from harness.runner.sharing import asked_config
from harness.scenario.registry import collect
from harness.scenario.script import Script
from harness.targets.reference.target import DEFAULT_PROFILE
from reference_coordinator.broker import topics
from reference_coordinator.core.ids import TopicId

pytestmark = pytest.mark.slow

_DRAWS = 4
"""Two topics change places in half of the draws."""
_BY_TOPIC_ID = {"ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat"}


async def test_answers_are_the_same_whatever_ids_topics_have(monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = [script for script in collect("suites").values() if _BY_TOPIC_ID.intersection(script.apis)]
    made_of_the_name = topics._topic_id
    usual = await _digests(scripts)
    others = []
    for draw in range(_DRAWS):

        def drawn(name: str, draw: int = draw) -> TopicId:
            return made_of_the_name(f"{draw}/{name}")

        monkeypatch.setattr(topics, "_topic_id", drawn)
        others.append(await _digests(scripts))
    assert {name for name in usual for other in others if other[name] != usual[name]} == set()


async def _digests(scripts: list[Script]) -> Mapping[str, str]:
    runs = ReferenceRuns(DEFAULT_PROFILE)
    return {script.id: await runs.trace(script, asked_config(script)) for script in scripts}
