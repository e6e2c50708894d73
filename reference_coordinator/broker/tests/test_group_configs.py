"""How groups are configured: what is described, refused and kept, and what the coordinator hears of it."""

import pytest

from reference_coordinator.coordinator.coordinator import GroupCoordinator
from reference_coordinator.core.effects import Effect
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId, Millis
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.group_configs import GroupConfig, evaluate, group_configs
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.profile.topic_configs import ConfigType
from reference_coordinator.tests.crashing_disk import CrashingDisk
from reference_coordinator.tests.kept_broker import KeptBroker
from reference_coordinator.tests.wire_broker import WireClient, connected
from reference_coordinator.tests.wire_tools import APPEND, BROKER, DELETE, GROUP, SET, alter_group, described

OF_BROKER, BY_DEFAULT, OF_GROUP = 4, 5, 8
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
INTERVAL = "consumer.assignment.interval.ms"
Heard = list[tuple[GroupId, GroupConfig]]


@pytest.fixture(name="heard")
def what_coordinators_hear(monkeypatch: pytest.MonkeyPatch) -> Heard:
    heard: Heard = []

    def on_group_configs(
        _: GroupCoordinator, group_id: GroupId, configs: GroupConfig, *, now_ms: Millis
    ) -> tuple[Effect, ...]:
        assert now_ms >= 0
        heard.append((group_id, configs))
        return ()

    monkeypatch.setattr(GroupCoordinator, "on_group_configs", on_group_configs)
    return heard


def values(client: WireClient, *keys: str, name: str = "g") -> dict[str, tuple[str, int]]:
    (result,) = described(client, (GROUP, name, keys or None))
    assert result.error_code == Errors.NONE
    return {each.name: (each.value, each.config_source) for each in result.configs}


def synonyms(client: WireClient, key: str) -> list[tuple[str, str, int]]:
    (result,) = described(client, (GROUP, "g", (key,)), include_synonyms=True)
    return [(each.name, each.value, each.source) for each in result.configs[0].synonyms]


def listed(client: WireClient) -> list[str]:
    answer = client.ask("list_config_resources", 1, resource_types=(GROUP,))
    return [each.resource_name for each in answer.config_resources]


@pytest.mark.parametrize(
    ("profile", "count"), [("4.0", 6), ("4.1", 10), ("4.2", 11), ("4.3", 17), ("4.4", 21)]
)
def test_a_group_that_nobody_configured_has_defaults(profile: str, count: int) -> None:
    found = values(connected(profile))

    assert len(found) == count
    assert (found[SESSION], found[HEARTBEAT]) == (("45000", BY_DEFAULT), ("5000", BY_DEFAULT))
    assert found["share.auto.offset.reset"] == ("latest", BY_DEFAULT)
    assert (INTERVAL in found) == (profile >= "4.3")


def test_values_of_the_broker_apply_to_groups_that_have_none() -> None:
    properties = {"group.consumer.session.timeout.ms": "50000"}
    of_broker = "group.consumer.session.timeout.ms"

    old, new = connected("4.2.1", **properties), connected("4.3.0", **properties)

    assert values(old, SESSION) == {SESSION: ("50000", BY_DEFAULT)}
    assert synonyms(old, SESSION) == [(SESSION, "50000", BY_DEFAULT)]
    assert values(new, SESSION) == {SESSION: ("50000", OF_BROKER)}
    assert synonyms(new, SESSION) == [(of_broker, "50000", OF_BROKER), (of_broker, "45000", BY_DEFAULT)]
    alter_group(new, (SESSION, SET, "60000"))
    assert values(new, SESSION) == {SESSION: ("60000", OF_GROUP)}
    assert synonyms(new, SESSION)[0] == (SESSION, "60000", OF_GROUP)


@pytest.mark.parametrize(("profile", "count"), [("3.9", 0), ("4.2", 10), ("4.3", 13)])
def test_a_broker_is_described_with_the_properties_that_its_release_has(profile: str, count: int) -> None:
    (result,) = described(connected(profile), (BROKER, "1", None))
    found = {each.name: each for each in result.configs if "consumer" in f"{each.name}={each.value}"}

    assert len(found) == count
    if found:
        types = {name: found[name].config_type for name in ("group.consumer.assignors", LEAST)}
        assert types == {"group.consumer.assignors": ConfigType.LIST, LEAST: ConfigType.INT}
        assert found["group.coordinator.rebalance.protocols"].value == "classic,consumer"


def test_an_internal_property_is_described_where_the_broker_was_given_it() -> None:
    name = "group.consumer.regex.refresh.interval.ms"

    (without,) = described(connected("4.4.0"), (BROKER, "1", (name,)))
    (result,) = described(connected("4.4.0", **{name: "10000"}), (BROKER, "1", (name,)))

    assert without.configs == ()
    assert [(each.value, each.config_source) for each in result.configs] == [("10000", OF_BROKER)]


def test_the_coordinator_hears_of_changes(heard: Heard) -> None:
    client = connected("4.4.0")

    assert alter_group(client, (SESSION, SET, "50000"), (INTERVAL, SET, "0")).error_code == Errors.NONE
    alter_group(client, (SESSION, DELETE, None), (HEARTBEAT, SET, "6000"))
    alter_group(client, (HEARTBEAT, DELETE, None), (INTERVAL, DELETE, None))
    alter_group(client, ("share.isolation.level", SET, "read_committed"), name="h")

    assert heard == [
        ("g", GroupConfig(consumer_session_timeout_ms=50_000, consumer_assignment_interval_ms=0)),
        ("g", GroupConfig(consumer_heartbeat_interval_ms=6_000, consumer_assignment_interval_ms=0)),
        ("g", GroupConfig()),
        ("h", GroupConfig()),
    ]


@pytest.mark.parametrize("profile", ["4.3.1", "4.4.0"])
def test_what_java_trims_is_no_part_of_a_number(profile: str, heard: Heard) -> None:
    client = connected(profile)
    answer = alter_group(client, (SESSION, SET, " 50000\x01"), (HEARTBEAT, SET, "\x005000\t"))
    assert answer.error_code == Errors.NONE
    assert heard[-1][1].consumer_session_timeout_ms == 50_000


def test_who_only_validates_changes_nothing(heard: Heard) -> None:
    client = connected("4.4.0")

    assert alter_group(client, (SESSION, SET, "50000"), validate_only=True).error_code == Errors.NONE
    assert alter_group(client, (SESSION, SET, "1"), validate_only=True).error_code == Errors.INVALID_CONFIG

    assert heard == []
    assert values(client, SESSION) == {SESSION: ("45000", BY_DEFAULT)}


LEAST, MOST = "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"
LOW = f"{SESSION} must be greater than or equal to {LEAST}"
HIGH = f"{SESSION} must be less than or equal to {MOST}"
LONGEST_INTERVAL = "group.consumer.max.assignment.interval.ms"
SHORTEST_HEARTBEAT = "group.consumer.min.heartbeat.interval.ms"
STANDBY, DELIVERIES = "streams.num.standby.replicas", "share.delivery.count.limit"
TAGS, TASK_OFFSETS = "streams.rack.aware.assignment.tags", "streams.task.offset.interval.ms"
WARMUPS = "streams.num.warmup.replicas"
DEAD_LETTERS = "errors.deadletterqueue.topic.name"
RANGE = f"{SESSION} must be in the range 45000 to 60000 inclusive."


@pytest.mark.parametrize(
    ("profile", "name", "text", "message"),
    [
        ("4.3.1", SESSION, "44999", LOW),
        ("4.0.0", SESSION, "60001", HIGH),
        ("4.4.0", SESSION, "44999", RANGE),
        ("4.4.0", SESSION, "60001", RANGE),
        ("4.0.0", HEARTBEAT, "0", f"Invalid value 0 for configuration {HEARTBEAT}: Value must be at least 1"),
        ("4.4.0", HEARTBEAT, "x", f"Invalid value x for configuration {HEARTBEAT}: Not a number of type INT"),
        ("4.4.0", "retention.ms", "1", "Unknown group config name: retention.ms"),
        ("4.2.1", INTERVAL, "1", f"Unknown group config name: {INTERVAL}"),
        ("4.3.1", INTERVAL, "15001", f"{INTERVAL} must be less than or equal to {LONGEST_INTERVAL}"),
        (
            "4.1.0",
            STANDBY,
            "3",
            f"{STANDBY} must be less than or equal to group.streams.max.standby.replicas",
        ),
        ("4.4.0", STANDBY, "3", f"{STANDBY} must be less than or equal to 2"),
        ("4.4.0", DELIVERIES, "11", f"{DELIVERIES} must be in the range 2 to 10 inclusive."),
        ("4.4.0", TAGS, "zone, zone", f"{TAGS} must not contain duplicate tag keys."),
        (
            "4.4.0",
            "streams.assignor.name",
            "other",
            (
                "streams.assignor.name 'other' is not a registered task assignor. Registered assignors are: "
                "[sticky]."
            ),
        ),
        ("4.4.0", TASK_OFFSETS, "14999", f"{TASK_OFFSETS} must be greater than or equal to 15000"),
        ("4.4.0", WARMUPS, "21", f"{WARMUPS} must be less than or equal to 20"),
        ("4.4.0", DEAD_LETTERS, "__t", f"{DEAD_LETTERS}: DLQ topic name must not start with '__'"),
    ],
)
def test_what_a_group_cannot_have_is_refused(profile: str, name: str, text: str, message: str) -> None:
    client = connected(profile)

    answer = alter_group(client, (name, SET, text))

    assert (answer.error_code, answer.error_message) == (Errors.INVALID_CONFIG, message)
    assert values(client, SESSION) == {SESSION: ("45000", BY_DEFAULT)}


def test_a_session_has_to_be_longer_than_the_time_between_heartbeats() -> None:
    bounds = {LEAST: "1000", SHORTEST_HEARTBEAT: "1000"}
    message = f"{SESSION} must be greater than {HEARTBEAT}"

    for profile in ("4.0.0", "4.4.0"):
        answer = alter_group(connected(profile, **bounds), (SESSION, SET, "5000"))
        assert (answer.error_code, answer.error_message) == (Errors.INVALID_CONFIG, message)
        both = alter_group(connected(profile, **bounds), (SESSION, SET, "5000"), (HEARTBEAT, SET, "4999"))
        assert both.error_code == Errors.NONE


def test_before_4_4_what_is_not_configured_is_checked_with_defaults_that_the_broker_does_not_have() -> None:
    times = {
        SHORTEST_HEARTBEAT: "6000",
        "group.consumer.heartbeat.interval.ms": "6000",
    }

    old = alter_group(connected("4.3.1", **times), (SESSION, SET, "50000"))
    new = alter_group(connected("4.4.0", **times), (SESSION, SET, "50000"))

    assert old.error_message == f"{HEARTBEAT} must be greater than or equal to {SHORTEST_HEARTBEAT}"
    assert (old.error_code, new.error_code) == (Errors.INVALID_CONFIG, Errors.NONE)


def test_what_is_no_list_cannot_be_appended_to() -> None:
    answer = alter_group(connected("4.4.0"), (SESSION, APPEND, "50000"))

    assert answer.error_code == Errors.INVALID_CONFIG
    assert answer.error_message == f"Can't APPEND to key {SESSION} because its type is not LIST."


def test_a_group_without_a_name_is_refused() -> None:
    client = connected("4.4.0")

    answer = alter_group(client, (SESSION, SET, "50000"), name="")
    (shown,) = described(client, (GROUP, "", None))

    assert (answer.error_code, answer.error_message) == (
        Errors.INVALID_REQUEST,
        "Default group resources are not allowed.",
    )
    assert (shown.error_code, shown.error_message) == (Errors.INVALID_REQUEST, "Group name must not be empty")


def test_internal_configurations_are_described_where_somebody_has_set_them() -> None:
    client = connected("4.4.0")
    name = "consumer.assignor.offload.enable"

    assert values(client, name) == {}
    alter_group(client, (name, SET, "false"))

    assert values(client, name) == {name: ("false", OF_GROUP)}


def test_releases_without_consumer_groups_configure_no_groups() -> None:
    client = connected("3.9.2")

    assert alter_group(client, (SESSION, SET, "50000")).error_code == Errors.INVALID_REQUEST
    assert described(client, (GROUP, "g", None))[0].error_code == Errors.INVALID_REQUEST


@pytest.mark.parametrize(("profile", "left"), [("4.2.1", ["g"]), ("4.3.0", [])])
def test_configured_groups_are_listed(profile: str, left: list[str]) -> None:
    client = connected(profile)

    alter_group(client, (SESSION, SET, "50000"))
    assert listed(client) == ["g"]
    alter_group(client, (SESSION, DELETE, None))

    assert listed(client) == left


def test_configurations_outlive_the_process(heard: Heard) -> None:
    disk = CrashingDisk()
    client = KeptBroker(disk).connect()
    alter_group(client, (SESSION, SET, "50000"))
    alter_group(client, (SESSION, SET, "50000"), name="h")
    alter_group(client, (SESSION, DELETE, None), name="h")
    heard.clear()

    again = next(disk for name, disk in disk.disks_after() if name.startswith("nothing"))
    client = KeptBroker(again).connect()

    assert values(client, SESSION) == {SESSION: ("50000", OF_GROUP)}
    assert values(client, SESSION, name="h") == {SESSION: ("45000", BY_DEFAULT)}
    assert listed(client) == ["g"]
    assert heard == [("g", GroupConfig(consumer_session_timeout_ms=50_000))]


def test_a_broker_that_starts_anew_hears_of_configurations(heard: Heard) -> None:
    client = connected("4.4.0")
    alter_group(client, (SESSION, SET, "50000"))
    heard.clear()

    client.broker.restart()

    assert heard == [("g", GroupConfig(consumer_session_timeout_ms=50_000))]


@pytest.mark.parametrize(("profile", "session"), [("4.2", 60_000), ("4.3", 50_000)])
def test_narrower_bounds_apply_to_what_was_configured_before(profile: str, session: int) -> None:
    narrower = GroupCoordinatorConfig.from_properties({MOST: "50000", SHORTEST_HEARTBEAT: "4000"})

    found = evaluate({SESSION: "60000", HEARTBEAT: "4500"}, narrower, profile_for(profile))

    assert (found.consumer_session_timeout_ms, found.consumer_heartbeat_interval_ms) == (session, 4_500)


def test_defaults_are_within_bounds() -> None:
    config = GroupCoordinatorConfig()
    for entry in group_configs(profile_for("4.4")).values():
        entry.config.throw_if_invalid(entry.config.default)
        if entry.lowest is not None and entry.highest is not None:
            assert entry.lowest.of(config) <= int(entry.config.default) <= entry.highest.of(config)


def test_tags_of_a_group_are_a_list() -> None:
    found = evaluate({TAGS: "zone , rack"}, GroupCoordinatorConfig(), profile_for("4.4"))
    assert found.streams_rack_aware_assignment_tags == ("zone", "rack")
