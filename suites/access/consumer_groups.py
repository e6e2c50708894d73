"""Authorization for consumer groups: joining a group, subscribing to topics and describing a group."""

from harness.scenario import Conversation, ask, containing, expect, scenario
from suites.access.entries import AUTHORIZER, NEEDS, NO_GROUP, NO_TOPIC, administrator_of, allows, somebody


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
