"""The consumer's subscription: the only part of a member's metadata that a coordinator reads."""

from harness.scenario import ANY, Conversation, ask, expect, scenario

READS = "ConsumerProtocol#deserializeConsumerProtocolSubscription"
THROWS = "ConsumerProtocol#deserializeSubscription"
NO_USER_DATA = b"\xff\xff\xff\xff"
READ = "GROUP_SUBSCRIBED_TO_TOPIC"


def _subscription(
    topics: tuple[bytes, ...] = (b"orders",), *, count: int | None = None, rest: bytes = NO_USER_DATA
) -> bytes:
    """Return a subscription v0, whose topic count and trailing bytes may be wrong."""
    named = b"".join(len(topic).to_bytes(2, "big") + topic for topic in topics)
    counted = len(topics) if count is None else count
    return b"\0\0" + counted.to_bytes(4, "big", signed=True) + named + rest


def _offsets_may_be_deleted(
    conversation: Conversation, metadata: bytes, *, orders: str, payments: str
) -> None:
    """Let a member join with a subscription, and check which topics count as subscribed."""
    (ana,) = conversation.stable_group("ana", protocols=(("range", metadata),))

    ana.sends(ask.offset_delete(topics={"orders": (0,), "payments": (1,)}))
    ana.receives(
        expect.offset_delete(error_code="NONE", errors={"orders": {0: orders}, "payments": {1: payments}})
    )


def _join_may_break_down(conversation: Conversation, metadata: bytes) -> None:
    """Let a member join with a subscription with which some releases cannot complete a join.

    They never answer. So no answer to JoinGroup is expected, and the group's state shows the outcome.
    """
    ana = conversation.actor("ana")
    protocols = (("range", metadata),)
    ana.asks(ask.join_group(protocols=protocols), error_code="MEMBER_ID_REQUIRED")

    ana.sends(ask.join_group(protocols=protocols))
    conversation.elapses(500)
    ana.aside.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state=ANY))


@scenario("classic/subscription/no-topics", source=READS, clauses=("OD-08", "OD-09"))
def a_subscription_to_nothing_is_one(conversation: Conversation) -> None:
    """A member that subscribes to no topic protects no offsets from OffsetDelete."""
    _offsets_may_be_deleted(conversation, _subscription(()), orders="NONE", payments="NONE")


@scenario("classic/subscription/empty-user-data", source=READS, clauses=("OD-08", "OD-09"))
def user_data_may_be_empty(conversation: Conversation) -> None:
    """A subscription may end with empty user data as well as with none."""
    _offsets_may_be_deleted(conversation, _subscription(rest=b"\0\0\0\0"), orders=READ, payments="NONE")


@scenario("classic/subscription/user-data", source=READS, clauses=("OD-08", "OD-09"))
def user_data_may_be_anything(conversation: Conversation) -> None:
    """A subscription may carry user data, which the coordinator ignores."""
    rest = b"\0\0\0\x05 data"
    _offsets_may_be_deleted(conversation, _subscription(rest=rest), orders=READ, payments="NONE")


@scenario("classic/subscription/topic-without-name", source=READS, clauses=("OD-08", "OD-09"))
def a_topic_may_have_no_name(conversation: Conversation) -> None:
    """A member may subscribe to a topic with an empty name beside others."""
    _offsets_may_be_deleted(conversation, _subscription((b"", b"orders")), orders=READ, payments="NONE")


@scenario("classic/subscription/later-version", source=READS, clauses=("OD-08", "OD-09"))
def what_later_versions_add_is_passed_over(conversation: Conversation) -> None:
    """Extra bytes after a subscription v0, as in later versions, are ignored."""
    rest = NO_USER_DATA + b"\0\0\0\0" + b"\xff\xff\xff\xff"
    _offsets_may_be_deleted(conversation, _subscription(rest=rest), orders=READ, payments="NONE")


@scenario("classic/subscription/cut-short", source=READS, clauses=("OD-10",))
def a_subscription_cut_short_counts_as_one_to_everything(conversation: Conversation) -> None:
    """A subscription that ends before its topics counts as one to every topic: OffsetDelete is refused."""
    metadata = _subscription((), count=4, rest=b"\0\0\0\0")
    _offsets_may_be_deleted(conversation, metadata, orders=READ, payments=READ)


@scenario("classic/subscription/topic-beyond-the-end", source=THROWS, clauses=("JG-60", "OR-06"))
def a_topic_beyond_the_end_may_break_the_join(conversation: Conversation) -> None:
    """A subscription with a topic name longer than its bytes leaves a join unanswered in 2.7 to 4.3."""
    _join_may_break_down(conversation, _subscription((), count=1, rest=b"\x00\x64ord"))


@scenario("classic/subscription/negative-topic-length", source=THROWS, clauses=("JG-60", "OR-06"))
def a_topic_of_negative_length_may_break_the_join(conversation: Conversation) -> None:
    """A subscription with a negative topic name length leaves a join unanswered in 2.7 to 4.3."""
    _join_may_break_down(conversation, _subscription((), count=1, rest=b"\xff\xfdorders" + NO_USER_DATA))


@scenario("classic/subscription/more-topics-than-bytes", source=THROWS, clauses=("JG-60", "OR-06"))
def more_topics_than_bytes_may_break_the_join(conversation: Conversation) -> None:
    """A subscription with a topic count beyond its bytes leaves a join unanswered in 2.7 to 4.3."""
    _join_may_break_down(conversation, _subscription(count=1_000))


@scenario("classic/subscription/negative-count", source=THROWS, clauses=("JG-60", "OR-06"))
def a_negative_count_of_topics_may_break_the_join(conversation: Conversation) -> None:
    """A subscription with a negative topic count leaves a join unanswered in 2.7 to 4.3."""
    _join_may_break_down(conversation, _subscription((), count=-2))


@scenario("classic/subscription/user-data-beyond-the-end", source=THROWS, clauses=("JG-60", "OR-06"))
def user_data_beyond_the_end_may_break_the_join(conversation: Conversation) -> None:
    """A subscription with user data longer than its bytes leaves a join unanswered in 2.7 to 4.3."""
    _join_may_break_down(conversation, _subscription(rest=b"\0\0\0\x64 data"))
