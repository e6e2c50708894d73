"""Authorization for consumer groups: joining a group, subscribing to topics and describing a group."""

from harness.scenario import Conversation, GroupRef, ask, containing, expect, scenario
from suites.access.entries import AUTHORIZER, NEEDS, NO_GROUP, NO_TOPIC, administrator_of, allows, somebody
from suites.consumer_groups.regular_expressions import RESOLVES_MS
from suites.consumer_groups.validation import BOTH


@scenario(
    "access/consumer-groups/heartbeat",
    source="KafkaApis#handleConsumerGroupHeartbeat",
    clauses=("AU-26", "AU-27", "CH-57", "CH-58"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_consumer_reads_its_group_and_sees_its_topics(conversation: Conversation) -> None:
    """ConsumerGroupHeartbeat requires READ on the group, then DESCRIBE on each topic, before other checks."""
    administrator = administrator_of(conversation)
    ana = conversation.member("ana", principal="ana")
    both = ("orders", "payments")
    invalid = ask.consumer_group_heartbeat(member_epoch=-3, subscribed_topic_names=both)

    ana.asks(invalid, expect.response("ConsumerGroupHeartbeat", error_code=NO_GROUP, error_message=None))
    allows(administrator, ana, "READ")
    ana.asks(invalid, expect.response("ConsumerGroupHeartbeat", error_code=NO_TOPIC, error_message=None))
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    ana.asks(invalid, expect.response("ConsumerGroupHeartbeat", error_code=NO_TOPIC))
    ana.enters()


@scenario(
    "access/consumer-groups/describe",
    source="KafkaApis#handleConsumerGroupDescribe",
    clauses=("AU-28", "CD-09"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_consumer_group_is_hidden_with_its_topics(conversation: Conversation) -> None:
    """ConsumerGroupDescribe requires DESCRIBE on the group and on every topic assigned in it."""
    administrator = administrator_of(conversation)
    ana, dora = conversation.member("ana", principal="ana"), somebody(conversation, "dora")
    allows(administrator, ana, "READ")
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    ana.enters()

    dora.asks(
        ask.consumer_group_describe(),
        expect.response("ConsumerGroupDescribe", groups=({"error_code": NO_GROUP, "members": ()},)),
    )
    allows(administrator, dora, "DESCRIBE")
    dora.asks(
        ask.consumer_group_describe(),
        expect.response("ConsumerGroupDescribe", groups=({"error_code": NO_TOPIC, "members": ()},)),
    )
    ana.asks(
        ask.consumer_group_describe(),
        expect.response("ConsumerGroupDescribe", groups=containing({"error_code": "NONE"})),
    )


@scenario(
    "access/consumer-groups/regex",
    source="TopicRegexResolver#filterTopicDescribeAuthorizedTopics",
    clauses=("KX-17",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_regular_expression_finds_visible_topics(conversation: Conversation) -> None:
    """A regular expression matches the topics that the asking client may describe (4.0.0: all topics)."""
    administrator = administrator_of(conversation)
    ana, cleo = conversation.member("ana", principal="ana"), conversation.member("cleo")
    groups = (GroupRef("of-ana"), GroupRef("of-cleo"))
    allows(administrator, ana, "READ", name=groups[0])
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")

    regex = "(orders|payments)"
    epochs = [
        member.enters(group_id=group, topics=None, regex=regex, assigned={})["member_epoch"]
        for member, group in zip((ana, cleo), groups, strict=True)
    ]
    conversation.elapses(RESOLVES_MS)
    cleo.heartbeats(group_id=groups[1], epoch=epochs[1], assigned=BOTH)
    ana.heartbeats(group_id=groups[0], epoch=epochs[0])
