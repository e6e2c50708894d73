"""OffsetDelete: which offsets can be deleted while a group has members, and which cannot."""

from harness.scenario import ANY, Conversation, ask, containing, expect, in_any_order, scenario

DELETES = "OffsetMetadataManager#deleteOffsets"
VALIDATES = "ClassicGroup#validateOffsetDelete"


@scenario("offsets/delete/empty-group", source=DELETES, clauses=("OD-03", "OD-04"))
def an_empty_groups_offset_is_deleted(conversation: Conversation) -> None:
    """OffsetDelete from an Empty group succeeds, also for an offset that was never committed."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1, 1: 2}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))

    ana.sends(ask.offset_delete(topics={"orders": (0,), "payments": (1,)}))
    ana.receives(
        expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}, "payments": {1: "NONE"}})
    )

    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {1: 2}}))


@scenario(
    "offsets/delete/two-partitions", source="KafkaApis#handleOffsetDeleteRequest", clauses=("OD-03", "OD-15")
)
def two_partitions_of_a_topic_are_deleted_together(conversation: Conversation) -> None:
    """OffsetDelete deletes two partitions of one topic at once; before 2.6 each is answered twice."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1, 1: 2, 2: 3}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE", 2: "NONE"}}))

    ana.sends(ask.offset_delete(topics={"orders": (0, 1)}))
    both = in_any_order(
        {"partition_index": 0, "error_code": "NONE"}, {"partition_index": 1, "error_code": "NONE"}
    )
    ana.receives(
        expect.response(
            "OffsetDelete", error_code="NONE", topics=containing({"name": "orders", "partitions": both})
        )
    )

    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {2: 3}}))


@scenario("offsets/delete/last-offset", source=DELETES, clauses=("OD-07",))
def a_groups_last_offset_is_deleted(conversation: Conversation) -> None:
    """Deleting a simple group's last offset also removes the group up to 3.9; 4.0 keeps it a while."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}}))

    ana.sends(ask.offset_delete(topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}))

    ana.repeats(ask.offset_fetch(topics={"orders": (0,)}), until=expect.offset_fetch({"orders": {0: -1}}))
    ana.asks(ask.offset_delete(topics={"orders": (0,)}), error_code=ANY)


@scenario(
    "offsets/delete/unknown-topic", source="KafkaApis#handleOffsetDeleteRequest", clauses=("OD-05", "OD-06")
)
def an_unknown_topic_is_answered_by_itself(conversation: Conversation) -> None:
    """OffsetDelete refuses unknown topics with UNKNOWN_TOPIC_OR_PARTITION; no topics are no error."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 1, 1: 2}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))

    ana.sends(ask.offset_delete(topics={"no-such-topic": (0,), "orders": (0,)}))
    ana.receives(
        expect.offset_delete(
            error_code="NONE",
            errors={"no-such-topic": {0: "UNKNOWN_TOPIC_OR_PARTITION"}, "orders": {0: "NONE"}},
        )
    )
    ana.asks(ask.offset_delete(topics={}), expect.offset_delete(error_code="NONE", errors={}))


@scenario(
    "offsets/delete/group-without-name", source="GroupCoordinatorService#deleteOffsets", clauses=("OD-02",)
)
def the_group_without_a_name_is_refused(conversation: Conversation) -> None:
    """OffsetDelete with an empty group id gets INVALID_GROUP_ID, unlike other offset requests."""
    ana = conversation.actor("ana")

    ana.sends(ask.offset_delete(group_id="", topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="INVALID_GROUP_ID", errors={}))


@scenario(
    "offsets/delete/subscribed-topic", source="ClassicGroup#isSubscribedToTopic", clauses=("OD-08", "OD-09")
)
def a_subscribed_topic_keeps_its_offsets(conversation: Conversation) -> None:
    """OffsetDelete of a subscribed topic gets GROUP_SUBSCRIBED_TO_TOPIC; other topics are deleted."""
    ana, _ = conversation.stable_group("ana", "bob")
    ana.sends(ask.offset_commit(topics={"orders": {0: 1}, "payments": {0: 2}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE"}, "payments": {0: "NONE"}}))

    ana.sends(ask.offset_delete(topics={"orders": (0,), "payments": (0,)}))
    ana.receives(
        expect.offset_delete(
            error_code="NONE",
            errors={"orders": {0: "GROUP_SUBSCRIBED_TO_TOPIC"}, "payments": {0: "NONE"}},
        )
    )
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 1}}))


@scenario(
    "offsets/delete/unreadable-subscription",
    source="ClassicGroup#computeSubscribedTopics",
    clauses=("OD-10", "JG-63"),
)
def an_unreadable_subscription_keeps_everything(conversation: Conversation) -> None:
    """If a member's subscription cannot be read, OffsetDelete treats every topic as subscribed."""
    (ana,) = conversation.stable_group("ana", protocols=(("range", b"\0\0"),))
    ana.asks(ask.offset_commit(topics={"payments": {0: 2}}), expect.offset_commit({"payments": {0: "NONE"}}))

    ana.sends(ask.offset_delete(topics={"orders": (0,), "payments": (0,)}))
    ana.receives(
        expect.offset_delete(
            error_code="NONE",
            errors={
                "orders": {0: "GROUP_SUBSCRIBED_TO_TOPIC"},
                "payments": {0: "GROUP_SUBSCRIBED_TO_TOPIC"},
            },
        )
    )


@scenario("offsets/delete/other-protocol-type", source=VALIDATES, clauses=("OD-11", "OD-12", "OD-16"))
def a_group_of_another_protocol_type_must_be_empty(conversation: Conversation) -> None:
    """OffsetDelete from a group of another protocol type gets NON_EMPTY_GROUP while it has members."""
    ana = conversation.actor("ana")
    ana.sends(ask.join_group(protocol_type="connect", protocols=(("eager", b"any bytes"),)))
    ana.receives(expect.join_group(error_code="MEMBER_ID_REQUIRED"))
    ana.sends(ask.join_group(protocol_type="connect", protocols=(("eager", b"any bytes"),)))
    ana.receives(expect.join_group(error_code="NONE", protocol_name="eager"))
    ana.syncs_as_leader((ana,))
    ana.sends(ask.offset_commit(topics={"orders": {0: 1, 1: 2}}))
    ana.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))

    ana.sends(ask.offset_delete(topics={"orders": (0,), "no-such-topic": (0,)}))
    ana.receives(expect.offset_delete(error_code="NON_EMPTY_GROUP", errors={}))
    ana.asks(ask.leave_group(), error_code="NONE")
    ana.sends(ask.offset_delete(topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}))


@scenario(
    "offsets/delete/refused-for-its-metadata",
    source="KAFKA-16371, GroupMetadata#removeOffsets",
    clauses=("OD-14",),
    broker_config={"offset.metadata.max.bytes": "10"},
)
def what_was_refused_is_deleted_as_well(conversation: Conversation) -> None:
    """An offset refused for its metadata, which stays pending forever until 3.7.0, can be deleted."""
    ana = conversation.actor("ana")
    offsets = {"orders": {0: (7, "eleven long"), 1: (8, "fits")}}
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics=offsets))
    ana.receives(expect.offset_commit({"orders": {0: "OFFSET_METADATA_TOO_LARGE", 1: "NONE"}}))
    ana.sends(ask.offset_delete(topics={"orders": (0,)}))
    ana.receives(expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}))

    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True))
    ana.receives(expect.offset_fetch({"orders": {0: -1}}))
