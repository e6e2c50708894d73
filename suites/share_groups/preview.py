"""The preview of share groups in 4.0, whose APIs are served only if a broker is configured to."""

from harness.scenario import Capability, Conversation, ShareMember, ask, expect, scenario
from suites.consumer_groups.written import AT_ONCE_MS
from suites.failures.lingering import LINGER_MS, LINGERING, SHORT_COMMITS
from suites.share_groups.administration import SHORT_SESSION

HEARTBEATS = "GroupMetadataManager#shareGroupHeartbeat (4.0.0)"
SERVES = "ApiVersionsResponse#collectApis (4.0.0)"
UNSTABLE = {"unstable.api.versions.enable": "true"}
PREVIEW = {**UNSTABLE, "group.share.enable": "true"}
"""Kafka's defaults are false, but the harness's own brokers have the second."""
ALL = {"orders": (0, 1, 2)}
HEARTBEAT_V0 = bytes.fromhex("004c 0000 00000001 ffff 00  02 67  02 6d  00000000  00 00 00")
"""A request header and a ShareGroupHeartbeat v0 of the member `m` of the group `g`."""


def sharer(conversation: Conversation) -> ShareMember:
    """Return a member that has all of `orders`."""
    ana = conversation.share_member("ana")
    ana.enters(version=0, assigned=ALL)
    return ana


def is_described(ana: ShareMember, state: str) -> None:
    """Let the group be described, and expect its state."""
    described = expect.share_group_describe(error_code="NONE", group_state=state)
    ana.asks(ask.share_group_describe(version=0), described)


@scenario(
    "share_groups/preview/hidden",
    source=SERVES,
    clauses=("SH-02",),
    broker_config={"group.share.enable": "true"},
)
def the_preview_is_hidden(conversation: Conversation) -> None:
    """ShareGroupHeartbeat v0 is not served, unless the preview of 4.0 is: the connection closes."""
    ana = conversation.actor("ana")

    ana.asks(ask.api_versions(version=3), error_code="NONE")
    ana.sends_bytes(HEARTBEAT_V0, says="a ShareGroupHeartbeat v0")
    ana.finds_connection_closed()


@scenario("share_groups/preview/advertised", source=SERVES, clauses=("SH-02",), broker_config=PREVIEW)
def the_preview_is_advertised(conversation: Conversation) -> None:
    """ApiVersions of 4.0 has ShareGroupHeartbeat v0 and ShareGroupDescribe v0 if the preview is enabled."""
    ana = conversation.share_member("ana")

    ana.asks(ask.api_versions(version=3), error_code="NONE")
    ana.enters(version=0)


@scenario(
    "share_groups/preview/off",
    source="KafkaApis#isShareGroupProtocolEnabled (4.0.0)",
    clauses=("SH-01", "SH-02"),
    broker_config={**UNSTABLE, "group.share.enable": "false"},
)
def the_preview_may_be_off(conversation: Conversation) -> None:
    """In 4.0, with its APIs alone, the preview gets UNSUPPORTED_VERSION."""
    ana = conversation.share_member("ana")

    ana.enters(version=0, error_code="UNSUPPORTED_VERSION")
    ana.asks(
        ask.share_group_describe(version=0), expect.share_group_describe(error_code="UNSUPPORTED_VERSION")
    )


@scenario(
    "share_groups/preview/joins",
    source=HEARTBEATS,
    clauses=("SH-13", "SH-15", "SH-16"),
    broker_config=PREVIEW,
)
def a_member_has_all_at_once(conversation: Conversation) -> None:
    """In the preview of 4.0 the first member gets all partitions when it joins, without share state."""
    ana = sharer(conversation)

    ana.heartbeats(version=0)
    is_described(ana, "Stable")
    ana.heartbeats(version=0, topics=("orders",))


@scenario(
    "share_groups/preview/written-once",
    source=HEARTBEATS,
    clauses=("SH-02", "SH-15"),
    broker_config=PREVIEW | SHORT_COMMITS | LINGERING,
)
def a_join_to_the_preview_is_written_once(conversation: Conversation) -> None:
    """In the preview of 4.0, a heartbeat after a join is answered at once: no share state is written."""
    ana = conversation.share_member("ana")

    ana.sends(ask.share_group_heartbeat(version=0, member_epoch=0, subscribed_topic_names=("orders",)))
    ana.receives(expect.share_group_heartbeat(error_code="NONE"), within_ms=3 * LINGER_MS)
    ana.sends(ask.share_group_heartbeat(version=0))
    ana.receives(expect.share_group_heartbeat(error_code="NONE"), within_ms=AT_ONCE_MS)


@scenario("share_groups/preview/leaves", source=HEARTBEATS, clauses=("SH-23",), broker_config=PREVIEW)
def a_member_leaves_the_preview(conversation: Conversation) -> None:
    """In the preview of 4.0, a group that its only member leaves is Empty; the member may join again."""
    ana = sharer(conversation)

    ana.heartbeats(version=0, epoch=-1)
    is_described(ana, "Empty")
    ana.enters("payments", version=0)
    is_described(ana, "Stable")


@scenario("share_groups/preview/topics", source=HEARTBEATS, clauses=("SH-02",), broker_config=PREVIEW)
def a_member_subscribes_to_others(conversation: Conversation) -> None:
    """In the preview of 4.0, a changed subscription brings other partitions in a later epoch."""
    ana = sharer(conversation)

    ana.heartbeats(version=0, topics=("orders", "payments"))
    ana.heartbeats(version=0, topics=("payments",))
    ana.heartbeats(version=0)


@scenario(
    "share_groups/preview/refused",
    source="GroupMetadataManager#throwIfShareGroupHeartbeatRequestIsInvalid (4.0.0)",
    clauses=("SH-03", "SH-04", "SH-06", "SH-07", "SH-08"),
    broker_config=PREVIEW,
)
def invalid_heartbeats_are_refused(conversation: Conversation) -> None:
    """In the preview of 4.0, heartbeats without ids or topics, or with other epochs get INVALID_REQUEST."""
    ana = conversation.share_member("ana")

    invalid = "INVALID_REQUEST"
    ana.enters(version=0, group_id="", error_code=invalid)
    ana.enters(version=0, member_id="", error_code=invalid)
    ana.enters(version=0, rack_id="", error_code=invalid)
    ana.heartbeats(version=0, epoch=0, topics=None, error_code=invalid)
    ana.heartbeats(version=0, epoch=-2, error_code=invalid)


@scenario(
    "share_groups/preview/unknown",
    source=HEARTBEATS,
    clauses=("SH-12", "SH-17", "SH-26"),
    broker_config=PREVIEW,
)
def strangers_are_refused(conversation: Conversation) -> None:
    """In the preview of 4.0, a missing group is an unknown error; members and epochs are checked as later."""
    ana = conversation.share_member("ana")
    bob = conversation.share_member("bob")

    described = expect.share_group_describe(error_code="GROUP_ID_NOT_FOUND")
    ana.asks(ask.share_group_describe(version=0), described)
    ana.heartbeats(version=0, epoch=3, error_code="UNKNOWN_SERVER_ERROR")
    joined = ana.enters(version=0, assigned=ALL)
    bob.heartbeats(version=0, epoch=3, error_code="UNKNOWN_MEMBER_ID")
    bob.heartbeats(version=0, epoch=-1, error_code="UNKNOWN_MEMBER_ID")
    ana.heartbeats(version=0, epoch=joined["member_epoch"] + 1, error_code="FENCED_MEMBER_EPOCH")


@scenario(
    "share_groups/preview/listed",
    source="GroupMetadataManager#listGroups (4.0.0)",
    clauses=("SH-33", "SH-34"),
    broker_config=PREVIEW,
)
def groups_of_the_preview_are_listed(conversation: Conversation) -> None:
    """In the preview of 4.0, ListGroups has share groups by type; one with members cannot be deleted."""
    ana = sharer(conversation)

    ana.asks(ask.list_groups(version=5, types_filter=("share",)), error_code="NONE")
    ana.asks(ask.delete_groups(), expect.response("DeleteGroups"))
    ana.heartbeats(version=0, epoch=-1)
    ana.asks(ask.delete_groups(), expect.response("DeleteGroups"))
    ana.asks(ask.share_group_describe(version=0), expect.share_group_describe())


@scenario(
    "share_groups/preview/two-members", source=HEARTBEATS, clauses=("SH-02", "SH-37"), broker_config=PREVIEW
)
def members_of_the_preview_have_their_own_topics(conversation: Conversation) -> None:
    """In the preview of 4.0, members that subscribe to different topics share none of them."""
    ana = sharer(conversation)
    bob = conversation.share_member("bob")

    bob.enters("payments", version=0, assigned={"payments": (0, 1)})
    ana.heartbeats(version=0)
    bob.heartbeats(version=0, epoch=-1)
    ana.heartbeats(version=0)
    is_described(ana, "Stable")


@scenario(
    "share_groups/preview/silent",
    source="GroupMetadataManager#scheduleShareGroupSessionTimeout (4.0.0)",
    clauses=("SH-29", "SH-35"),
    broker_config=PREVIEW,
)
def a_silent_member_of_the_preview_is_dropped(conversation: Conversation) -> None:
    """In the preview of 4.0, a member that sends nothing for its session timeout is removed."""
    ana = conversation.share_member("ana")
    ana.configures(SHORT_SESSION)
    ana.enters(version=0, assigned=ALL)

    conversation.elapses(6_000)
    ana.heartbeats(version=0, error_code="UNKNOWN_MEMBER_ID")
    is_described(ana, "Empty")


@scenario(
    "share_groups/preview/restart",
    source="GroupMetadataManager#onLoaded (4.0.0)",
    clauses=("SH-36",),
    broker_config=PREVIEW,
    needs=(Capability.RESTART,),
)
def a_group_of_the_preview_outlives_its_coordinator(conversation: Conversation) -> None:
    """In the preview of 4.0, a share group is the same after a restart."""
    ana = sharer(conversation)
    conversation.restarts_coordinator()

    described = expect.share_group_describe(error_code="NONE", group_state="Stable")
    ana.repeats(ask.share_group_describe(version=0), until=described, within_ms=20_000)
    ana.heartbeats(version=0)
    ana.heartbeats(version=0, topics=("orders", "payments"))
