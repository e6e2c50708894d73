"""Client scripts with both protocols of groups: what differs between them, and where neither can be run."""

import pytest

from harness.clients.collect import collect_client_scripts, record
from harness.clients.language import RANGE, Feature, GroupProtocol, Play, assigned, client_script
from harness.clients.libraries import LIBRARIES, ClientLibrary
from harness.clients.steps import ClientScript, Launch, Settle
from harness.clients.suitability import BROKER_CONFIG, CONSUMER_CONFIG, config_for, has_share_groups, why_not
from harness.scenario.errors import ScenarioError
from harness.targets.spec import parse_target
from reference_coordinator.profile.config import GroupCoordinatorConfig
from suites.clients.assignments import settles_shared

CONFLUENT = LIBRARIES["confluent-kafka"]
JAVA = ClientLibrary(name="java", version="4.4.0", command=())


@client_script("clients/small/both", source="RangeAssignor#assign", consumer_source="KIP-848")
def both(play: Play) -> None:
    """A consumer is assigned what there is."""
    orders = play.topic("orders", partitions=2)
    ana = play.client("ana", assignor=RANGE, group_remote_assignor=RANGE, session_timeout_ms=30_000)
    ana.subscribes(orders)
    play.settles(
        {ana: orders.partitions},
        callbacks={ana: play.by_protocol(classic=[assigned(2)], consumer=[assigned(1)])},
    )


def settings_of(script: ClientScript) -> dict[str, object]:
    (launch,) = (step for step in script.steps if isinstance(step, Launch))
    return dict(launch.settings)


def test_a_script_is_recorded_with_each_protocol_that_it_names_a_source_of() -> None:
    classic, consumer = record(both), record(both, GroupProtocol.CONSUMER)

    assert (classic.id, classic.source) == ("clients/small/both", "RangeAssignor#assign")
    assert (consumer.id, consumer.source) == ("clients/consumer/small/both", "KIP-848")
    assert [each.protocol for each in (classic, consumer)] == ["classic", "consumer"]


def test_what_is_expected_may_differ_where_the_protocols_do() -> None:
    counts = [
        step.callbacks["ana"]
        for script in (record(both), record(both, GroupProtocol.CONSUMER))
        for step in script.steps
        if isinstance(step, Settle)
    ]

    assert counts == [(assigned(2),), (assigned(1),)]


def test_a_script_is_not_recorded_with_a_protocol_that_it_is_not_for() -> None:
    @client_script("clients/small/classic", source="RangeAssignor#assign")
    def classic(play: Play) -> None:
        """Nobody comes."""
        play.elapses(1)

    with pytest.raises(ScenarioError, match="names no source for the consumer protocol"):
        record(classic, GroupProtocol.CONSUMER)


def test_members_get_settings_that_their_protocol_knows() -> None:
    classic, consumer = record(both), record(both, GroupProtocol.CONSUMER)

    assert settings_of(classic) == {
        "group_id": "group",
        "assignor": "range",
        "session_timeout_ms": 30_000,
        "heartbeat_interval_ms": 500,
    }
    assert settings_of(consumer) == {
        "group_id": "group",
        "group_protocol": "consumer",
        "group_remote_assignor": "range",
    }


def test_members_of_consumer_groups_need_no_assignor_of_their_library() -> None:
    assert record(both).uses == (Feature.RANGE,)
    assert record(both, GroupProtocol.CONSUMER).uses == (Feature.CONSUMER_PROTOCOL,)


FEATURES = {
    "consumer": Feature.CONSUMER_PROTOCOL,
    "share": Feature.SHARE_GROUPS,
    "streams": Feature.STREAMS_GROUPS,
}


@pytest.mark.parametrize("script", collect_client_scripts().values(), ids=lambda each: each.id)
def test_only_scripts_named_so_use_another_protocol_than_the_classic(script: ClientScript) -> None:
    launched = [step.settings for step in script.steps if isinstance(step, Launch)]
    members = [settings for settings in launched if "group_id" in settings]
    named = script.id.split("/")[1]
    protocol = named if named in FEATURES else None

    assert {settings.get("group_protocol") for settings in members} <= {protocol}
    expected = {FEATURES[protocol]} if protocol is not None and members else set()
    assert {*script.uses} & {*FEATURES.values()} == expected


def test_new_groups_are_asked_for_where_brokers_have_them() -> None:
    scripts, target = collect_client_scripts(), parse_target("kafka:latest")

    def reason(script_id: str, profile: str) -> str | None:
        return why_not(scripts[script_id], JAVA, target, profile)

    assert "share groups are missing or a preview" in (reason("clients/share/admin/deletes", "4.0.2") or "")
    assert reason("clients/share/admin/deletes", "4.1.2") is None
    assert "does not do this" in (reason("clients/share/admin/rewinds", "4.1.2") or "")
    assert reason("clients/share/admin/rewinds", "4.2.1") is None
    assert "streams groups are" in (reason("clients/streams/admin/deletes", "4.1.2") or "")
    assert reason("clients/streams/admin/deletes", "4.2.1") is None


def test_a_library_may_need_a_later_release_than_the_protocol() -> None:
    script = collect_client_scripts()["clients/share/delivery/three-members-share"]
    older, newer = parse_target("kafka:4.1.2"), parse_target("kafka:4.2.1")

    assert "cannot read a member id" in (why_not(script, CONFLUENT, older, "4.1.2") or "")
    assert why_not(script, CONFLUENT, newer, "4.2.1") is None
    assert why_not(script, JAVA, older, "4.1.2") is None
    assert [has_share_groups(CONFLUENT, profile) for profile in ("4.1.2", "4.2.1")] == [False, True]
    assert [has_share_groups(JAVA, profile) for profile in ("4.0.2", "4.1.2")] == [False, True]


def test_what_only_java_can_do_with_new_groups_is_not_asked_of_others() -> None:
    scripts, target = collect_client_scripts(), parse_target("kafka:latest")

    def able(script_id: str) -> list[str]:
        script = scripts[script_id]
        libraries = (*LIBRARIES.values(), JAVA)
        return [each.name for each in libraries if why_not(script, each, target, "4.2.1") is None]

    assert able("clients/share/delivery/closes-with-records") == ["confluent-kafka", "java"]
    assert able("clients/share/group/session-ends") == ["java"]
    assert able("clients/streams/tasks/standby") == ["java"]


def test_consumer_groups_are_not_asked_for_before_4_0() -> None:
    script, target = record(both, GroupProtocol.CONSUMER), parse_target("kafka:3.9.2")

    assert "kafka:3.9.2 is of Kafka 3.9.2" in (why_not(script, CONFLUENT, target, "3.9.2") or "")
    assert why_not(record(both), CONFLUENT, target, "3.9.2") is None
    assert why_not(script, CONFLUENT, parse_target("kafka:4.0.2"), "4.0.2") is None


def test_a_library_without_the_consumer_protocol_says_so() -> None:
    script, target = record(both, GroupProtocol.CONSUMER), parse_target("kafka:4.0.2")

    assert "group.protocol" in (why_not(script, LIBRARIES["kafka-python"], target, "4.0.2") or "")


def test_sessions_that_are_not_ours_to_shorten_are_not_waited_for() -> None:
    scripts, theirs = collect_client_scripts(), parse_target("external:127.0.0.1:9092")

    waits = scripts["clients/consumer/rebalance/times-out"]
    assert "session timeout" in (why_not(waits, CONFLUENT, theirs, "4.3.1") or "")
    assert why_not(scripts["clients/consumer/rebalance/bounces"], CONFLUENT, theirs, "4.3.1") is None
    assert why_not(waits, CONFLUENT, parse_target("kafka:4.3.1"), "4.3.1") is None


@pytest.mark.parametrize(
    ("spec", "config"),
    [
        ("kafka:4.3.1", {**BROKER_CONFIG, **CONSUMER_CONFIG}),
        ("kafka:4.3.1*3", dict(CONSUMER_CONFIG)),
        ("reference", dict(CONSUMER_CONFIG)),
        ("reference-tcp", {**BROKER_CONFIG, **CONSUMER_CONFIG}),
        ("reference-tcp:4.3.1*3", dict(CONSUMER_CONFIG)),
        ("external:127.0.0.1:9092", {}),
    ],
)
def test_brokers_of_ours_are_made_quick(spec: str, config: dict[str, str]) -> None:
    assert config_for(parse_target(spec)) == config


def test_the_reference_takes_all_properties_that_brokers_get() -> None:
    config = GroupCoordinatorConfig.from_properties({**BROKER_CONFIG, **CONSUMER_CONFIG})

    assert config.named == {*BROKER_CONFIG, *CONSUMER_CONFIG}


def test_who_gets_what_is_free_in_consumer_groups_but_for_static_members_by_range() -> None:
    def shared(protocol: GroupProtocol, **settings: str) -> Settle:
        play = Play(protocol)
        orders = play.topic("orders", partitions=3)
        ana, bob = (
            play.client(name, group_instance_id=name, **settings) if settings else play.client(name)
            for name in ("ana", "bob")
        )
        settles_shared(play, {ana: [orders], bob: [orders]})
        step = play.steps[-1]
        assert isinstance(step, Settle)
        return step

    exact = {"ana": ("orders-0", "orders-1"), "bob": ("orders-2",)}
    assert shared(GroupProtocol.CLASSIC).owns == exact
    assert shared(GroupProtocol.CONSUMER, group_remote_assignor=RANGE).owns == exact
    free = shared(GroupProtocol.CONSUMER)
    assert (free.owns, free.sizes) == (None, (2, 1))
