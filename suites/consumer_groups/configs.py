"""Dynamic group configuration, and when a change takes effect."""

from harness.scenario import Capability, Conversation, ask, expect, one_of, scenario
from suites.consumer_groups.membership import group_is
from suites.consumer_groups.reconciliation import LONG_INTERVAL, SHORT_SESSION
from suites.consumer_groups.validation import ALL

CONFIGURES = "GroupConfig#validate"
TELLS_INTERVAL = "GroupMetadataManager#consumerGroupHeartbeatIntervalMs"
TIMES_SESSION = "GroupMetadataManager#consumerGroupSessionTimeoutMs"
DELAYS = "GroupMetadataManager#maybeUpdateTargetAssignment"
OFTEN, USUAL_MS = {"consumer.heartbeat.interval.ms": 900}, 5_000
SESSION_IS_OVER_MS = 4_600


@scenario("consumer_groups/configs/heartbeat-interval", source=CONFIGURES, clauses=("CF-01", "CF-06"))
def a_group_has_its_own_heartbeat_interval(conversation: Conversation) -> None:
    """A group with its own heartbeat interval returns it to members in ConsumerGroupHeartbeat."""
    ana = conversation.member("ana")
    ana.configures(OFTEN)

    ana.enters(interval_ms=900)
    ana.configures({"consumer.heartbeat.interval.ms": None})
    ana.heartbeats(interval_ms=USUAL_MS)


@scenario("consumer_groups/configs/refused", source=CONFIGURES, clauses=("CF-02", "CF-03"))
def a_group_cannot_be_configured_at_will(conversation: Conversation) -> None:
    """A group configuration that is unknown or out of the broker's bounds gets INVALID_CONFIG."""
    ana = conversation.member("ana")

    for configs in (
        {"consumer.session.timeout.ms": 99},
        {"consumer.session.timeout.ms": 60_001},
        {"consumer.heartbeat.interval.ms": 99},
        {"consumer.heartbeat.interval.ms": 15_001},
        {"consumer.bogus": 1},
    ):
        ana.asks(ask.group_configs(configs), expect.group_configs(error_code="INVALID_CONFIG"))
    ana.configures(SHORT_SESSION)
    ana.enters(interval_ms=500)


@scenario("consumer_groups/configs/session-not-longer", source=CONFIGURES, clauses=("CF-02",))
def a_session_is_longer_than_a_heartbeat_interval(conversation: Conversation) -> None:
    """A session timeout that is not longer than the heartbeat interval gets INVALID_CONFIG."""
    ana = conversation.member("ana")
    interval = {"consumer.heartbeat.interval.ms": 2_000}

    ana.configures({"consumer.session.timeout.ms": USUAL_MS}, error_code="INVALID_CONFIG")
    ana.configures({**interval, "consumer.session.timeout.ms": 2_000}, error_code="INVALID_CONFIG")
    ana.configures({**interval, "consumer.session.timeout.ms": 2_001})
    ana.configures({"consumer.heartbeat.interval.ms": 2_001}, error_code="INVALID_CONFIG")
    ana.enters(interval_ms=2_000)


@scenario("consumer_groups/configs/all-or-nothing", source=CONFIGURES, clauses=("CF-02",))
def a_group_is_configured_as_a_whole(conversation: Conversation) -> None:
    """If one of several group configurations gets INVALID_CONFIG, none of them is changed."""
    ana = conversation.member("ana")
    ana.configures({**OFTEN, "consumer.session.timeout.ms": 99}, error_code="INVALID_CONFIG")

    ana.enters(interval_ms=USUAL_MS)


@scenario("consumer_groups/configs/of-another", source=TELLS_INTERVAL, clauses=("CF-06",))
def a_configuration_is_one_groups(conversation: Conversation) -> None:
    """The configuration of one group does not apply to another."""
    ana = conversation.member("ana")
    other = conversation.group("other")
    ana.configures(OFTEN)

    ana.enters(interval_ms=900)
    conversation.member("bob").enters(group_id=other, interval_ms=USUAL_MS)


@scenario("consumer_groups/configs/changed-under-way", source=TELLS_INTERVAL, clauses=("CF-01",))
def a_member_gets_another_interval(conversation: Conversation) -> None:
    """A member gets its group's new heartbeat interval with its next heartbeat, in the same epoch."""
    ana = conversation.member("ana")
    joined = ana.enters(assigned=ALL, interval_ms=USUAL_MS)
    ana.configures(OFTEN)

    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None, interval_ms=900)
    group_is(ana, "Stable", epoch=joined["member_epoch"])


@scenario("consumer_groups/configs/session-timeout", source=TIMES_SESSION, clauses=("CF-04",))
def a_shorter_session_begins_with_a_heartbeat(conversation: Conversation) -> None:
    """A shorter session timeout applies to a member from its next heartbeat on, and not before."""
    ana, bob = conversation.members("ana", "bob")
    ana.enters(assigned=ALL)
    bob.enters(assigned={})
    ana.configures(SHORT_SESSION)
    bob.heartbeats(assigned=None)

    conversation.elapses(SESSION_IS_OVER_MS)
    ana.heartbeats()
    bob.heartbeats(error_code="UNKNOWN_MEMBER_ID")


@scenario("consumer_groups/configs/longer-session", source=TIMES_SESSION, clauses=("CF-04", "CF-06"))
def a_longer_session_begins_with_a_heartbeat(conversation: Conversation) -> None:
    """A member whose group's short session timeout was reset is not removed after the short timeout."""
    ana = conversation.member("ana")
    ana.configures(SHORT_SESSION)
    joined = ana.enters(assigned=ALL)
    ana.configures(dict.fromkeys(SHORT_SESSION))
    ana.heartbeats(member_epoch=joined["member_epoch"], interval_ms=USUAL_MS)

    conversation.elapses(SESSION_IS_OVER_MS)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)


@scenario("consumer_groups/configs/outlives-the-group", source=TELLS_INTERVAL, clauses=("CF-05",))
def a_configuration_outlives_its_group(conversation: Conversation) -> None:
    """A group that is deleted and created again still has its configuration."""
    ana = conversation.member("ana")
    ana.configures(OFTEN)
    ana.enters(interval_ms=900)
    ana.leaves()
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))

    ana.enters(assigned=ALL, interval_ms=900)


@scenario(
    "consumer_groups/configs/restart",
    source="BrokerMetadataPublisher#onMetadataUpdate",
    clauses=("CF-05",),
    needs=(Capability.RESTART,),
)
def a_configuration_outlives_a_restart(conversation: Conversation) -> None:
    """A group's own heartbeat interval is kept over a restart."""
    ana = conversation.member("ana")
    ana.configures(OFTEN)
    joined = ana.enters(assigned=ALL, interval_ms=900)
    conversation.restarts_coordinator()
    ana.repeats(
        ask.consumer_group_describe(),
        until=expect.consumer_group_describe(error_code="NONE", group_state="Stable"),
        within_ms=20_000,
    )

    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None, interval_ms=900)


@scenario("consumer_groups/configs/assignment-interval-ends", source=DELAYS, clauses=("CF-07",))
def a_shorter_interval_applies_at_once(conversation: Conversation) -> None:
    """A group whose assignment interval is deleted gets a new assignment with the next heartbeat.

    Releases before 4.3 have no such interval, and assign with each join.
    """
    ana, bob = conversation.members("ana", "bob")
    ana.configures(LONG_INTERVAL, error_code=one_of("NONE", "INVALID_CONFIG"))
    joined = ana.enters(assigned=ALL)
    bob.enters(assigned={})
    group_is(ana, one_of("Assigning", "Reconciling"), epoch=joined["member_epoch"] + 1)

    ana.configures(dict.fromkeys(LONG_INTERVAL), error_code=one_of("NONE", "INVALID_CONFIG"))
    conversation.reconciles(ana, bob)
    group_is(ana, "Stable", epoch=joined["member_epoch"] + 1)


@scenario(
    "consumer_groups/configs/max-size-lowered",
    source="GroupMetadataManager#throwIfConsumerGroupIsFull",
    clauses=("CF-08",),
    needs=(Capability.RESTART,),
)
def a_group_that_is_too_large_stays(conversation: Conversation) -> None:
    """A group with more members than its restarted broker allows keeps them, and admits no other."""
    ana, bob, carol = conversation.members("ana", "bob", "carol")
    joined = ana.enters(assigned=ALL)
    bob.enters(assigned={})
    conversation.restarts_coordinator({"group.consumer.max.size": 1})
    ana.repeats(
        ask.consumer_group_describe(),
        until=expect.consumer_group_describe(error_code="NONE", group_state="Reconciling"),
        within_ms=20_000,
    )

    conversation.reconciles(ana, bob)
    carol.enters(error_code="GROUP_MAX_SIZE_REACHED")
    bob.leaves()
    carol.enters(error_code="GROUP_MAX_SIZE_REACHED")
    ana.heartbeats(owned=ana.assigned, member_epoch=joined["member_epoch"] + 2, assigned=ALL)
