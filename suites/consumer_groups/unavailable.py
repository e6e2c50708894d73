"""Brokers that coordinate no consumer group, because the log is missing or the protocol is disabled."""

from harness.scenario import ANY, SHORT_SESSIONS, Capability, Conversation, ask, containing, expect, scenario
from harness.scenario.values import GroupRef
from suites.migration.groups import beats, classic_consumer

DISABLED = "KafkaApis#isConsumerGroupProtocolEnabled"
FINDS = "CoordinatorRuntime#withActiveContextOrThrow"
CLASSIC_ONLY = {"group.coordinator.rebalance.protocols": "classic"}
WITHOUT_FEATURE = {
    "group.version": "0",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "offsets.commit.timeout.ms": "2000",
}
"""The feature alone decides: no scenario with other protocols may run on the same broker.

The timeout is that of the scenarios of classic groups whose writes fail, so that they share their broker.
"""
FIVE = {"offsets.topic.num.partitions": "5"}


@scenario(
    "consumer_groups/unavailable/no-log",
    source=FINDS,
    clauses=("CH-01", "CH-02"),
    broker_config=SHORT_SESSIONS,
)
def without_a_log_nobody_has_members(conversation: Conversation) -> None:
    """Without `__consumer_offsets` heartbeats get NOT_COORDINATOR; since 4.1 invalid ones are refused first.

    4.0.0 goes on as if the log were there.
    """
    ana = conversation.member("ana")
    ana.asks(ask.delete_topic("__consumer_offsets"), expect.delete_topic(error_code="NONE"))
    conversation.elapses(1500)

    ana.heartbeats(epoch=1, error_code=ANY)
    ana.heartbeats(epoch=-1, error_code=ANY)
    ana.enters(group_id="", error_code=ANY)
    ana.enters(member_id="", error_code=ANY)
    ana.heartbeats(epoch=1, assignor="nobody", error_code=ANY)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code=ANY, members=()))
    ana.repeats(ask.find_coordinator(), until=expect.find_coordinator(error_code="NONE"))


@scenario(
    "consumer_groups/unavailable/disabled", source=DISABLED, clauses=("CH-03",), broker_config=CLASSIC_ONLY
)
def a_broker_may_have_no_consumer_groups(conversation: Conversation) -> None:
    """A broker without `consumer` in its rebalance protocols answers UNSUPPORTED_VERSION first."""
    ana = conversation.member("ana")

    ana.enters(error_code="UNSUPPORTED_VERSION")
    ana.enters(group_id="", error_code="UNSUPPORTED_VERSION")
    ana.heartbeats(epoch=-1, error_code="UNSUPPORTED_VERSION")
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="UNSUPPORTED_VERSION"))


@scenario(
    "consumer_groups/unavailable/no-feature",
    source=DISABLED,
    clauses=("CH-03",),
    broker_config=WITHOUT_FEATURE,
    needs=(Capability.FEATURES,),
)
def a_cluster_may_lack_the_feature(conversation: Conversation) -> None:
    """Without the feature `group.version` consumers get UNSUPPORTED_VERSION; classic groups still work."""
    ana = classic_consumer(conversation)
    bob = conversation.member("bob")

    bob.enters("payments", error_code="UNSUPPORTED_VERSION")
    bob.enters(group_id="", error_code="UNSUPPORTED_VERSION")
    bob.heartbeats(epoch=-1, error_code="UNSUPPORTED_VERSION")
    bob.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="UNSUPPORTED_VERSION"))
    bob.configures({"consumer.heartbeat.interval.ms": 900})
    bob.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Stable"))
    beats(ana)


@scenario(
    "consumer_groups/describe/two-partitions",
    source="GroupCoordinatorService#consumerGroupDescribe",
    clauses=("CD-05",),
    broker_config=FIVE,
)
def groups_of_several_partitions_are_described(conversation: Conversation) -> None:
    """ConsumerGroupDescribe of groups in two partitions answers for each; 4.0.0 asks both for both."""
    main, other = conversation.group("main", partition=1), conversation.group("other", partition=3)
    ana, bob = conversation.members("ana", "bob")
    ana.enters()
    bob.enters(group_id=other)

    ana.asks(
        ask.consumer_group_describe(group_ids=(main, other)),
        expect.response(
            "ConsumerGroupDescribe",
            groups=containing(
                {"group_id": GroupRef("main"), "error_code": "NONE"},
                {"group_id": GroupRef("other"), "error_code": "NONE"},
            ),
        ),
    )
