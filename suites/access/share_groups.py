"""Authorization for share groups: join, describe, change offsets, fetch and acknowledge records."""

from harness.scenario import Conversation, ask, expect, in_any_order, scenario
from suites.access.entries import (
    AUTHORIZER,
    NEEDS,
    NO_CLUSTER,
    NO_GROUP,
    NO_TOPIC,
    administrator_of,
    allows,
    somebody,
    writes,
)
from suites.share_fetch.readers import Reader, has_state, topic_of

UNKNOWN_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"


@scenario(
    "access/share-groups/heartbeat",
    source="KafkaApis#handleShareGroupHeartbeat",
    clauses=("AU-29",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_share_consumer_reads_its_group_and_sees_its_topics(conversation: Conversation) -> None:
    """ShareGroupHeartbeat requires READ on the group, then DESCRIBE on each topic, before other checks."""
    administrator = administrator_of(conversation)
    ana = conversation.share_member("ana", principal="ana")
    refused = expect.share_group_heartbeat(error_code=NO_GROUP, error_message=None)
    hidden = expect.share_group_heartbeat(error_code=NO_TOPIC, error_message=None)
    invalid = ask.share_group_heartbeat(member_epoch=-3, subscribed_topic_names=("orders", "payments"))

    ana.asks(invalid, refused)
    ana.asks(ask.share_group_heartbeat(member_id="long" * 10, member_epoch=0), refused)
    allows(administrator, ana, "READ")
    ana.asks(invalid, hidden)
    allows(administrator, ana, "DESCRIBE", kind="TOPIC", name="orders")
    ana.asks(invalid, hidden)
    ana.enters()


@scenario(
    "access/share-groups/describe",
    source="KafkaApis#handleShareGroupDescribe",
    clauses=("AU-30",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_share_group_is_hidden_with_its_topics(conversation: Conversation) -> None:
    """ShareGroupDescribe requires DESCRIBE on the group and on every topic assigned in it."""
    administrator = administrator_of(conversation)
    ana, dora = conversation.share_member("ana", principal="ana"), somebody(conversation, "dora")
    allows(administrator, ana, "READ")
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    describing = ask.share_group_describe(include_authorized_operations=True)
    ana.enters()
    ana.awaits({"orders": (0, 1, 2)})

    dora.asks(
        describing, expect.response("ShareGroupDescribe", groups=({"error_code": NO_GROUP, "members": ()},))
    )
    allows(administrator, dora, "DESCRIBE")
    dora.asks(
        describing, expect.response("ShareGroupDescribe", groups=({"error_code": NO_TOPIC, "members": ()},))
    )
    ana.asks(describing, expect.response("ShareGroupDescribe", groups=({"error_code": "NONE"},)))


@scenario(
    "access/share-groups/describe-offsets",
    source="KafkaApis#handleDescribeShareGroupOffsetsRequest",
    clauses=("AU-31",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def share_offsets_are_hidden_by_topic(conversation: Conversation) -> None:
    """DescribeShareGroupOffsets refuses hidden topics that are named; a full request leaves them out."""
    administrator = administrator_of(conversation)
    ana, keeper = somebody(conversation, "ana"), conversation.share_member("keeper")
    named = ask.describe_share_group_offsets(topics={"orders": (0,), "payments": (0,), "unheard-of": (0,)})
    keeper.enters("orders", "payments")
    keeper.awaits({"orders": (0, 1, 2), "payments": (0, 1)})

    ana.asks(named, expect.share_offsets({}, error_code=NO_GROUP))
    allows(administrator, ana, "DESCRIBE")
    allows(administrator, ana, "DESCRIBE", kind="TOPIC", name="orders")
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets({"orders": {0: -1, 1: -1, 2: -1}}))
    ana.asks(
        named,
        expect.response(
            "DescribeShareGroupOffsets",
            groups=(
                {
                    "error_code": "NONE",
                    "topics": in_any_order(
                        {"topic_name": "orders", "partitions": ({"error_code": "NONE"},)},
                        {"topic_name": "payments", "partitions": ({"error_code": NO_TOPIC},)},
                        {"topic_name": "unheard-of", "partitions": ({"error_code": NO_TOPIC},)},
                    ),
                },
            ),
        ),
    )


@scenario(
    "access/share-groups/alter-offsets",
    source="KafkaApis#handleAlterShareGroupOffsetsRequest",
    clauses=("AU-32",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def share_offsets_are_altered_by_who_may_read(conversation: Conversation) -> None:
    """AlterShareGroupOffsets requires READ on the group, then on each topic, whether it exists or not."""
    administrator = administrator_of(conversation)
    ana = somebody(conversation, "ana")
    hidden = ask.alter_share_group_offsets(topics={"payments": {0: 1}, "unheard-of": {0: 1}})
    altering = ask.alter_share_group_offsets(topics={"orders": {0: 1}, "payments": {0: 1, 5: 1}})

    ana.asks(hidden, expect.altered_share_offsets(error_code=NO_GROUP, responses=()))
    allows(administrator, ana, "READ")
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    refused = in_any_order(
        {"topic_name": "payments", "partitions": ({"partition_index": 0, "error_code": NO_TOPIC},)},
        {"topic_name": "unheard-of", "partitions": ({"partition_index": 0, "error_code": NO_TOPIC},)},
    )
    ana.asks(hidden, expect.altered_share_offsets(error_code="NONE", responses=refused))
    ana.asks(altering, expect.altered_share_offsets(error_code="NONE"))


@scenario(
    "access/share-groups/delete-offsets",
    source="KafkaApis#handleDeleteShareGroupOffsetsRequest",
    clauses=("AU-32",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def share_offsets_are_deleted_by_who_may_delete(conversation: Conversation) -> None:
    """DeleteShareGroupOffsets requires DELETE on the group and READ on topics; 4.1 checks topics first."""
    administrator = administrator_of(conversation)
    ana, keeper = somebody(conversation, "ana"), conversation.share_member("keeper")
    hidden = ask.delete_share_group_offsets(topics=("payments",))
    deleting = ask.delete_share_group_offsets(topics=("orders", "payments"))

    ana.asks(hidden, expect.deleted_share_offsets(error_code=NO_GROUP, responses=()))
    allows(administrator, ana, "DELETE")
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    ana.asks(hidden, expect.deleted_share_offsets())
    keeper.enters()
    keeper.awaits({"orders": (0, 1, 2)})
    ana.asks(deleting, expect.deleted_share_offsets(error_code="NON_EMPTY_GROUP"))
    keeper.leaves()
    refused = in_any_order(
        {"topic_name": "orders", "error_code": "NONE"}, {"topic_name": "payments", "error_code": NO_TOPIC}
    )
    ana.asks(deleting, expect.deleted_share_offsets(error_code="NONE", responses=refused))


@scenario(
    "access/share-groups/fetch",
    source="KafkaApis#handleFetchFromShareFetchRequest",
    clauses=("AU-33",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def records_are_fetched_by_who_may_read_them(conversation: Conversation) -> None:
    """ShareFetch requires READ on the group, then on each topic of the session, in every request."""
    administrator = administrator_of(conversation)
    topic = topic_of(conversation, administrator, 2)
    has_state(administrator, topic)
    ana = Reader(somebody(conversation, "ana"), topic)
    hidden = expect.share_fetch(acquired={topic: {0: NO_TOPIC}})

    ana.is_refused(NO_GROUP, epoch=0)
    allows(administrator, ana.actor, "READ")
    ana.sends_fetch()
    ana.actor.receives(hidden)
    ana.sends_fetch()
    ana.actor.receives(hidden)
    allows(administrator, ana.actor, "READ", kind="TOPIC", name=topic)
    ana.fetches((0, 1, 1))
    writes(
        administrator,
        ask.AclEntry(principal="ana", operation="READ", kind="TOPIC", name=topic, permission="DENY"),
    )
    ana.sends_fetch(acks=((0, 0, (1,)),))
    ana.actor.receives(
        expect.response(
            "ShareFetch",
            responses=({"partitions": ({"error_code": NO_TOPIC, "acknowledge_error_code": NO_TOPIC},)},),
        )
    )


@scenario(
    "access/share-groups/missing",
    source="KafkaApis#handleFetchFromShareFetchRequest",
    clauses=("AU-33",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def partitions_that_there_are_not_are_hidden(conversation: Conversation) -> None:
    """Without READ, a missing partition gets the topic's error; bad acknowledgements are refused first."""
    administrator = administrator_of(conversation)
    topic = topic_of(conversation, administrator, 1)
    ana = Reader(somebody(conversation, "ana"), topic, partitions=(4,))
    allows(administrator, ana.actor, "READ")

    ana.sends_fetch()
    ana.actor.receives(expect.share_fetch(acquired={topic: {4: NO_TOPIC}}))
    ana.acknowledges((0, 0, (1,)), partition=4, error_code=NO_TOPIC)
    ana.acknowledges((1, 0, (1,)), partition=4, error_code="INVALID_REQUEST")
    allows(administrator, ana.actor, "READ", kind="TOPIC", name=topic)
    ana.sends_fetch()
    ana.actor.receives(expect.share_fetch(acquired={topic: {4: UNKNOWN_TOPIC}}))
    ana.acknowledges((0, 0, (1,)), partition=4, error_code=UNKNOWN_TOPIC)


@scenario(
    "access/share-groups/acknowledge",
    source="KafkaApis#handleAcknowledgements",
    clauses=("AU-33",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def records_are_acknowledged_by_who_may_read_them(conversation: Conversation) -> None:
    """ShareAcknowledge requires READ on the group, before the member id is checked, then on each topic."""
    administrator = administrator_of(conversation)
    topic = topic_of(conversation, administrator, 2)
    has_state(administrator, topic)
    ana = Reader(somebody(conversation, "ana"), topic)
    nameless = ask.share_acknowledge(member_id="", share_session_epoch=1, topics={topic: {0: ()}})

    ana.actor.asks(nameless, expect.share_acknowledge(error_code=NO_GROUP))
    allows(administrator, ana.actor, "READ")
    allows(administrator, ana.actor, "READ", kind="TOPIC", name=topic)
    ana.fetches((0, 1, 1))
    ana.acknowledges((0, 0, (1,)))
    writes(
        administrator,
        ask.AclEntry(principal="ana", operation="READ", kind="TOPIC", name=topic, permission="DENY"),
    )
    ana.acknowledges((1, 1, (1,)), error_code=NO_TOPIC)
    ana.closes()


@scenario(
    "access/share-groups/state",
    source="KafkaApis#handleInitializeShareGroupStateRequest",
    clauses=("AU-34",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def share_state_is_for_brokers(conversation: Conversation) -> None:
    """Requests for share partition state without CLUSTER_ACTION get CLUSTER_AUTHORIZATION_FAILED."""
    administrator = administrator_of(conversation)
    topic = topic_of(conversation, administrator)
    has_state(administrator, topic)
    ana = somebody(conversation, "ana")

    asked = {
        "Initialize": ask.initialize_share_group_state(topic),
        "Read": ask.read_share_group_state(topic),
        "Write": ask.write_share_group_state(topic),
        "Delete": ask.delete_share_group_state(topic),
        "Summary": ask.share_group_state_summary(topic),
    }
    for verb, request in asked.items():
        ana.asks(request, expect.share_state(verb, NO_CLUSTER))
