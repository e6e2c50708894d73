"""OffsetCommit and OffsetFetch of members, by their epochs."""

from harness.scenario import OWN, Conversation, Member, Pattern, Value, ask, expect, one_of, scenario, sweep
from harness.scenario.messages import Number
from suites.consumer_groups.reconciliation import KEPT, two_members
from suites.consumer_groups.validation import sole_member
from suites.offsets.topics import NO_ID, UNKNOWN_ID, asked_by_id, committed_by_id, id_of
from suites.transactions.producers import announced, initialised

VALIDATES = "ConsumerGroup#validateOffsetCommit"
FETCHES = "ConsumerGroup#validateOffsetFetch"
HANDLES = "KafkaApis#handleOffsetCommitRequest"
DELETES = "ModernGroup#isSubscribedToTopic"
TRANSACTIONAL = "OffsetMetadataManager#validateTransactionalOffsetCommit"
FIRST = {"orders": {0: 7}}
PAYMENTS = {"payments": (0, 1)}


def _commits(
    ana: Member,
    error_code: str,
    *,
    version: int = 9,
    epoch: Number | None = None,
    member_id: str | None = None,
) -> None:
    ana.asks(
        ask.offset_commit(
            version=version,
            generation_id=ana.epoch if epoch is None else epoch,
            member_id=ana.member_id if member_id is None else member_id,
            topics=FIRST,
        ),
        expect.offset_commit({"orders": {0: error_code}}),
    )


@scenario("consumer_groups/offsets/version", source=VALIDATES, clauses=("KO-02",))
def old_versions_cannot_say_epochs(conversation: Conversation) -> None:
    """OffsetCommit v8 of a member gets UNSUPPORTED_VERSION for each partition; v9 is accepted."""
    ana, _ = sole_member(conversation)

    _commits(ana, "UNSUPPORTED_VERSION", version=8)
    _commits(ana, "NONE")


@scenario(
    "consumer_groups/offsets/earlier-epoch", source=VALIDATES, clauses=("KO-04", "KO-05", "OC-40", "OC-41")
)
def a_commit_may_be_late(conversation: Conversation) -> None:
    """Since 4.3, an OffsetCommit with an earlier epoch is accepted if the partition was assigned by then."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1)

    for topic, error in (
        ("orders", one_of("NONE", "STALE_MEMBER_EPOCH")),
        ("payments", "STALE_MEMBER_EPOCH"),
    ):
        ana.asks(
            ask.offset_commit(version=9, generation_id=joined["member_epoch"], topics={topic: {0: 7}}),
            expect.offset_commit({topic: {0: error}}),
        )
    _commits(ana, "STALE_MEMBER_EPOCH", epoch=ana.epoch + 1)


@scenario("consumer_groups/offsets/being-given-up", source=VALIDATES, clauses=("KO-06", "OC-41"))
def what_is_given_up_may_be_committed_late(conversation: Conversation) -> None:
    """Since 4.3, a partition that is being given up can be committed with an earlier epoch.

    Once it has been given up, only the member's own epoch is accepted.
    """
    ana, joined = sole_member(conversation)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1)
    ana.heartbeats(topics=("payments",), member_epoch=joined["member_epoch"] + 1, assigned=PAYMENTS)

    _commits(ana, "NONE")
    ana.asks(
        ask.offset_commit(version=9, generation_id=joined["member_epoch"], topics=FIRST),
        expect.offset_commit({"orders": {0: one_of("NONE", "STALE_MEMBER_EPOCH")}}),
    )
    ana.heartbeats(owned=PAYMENTS, member_epoch=joined["member_epoch"] + 2)
    _commits(ana, "STALE_MEMBER_EPOCH", epoch=joined["member_epoch"])
    _commits(ana, "NONE")


@scenario("consumer_groups/offsets/not-assigned", source=VALIDATES, clauses=("KO-07",))
def whose_partition_it_is_does_not_matter(conversation: Conversation) -> None:
    """An OffsetCommit with the member's epoch is accepted for a partition that another member has."""
    ana, bob, _ = two_members(conversation)

    _commits(bob, "NONE")
    ana.heartbeats(assigned=KEPT)
    _commits(ana, "NONE")


@scenario(
    "consumer_groups/offsets/who-and-when",
    source=VALIDATES,
    clauses=("KO-08", "KO-09", "KO-10", "KO-11", "OC-39", "OC-40"),
)
def a_commit_is_a_members(conversation: Conversation) -> None:
    """An OffsetCommit to a group with members is refused unless a member sends it with its epoch."""
    ana, _ = sole_member(conversation)

    _commits(ana, "STALE_MEMBER_EPOCH", epoch=0)
    _commits(ana, "UNKNOWN_MEMBER_ID", epoch=-1, member_id="")
    _commits(ana, "STALE_MEMBER_EPOCH", epoch=-1)
    _commits(ana, "UNKNOWN_MEMBER_ID", member_id="stranger")


@scenario("consumer_groups/offsets/instance", source=VALIDATES, clauses=("KO-12",))
def instance_ids_are_not_checked(conversation: Conversation) -> None:
    """An OffsetCommit of a dynamic member may carry any instance id."""
    ana, _ = sole_member(conversation)

    ana.asks(
        ask.offset_commit(version=9, group_instance_id="anybody", topics=FIRST),
        expect.offset_commit({"orders": {0: "NONE"}}),
    )


@scenario("consumer_groups/offsets/empty-group", source=VALIDATES, clauses=("KO-14", "OC-42", "OC-43"))
def an_empty_group_has_no_members(conversation: Conversation) -> None:
    """A member's commit to an Empty group gets UNKNOWN_MEMBER_ID; one without a member is accepted."""
    ana, joined = sole_member(conversation)
    ana.leaves()

    _commits(ana, "UNKNOWN_MEMBER_ID", epoch=joined["member_epoch"])
    _commits(ana, "UNKNOWN_MEMBER_ID", epoch=0)
    _commits(ana, "NONE", epoch=-1, member_id="")


@scenario("consumer_groups/offsets/unknown-topic", source=HANDLES, clauses=("KO-17",))
def topics_are_checked_first(conversation: Conversation) -> None:
    """An OffsetCommit to an unknown topic or partition gets UNKNOWN_TOPIC_OR_PARTITION in any epoch."""
    ana, _ = sole_member(conversation)

    for topic, partition in (("missing", 0), ("orders", 9)):
        ana.asks(
            ask.offset_commit(version=9, generation_id=ana.epoch + 7, topics={topic: {partition: 7}}),
            expect.offset_commit({topic: {partition: "UNKNOWN_TOPIC_OR_PARTITION"}}),
        )


@scenario("consumer_groups/offsets/unknown-topic-id", source=HANDLES, clauses=("KO-18",))
def topic_ids_are_checked_first(conversation: Conversation) -> None:
    """OffsetCommit v10 with an unknown or zero topic id gets UNKNOWN_TOPIC_ID in any epoch."""
    ana, _ = sole_member(conversation)

    for topic_id in (UNKNOWN_ID, NO_ID):
        topics = (committed_by_id(topic_id, 0),)
        ana.sends(
            ask.request(
                "OffsetCommit",
                10,
                group_id=OWN,
                member_id=OWN,
                generation_id_or_member_epoch=ana.epoch + 7,
                topics=topics,
            )
        )
        refused: Pattern = {"partitions": ({"error_code": "UNKNOWN_TOPIC_ID"},)}
        ana.receives(expect.response("OffsetCommit", topics=(refused,)))


@scenario(
    "consumer_groups/offsets/of-nobody",
    source="OffsetMetadataManager#validateOffsetCommit",
    clauses=("KO-16",),
)
def whoever_commits_for_nobody_makes_a_classic_group(conversation: Conversation) -> None:
    """An OffsetCommit without a member to an unknown group creates an Empty classic group."""
    ana = conversation.member("ana")

    _commits(ana, "NONE", epoch=-1, member_id="")
    ana.asks(ask.describe_groups(version=6), expect.describe_groups(error_code="NONE", group_state="Empty"))
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="GROUP_ID_NOT_FOUND"))


@scenario(
    "consumer_groups/offsets/fetch", source=FETCHES, clauses=("KO-21", "KO-22", "KO-24", "KO-25", "OF-27")
)
def a_fetch_is_of_a_member_or_of_nobody(conversation: Conversation) -> None:
    """OffsetFetch v9 is answered to a member with exactly its epoch, and to clients without a member id."""
    ana, joined = sole_member(conversation)
    ana.heartbeats(topics=("orders", "payments"), member_epoch=joined["member_epoch"] + 1)
    _commits(ana, "NONE")
    wanted = {"orders": (0,)}
    found = expect.offset_fetch(FIRST, version=9)

    ana.asks(ask.offset_fetch(version=9, topics=wanted), found)
    ana.asks(
        ask.offset_fetch(version=9, member_id=ana.member_id, member_epoch=ana.epoch, topics=wanted), found
    )
    for epoch in (ana.epoch + 1, ana.epoch - 1):
        for topics in (wanted, None):
            ana.asks(
                ask.offset_fetch(version=9, member_id=ana.member_id, member_epoch=epoch, topics=topics),
                expect.offset_fetch({}, version=9, error_code="STALE_MEMBER_EPOCH"),
            )
    ana.asks(
        ask.offset_fetch(version=9, member_id=None, member_epoch=ana.epoch, topics=wanted),
        expect.response("OffsetFetch", groups=({"error_code": "UNKNOWN_SERVER_ERROR"},)),
    )
    ana.asks(
        ask.offset_fetch(version=9, member_id="stranger", member_epoch=ana.epoch, topics=wanted),
        expect.response("OffsetFetch", groups=({"error_code": "UNKNOWN_MEMBER_ID"},)),
    )


@scenario("consumer_groups/offsets/fetch-of-strangers", source=FETCHES, clauses=("OF-28",))
def an_empty_member_id_is_an_unknown_one(conversation: Conversation) -> None:
    """OffsetFetch v9 with an unknown or empty member id gets UNKNOWN_MEMBER_ID."""
    ana, _ = sole_member(conversation)
    _commits(ana, "NONE")

    epochs: tuple[tuple[str, Number], ...] = (("stranger", ana.epoch), ("", ana.epoch), ("", -1))
    for member_id, epoch in epochs:
        for topics in ({"orders": (0,)}, None):
            ana.asks(
                ask.offset_fetch(version=9, member_id=member_id, member_epoch=epoch, topics=topics),
                expect.offset_fetch({}, version=9, error_code="UNKNOWN_MEMBER_ID"),
            )


@scenario(
    "consumer_groups/offsets/fetch-of-others", source="OffsetMetadataManager#fetchOffsets", clauses=("KO-26",)
)
def others_are_not_checked(conversation: Conversation) -> None:
    """OffsetFetch v9 does not check the member of an unknown or a classic group."""
    (ana,) = conversation.stable_group("ana")
    nothing = expect.offset_fetch({"orders": {0: -1}}, version=9)

    for group in (conversation.group("main"), conversation.group("missing")):
        ana.asks(
            ask.offset_fetch(
                version=9, group_id=group, member_id="stranger", member_epoch=7, topics={"orders": (0,)}
            ),
            nothing,
        )


@scenario("consumer_groups/offsets/delete", source=DELETES, clauses=("KO-31", "KO-32", "OD-17", "OD-18"))
def subscribed_topics_keep_their_offsets(conversation: Conversation) -> None:
    """OffsetDelete of a consumer group's subscribed topic gets GROUP_SUBSCRIBED_TO_TOPIC, another NONE."""
    ana, _ = sole_member(conversation)
    both = {"orders": {0: 7}, "payments": {0: 8}}
    ana.asks(
        ask.offset_commit(version=9, topics=both),
        expect.offset_commit({"orders": {0: "NONE"}, "payments": {0: "NONE"}}),
    )

    ana.asks(
        ask.offset_delete(topics={"orders": (0,), "payments": (0,)}),
        expect.offset_delete(
            error_code="NONE", errors={"orders": {0: "GROUP_SUBSCRIBED_TO_TOPIC"}, "payments": {0: "NONE"}}
        ),
    )
    left = ask.offset_fetch(topics={"orders": (0,), "payments": (0,)})
    ana.asks(left, expect.offset_fetch({"orders": {0: 7}, "payments": {0: -1}}))
    ana.leaves()
    ana.asks(
        ask.offset_delete(topics={"orders": (0,)}),
        expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}}),
    )
    ana.asks(left, expect.offset_fetch({"orders": {0: -1}, "payments": {0: -1}}))


@scenario(
    "consumer_groups/offsets/transactional",
    source=TRANSACTIONAL,
    clauses=("KO-41", "KO-42", "KO-44", "KO-45", "KO-46", "TC-36", "TC-37"),
)
def a_transaction_is_a_members_or_nobodys(conversation: Conversation) -> None:
    """TxnOffsetCommit v3 requires the member's epoch, or no member; others are refused."""
    ana, _ = sole_member(conversation)
    producer = announced(ana)
    epochs: tuple[tuple[str, Number, str], ...] = (
        ("", -1, "NONE"),
        ("member-ana", ana.epoch, "NONE"),
        ("member-ana", ana.epoch + 1, "ILLEGAL_GENERATION"),
        ("member-ana", -1, "ILLEGAL_GENERATION"),
        ("stranger", ana.epoch, "UNKNOWN_MEMBER_ID"),
    )

    for member_id, epoch, error in epochs:
        ana.asks(
            producer.commits(FIRST, version=3, member_id=member_id, generation_id=epoch),
            expect.txn_offset_commit({"orders": {0: error}}),
        )


@scenario("consumer_groups/offsets/transactional-to-nobody", source=TRANSACTIONAL, clauses=("KO-43",))
def a_transaction_to_a_missing_group_is_nobodys(conversation: Conversation) -> None:
    """TxnOffsetCommit v3 with an epoch to an unknown group gets ILLEGAL_GENERATION."""
    ana = conversation.member("ana")
    producer = announced(ana)

    ana.asks(
        producer.commits(FIRST, version=3, member_id="stranger", generation_id=1),
        expect.txn_offset_commit({"orders": {0: "ILLEGAL_GENERATION"}}),
    )
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="GROUP_ID_NOT_FOUND"))


@scenario(
    "consumer_groups/offsets/commit-by-id",
    source=HANDLES,
    clauses=("KO-18", "KO-04", "KO-11", "OC-39", "OC-40"),
    sweep=sweep("OffsetCommit", 10, 10),
)
def a_member_commits_by_topic_id(conversation: Conversation, version: int) -> None:
    """OffsetCommit v{version} of a member names topics by id; the id is checked before the epoch."""
    ana, _ = sole_member(conversation)
    orders = id_of(ana, "orders")

    for topic_id, member_id, epoch, error in (
        (UNKNOWN_ID, "member-ana", ana.epoch + 7, "UNKNOWN_TOPIC_ID"),
        (orders, "member-ana", ana.epoch + 7, "STALE_MEMBER_EPOCH"),
        (orders, "stranger", ana.epoch, "UNKNOWN_MEMBER_ID"),
        (orders, "member-ana", ana.epoch, "NONE"),
    ):
        request = ask.request(
            "OffsetCommit",
            version,
            group_id=OWN,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            topics=(committed_by_id(topic_id, 0),),
        )
        reported: Pattern = {
            "topic_id": topic_id,
            "partitions": ({"partition_index": 0, "error_code": error},),
        }
        ana.asks(request, expect.response("OffsetCommit", topics=(reported,)))
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch(FIRST))


@scenario(
    "consumer_groups/offsets/fetch-by-id",
    source="KafkaApis#handleOffsetFetchRequest",
    clauses=("KO-21", "KO-22", "OF-27"),
    sweep=sweep("OffsetFetch", 10, 10),
)
def a_member_fetches_by_topic_id(conversation: Conversation, version: int) -> None:
    """OffsetFetch v{version} of a member names topics by id; another epoch gets STALE_MEMBER_EPOCH."""
    ana, _ = sole_member(conversation)
    orders = id_of(ana, "orders")
    _commits(ana, "NONE")

    found: Pattern = {"topic_id": orders, "partitions": ({"committed_offset": 7, "error_code": "NONE"},)}
    unknown: Pattern = {"topic_id": UNKNOWN_ID, "partitions": ({"error_code": "UNKNOWN_TOPIC_ID"},)}
    for epoch, topic_id, answer in (
        (ana.epoch, orders, {"error_code": "NONE", "topics": (found,)}),
        (ana.epoch, UNKNOWN_ID, {"error_code": "NONE", "topics": (unknown,)}),
        (ana.epoch + 1, orders, {"error_code": "STALE_MEMBER_EPOCH", "topics": ()}),
    ):
        group: Value = {
            "group_id": conversation.group("main"),
            "member_id": "member-ana",
            "member_epoch": epoch,
            "topics": (asked_by_id(topic_id, 0),),
        }
        ana.asks(
            ask.request("OffsetFetch", version, groups=(group,)),
            expect.response("OffsetFetch", groups=(answer,)),
        )


@scenario(
    "consumer_groups/offsets/transactional-by-id",
    source=TRANSACTIONAL,
    clauses=("KO-41", "KO-42", "KO-44", "KO-46", "TC-36", "TC-38"),
    sweep=sweep("TxnOffsetCommit", 6, 6),
)
def a_transaction_of_version_6_names_a_stale_epoch(conversation: Conversation, version: int) -> None:
    """TxnOffsetCommit v{version} of a member with another epoch than its own gets STALE_MEMBER_EPOCH."""
    ana, _ = sole_member(conversation)
    orders = id_of(ana, "orders")
    producer = initialised(ana)
    epochs: tuple[tuple[str, Number, str], ...] = (
        ("", -1, "NONE"),
        ("member-ana", ana.epoch, "NONE"),
        ("member-ana", ana.epoch + 1, "STALE_MEMBER_EPOCH"),
        ("member-ana", -1, "STALE_MEMBER_EPOCH"),
        ("stranger", ana.epoch, "UNKNOWN_MEMBER_ID"),
    )

    for member_id, epoch, error in epochs:
        topics = (committed_by_id(orders, 0),)
        reported: Pattern = {"topic_id": orders, "partitions": ({"partition_index": 0, "error_code": error},)}
        ana.asks(
            producer.commits({}, version=version, member_id=member_id, generation_id=epoch, topics=topics),
            expect.response("TxnOffsetCommit", topics=(reported,)),
        )
