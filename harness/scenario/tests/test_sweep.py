"""Sweeps: one text, a scenario for each version of an API."""

from dataclasses import replace

import pytest

from harness.orchestration.plan import select_scripts
from harness.runner.applicable import why_not_applicable
from harness.scenario import (
    Conversation,
    ScenarioError,
    Sweep,
    ask,
    record,
    record_each,
    scenario,
    sweep,
)
from harness.scenario.registry import ScenarioFunction, SweptFunction
from harness.targets.base.interface import ApiRange, BrokerDescription
from harness.tests.made_events import BARE_BROKER
from harness.wire.schema import api_key

BEATS = Sweep(api="Heartbeat", lowest=1, highest=3)


def beat(conversation: Conversation, version: int) -> None:
    """Heartbeat v{version} of nobody is refused.

    So it is in v{version} alone.
    """
    heartbeat = ask.heartbeat(version=version, member_id="nobody", generation_id=1)
    conversation.actor("ana").asks(heartbeat, error_code="UNKNOWN_MEMBER_ID")


def swept(function: SweptFunction, versions: Sweep = BEATS) -> SweptFunction:
    """Sweep a function; a copy of it, since the decorator marks what it is given."""

    def copy(conversation: Conversation, version: int) -> None:
        function(conversation, version)

    copy.__doc__ = function.__doc__
    return scenario("classic/test/beat", source="KIP-1", clauses=("HB-05",), sweep=versions)(copy)


def test_a_sweep_is_a_scenario_for_each_version() -> None:
    scripts = record_each(swept(beat))
    assert len(scripts) == 3
    for version, script in enumerate(scripts, start=1):
        assert script.id == f"classic/test/beat/v{version}"
        assert script.title == f"Heartbeat v{version} of nobody is refused."
        assert script.notes == f"So it is in v{version} alone."
        assert script.api_versions == (("Heartbeat", version),)
    assert {(script.source, script.clauses) for script in scripts} == {("KIP-1", ("HB-05",))}


def test_what_is_not_swept_is_one_scenario() -> None:
    @scenario("classic/test/beat", source="KIP-1")
    def once(conversation: Conversation) -> None:
        """Heartbeat is refused."""
        beat(conversation, 2)

    assert record_each(once) == (record(once),)


def of_another_version(conversation: Conversation, version: int) -> None:
    """Heartbeat v{version} is sent as v4."""
    assert version < 4
    beat(conversation, 4)


def without_its_version(conversation: Conversation, version: int) -> None:
    """Some version of Heartbeat is refused."""
    beat(conversation, version)


def reported_nothing(conversation: Conversation) -> None:
    """Heartbeat v{version} is refused."""
    beat(conversation, 1)


@pytest.mark.parametrize(
    ("function", "versions", "says"),
    [
        (of_another_version, BEATS, "classic/test/beat/v1: it is swept over Heartbeat, and sends none of v1"),
        (without_its_version, BEATS, "its sentence has to name the version"),
        (reported_nothing, BEATS, "classic/test/beat/v1: its function fails: TypeError"),
        (beat, sweep("Heartbeat", 3, 2), "classic/test/beat: its sweep over Heartbeat v3 to v2 has no"),
        (beat, sweep("Heartbeat", 3, 6), "Heartbeat v3 to v6 the codec .* does not know v5, v6"),
        (beat, sweep("Heartbeats", 0, 0), "does not know v0"),
    ],
)
def test_a_faulty_sweep_is_refused_by_name(
    function: SweptFunction | ScenarioFunction, versions: Sweep, says: str
) -> None:
    with pytest.raises(ScenarioError, match=says):
        record_each(swept(function, versions))  # type: ignore[arg-type] # one is wrong on purpose


def test_a_sweep_is_no_single_script() -> None:
    with pytest.raises(ScenarioError, match="a sweep of 3 scenarios"):
        record(swept(beat))  # type: ignore[arg-type] # wrong on purpose


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        ("classic/test/beat", ["v1", "v2", "v3"]),
        ("classic/test/beat/v2", ["v2"]),
        ("classic/*/beat/v3", ["v3"]),
        ("classic/**", ["v1", "v2", "v3"]),
    ],
)
def test_a_sweep_is_chosen_as_a_whole_or_by_version(pattern: str, chosen: list[str]) -> None:
    scripts = {script.id: script for script in record_each(swept(beat))}
    assert [name.rsplit("/", 1)[1] for name in select_scripts(scripts, [pattern])] == chosen


def serving(api: str, min_version: int, max_version: int) -> BrokerDescription:
    served = ApiRange(api_key=api_key(api), min_version=min_version, max_version=max_version)
    return replace(BARE_BROKER, api_ranges=(served,))


@pytest.mark.parametrize(
    ("broker", "why_not"),
    [
        (BARE_BROKER, "kafka:9.9.9 does not serve ConsumerGroupHeartbeat"),
        (
            serving("ConsumerGroupHeartbeat", 0, 0),
            "kafka:9.9.9 serves an early form of consumer groups, of before Kafka 4.0",
        ),
        (serving("ConsumerGroupHeartbeat", 0, 1), None),
    ],
)
def test_an_early_form_of_consumer_groups_is_none(broker: BrokerDescription, why_not: str | None) -> None:
    def heartbeats(conversation: Conversation) -> None:
        """A stranger is refused."""
        conversation.member("ana").heartbeats(version=0, epoch=1, error_code="GROUP_ID_NOT_FOUND")

    script = record(scenario("consumer_groups/test/early", source="GroupMetadataManager#x")(heartbeats))
    assert why_not_applicable(script, (), broker) == why_not


def test_each_version_is_reported_by_itself_what_is_not_served() -> None:
    broker = serving("Heartbeat", 2, 4)
    reasons = [why_not_applicable(script, (), broker) for script in record_each(swept(beat))]
    assert reasons == ["kafka:9.9.9 serves Heartbeat v2 to v4, not v1", None, None]
