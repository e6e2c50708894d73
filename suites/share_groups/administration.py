"""Describing, listing and deleting share groups, and their sessions and configurations."""

from harness.scenario import (
    GONE,
    Capability,
    Conversation,
    GroupRef,
    ask,
    containing,
    expect,
    one_of,
    scenario,
)
from suites.offsets.expiry import FREQUENT_EXPIRY
from suites.share_fetch.readers import finds_share_coordinator
from suites.share_groups.membership import ALL, share_group_is, sole_sharer

DESCRIBES = "GroupMetadataManager#shareGroupDescribe"
LISTS = "GroupMetadataManager#listGroups"
DELETES = "GroupCoordinatorShard#sharePartitionDeleteRequests"
TIMES_SESSION = "GroupMetadataManager#shareGroupSessionTimeoutMs"
TELLS_INTERVAL = "GroupMetadataManager#shareGroupHeartbeatIntervalMs"
DROPS = "GroupMetadataManager#shareGroupFenceMemberOperation"
CONFIGURES = "GroupConfig#validate"
WITHOUT_FEATURES = {"share.version": "0", "streams.version": "0"}
"""Without both features, so that scenarios without either share a broker."""
SHORT_SESSION = {"share.session.timeout.ms": 4_000, "share.heartbeat.interval.ms": 500}


@scenario("share_groups/describe/whole", source=DESCRIBES, clauses=("SH-25",))
def a_group_is_described(conversation: Conversation) -> None:
    """ShareGroupDescribe returns state, epochs, assignor, and each member's details and assignment."""
    ana = conversation.share_member("ana")
    ana.enters(assigned={}, rack_id="rack-1")
    joined = ana.awaits(ALL)

    member = expect.share_group_member(
        "member-ana", epoch=joined["member_epoch"], owned=ALL, rack_id="rack-1", topics=("orders",)
    )
    described = expect.share_group_describe(
        error_code="NONE",
        group_state="Stable",
        group_epoch=joined["member_epoch"],
        assignment_epoch=joined["member_epoch"],
        assignor_name="simple",
        members=(member,),
    )
    ana.asks(ask.share_group_describe(), described)


@scenario("share_groups/describe/operations", source=DESCRIBES, clauses=("SH-25",))
def operations_are_named_if_asked_for(conversation: Conversation) -> None:
    """ShareGroupDescribe returns the authorized operations on request."""
    ana, _ = sole_sharer(conversation)

    ana.asks(ask.share_group_describe(include_authorized_operations=True), expect.share_group_describe())
    ana.asks(ask.share_group_describe(), expect.share_group_describe(authorized_operations=-(2**31)))


@scenario("share_groups/describe/no-group", source=DESCRIBES, clauses=("SH-26",))
def no_group_is_described(conversation: Conversation) -> None:
    """ShareGroupDescribe of a missing group gets GROUP_ID_NOT_FOUND; without an id, INVALID_GROUP_ID."""
    ana = conversation.share_member("ana")

    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code="GROUP_ID_NOT_FOUND"))
    ana.asks(
        ask.share_group_describe(group_ids=("",)), expect.share_group_describe(error_code="INVALID_GROUP_ID")
    )


@scenario("share_groups/describe/two-members", source=DESCRIBES, clauses=("SH-25",))
def every_member_is_described(conversation: Conversation) -> None:
    """ShareGroupDescribe returns each member's own epoch, the former one until it heartbeats."""
    ana, bob = conversation.share_members("ana", "bob")
    ana.enters(assigned={})
    joined = ana.awaits(ALL)
    entered = bob.enters("payments")

    ana.asks(
        ask.share_group_describe(),
        expect.share_group_describe(
            group_state="Stable",
            members=containing(
                expect.share_group_member("member-ana", epoch=joined["member_epoch"], owned=ALL),
                expect.share_group_member("member-bob", epoch=entered["member_epoch"], topics=("payments",)),
            ),
        ),
    )


@scenario("share_groups/describe/as-others", source=DESCRIBES, clauses=("SH-26", "DG-11"))
def a_share_group_is_no_other(conversation: Conversation) -> None:
    """A share group is not found by ConsumerGroupDescribe and DescribeGroups."""
    ana, _ = sole_sharer(conversation)

    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="GROUP_ID_NOT_FOUND"))
    ana.asks(
        ask.describe_groups(version=6),
        expect.describe_groups(error_code="GROUP_ID_NOT_FOUND", group_state="Dead"),
    )
    ana.asks(ask.describe_groups(version=5), expect.describe_groups(error_code="NONE", group_state="Dead"))


@scenario("share_groups/list/types", source=LISTS, clauses=("SH-33",))
def share_groups_are_listed(conversation: Conversation) -> None:
    """ListGroups lists a share group with protocol type and type share, and filters by state and type."""
    ana, _ = sole_sharer(conversation)
    listed = containing({"group_id": GroupRef("main"), "protocol_type": "share", "group_state": "Stable"})

    ana.asks(ask.list_groups(version=5), expect.list_groups(error_code="NONE", groups=listed))
    ana.asks(
        ask.list_groups(version=5, types_filter=("Share",), states_filter=("stable",)),
        expect.list_groups(error_code="NONE", groups=listed),
    )


@scenario("share_groups/delete/with-members", source=DELETES, clauses=("SH-34",))
def a_group_with_members_stays(conversation: Conversation) -> None:
    """DeleteGroups refuses a share group that has members with NON_EMPTY_GROUP, and deletes an empty one."""
    ana, _ = sole_sharer(conversation)

    ana.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))
    ana.leaves()
    share_group_is(ana, "Empty")
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code="GROUP_ID_NOT_FOUND"))
    ana.asks(ask.delete_groups(), expect.delete_groups("GROUP_ID_NOT_FOUND"))


@scenario("share_groups/delete/anew", source=DELETES, clauses=("SH-34", "SH-13"))
def a_deleted_group_begins_anew(conversation: Conversation) -> None:
    """A group that is created again after its deletion starts at the first epoch, without share state."""
    ana = conversation.share_member("ana")
    first = ana.enters(assigned={})
    ana.awaits(ALL)
    ana.leaves()
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))

    ana.enters(member_epoch=first["member_epoch"], assigned={})
    ana.awaits(ALL, member_epoch=first["member_epoch"] + 1)


@scenario("share_groups/delete/state", source=DELETES, clauses=("SH-34", "DL-13"))
def state_goes_with_its_group(conversation: Conversation) -> None:
    """DeleteGroups of a share group deletes the state of its partitions; a refusal keeps both."""
    ana, _ = sole_sharer(conversation)
    finds_share_coordinator(ana)
    read = ask.read_share_group_state("orders")

    ana.asks(ask.delete_groups(), expect.delete_groups("NON_EMPTY_GROUP"))
    ana.asks(read, expect.share_state("Read", "NONE"))
    ana.leaves()
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    ana.asks(read, expect.share_state("Read", "INVALID_REQUEST"))


@scenario(
    "share_groups/expiry/empty-group",
    source="ShareGroup#shouldExpire",
    clauses=("EX-15",),
    broker_config=FREQUENT_EXPIRY,
)
def an_empty_share_group_stays(conversation: Conversation) -> None:
    """An Empty share group stays when a pass removes a classic group whose offset has expired."""
    other = conversation.group("other", beside=conversation.group("main"))
    ana, _ = sole_sharer(conversation)
    ana.leaves()
    bob = conversation.actor("bob")
    expired = ask.offset_commit(
        version=4,
        group_id=other,
        generation_id=-1,
        member_id="",
        retention_time_ms=0,
        topics={"orders": {0: 7}},
    )
    bob.asks(expired, expect.offset_commit({"orders": {0: "NONE"}}))

    bob.repeats(ask.describe_groups(groups=(other,)), until=GONE)
    share_group_is(ana, "Empty")


@scenario("share_groups/sessions/silent", source=DROPS, clauses=("SH-29", "SH-35"))
def a_silent_member_is_dropped(conversation: Conversation) -> None:
    """A share group member is removed at the group's session timeout, unless it heartbeats."""
    ana = conversation.share_member("ana")
    ana.configures(SHORT_SESSION)
    ana.enters("unheard-of", interval_ms=500)

    conversation.elapses(2_200)
    ana.heartbeats()
    conversation.elapses(2_200)
    ana.heartbeats()
    conversation.elapses(6_000)
    ana.heartbeats(error_code="UNKNOWN_MEMBER_ID")
    share_group_is(ana, "Empty")


@scenario("share_groups/configs/interval", source=TELLS_INTERVAL, clauses=("SH-35",))
def a_group_has_its_own_interval(conversation: Conversation) -> None:
    """A share group with its own heartbeat interval returns it to members in ShareGroupHeartbeat."""
    ana = conversation.share_member("ana")
    ana.configures({"share.heartbeat.interval.ms": 900})

    ana.enters("unheard-of", interval_ms=900)
    ana.configures({"share.heartbeat.interval.ms": None})
    ana.heartbeats(interval_ms=5_000)


@scenario("share_groups/configs/refused", source=CONFIGURES, clauses=("SH-35",))
def a_share_group_cannot_be_configured_at_will(conversation: Conversation) -> None:
    """A share group configuration out of the broker's bounds gets INVALID_CONFIG."""
    ana = conversation.share_member("ana")

    for configs in (
        {"share.session.timeout.ms": 99},
        {"share.session.timeout.ms": 60_001},
        {"share.heartbeat.interval.ms": 15_001},
        {"share.auto.offset.reset": "none"},
    ):
        ana.configures(configs, error_code="INVALID_CONFIG")
    ana.configures({"share.auto.offset.reset": "earliest"})


@scenario(
    "share_groups/off/refused",
    source="KafkaApis#isShareGroupProtocolEnabled",
    clauses=("SH-01",),
    broker_config={"group.share.enable": "false"},
)
def share_groups_are_off(conversation: Conversation) -> None:
    """In 4.1 share groups get UNSUPPORTED_VERSION unless enabled; since 4.2 they need not be enabled."""
    ana = conversation.share_member("ana")

    ana.enters("unheard-of", error_code=one_of("NONE", "UNSUPPORTED_VERSION"))
    described = expect.share_group_describe(error_code=one_of("NONE", "UNSUPPORTED_VERSION"))
    ana.asks(ask.share_group_describe(), described)
    ana.asks(
        ask.describe_share_group_offsets(),
        expect.share_offsets(error_code=one_of("NONE", "UNSUPPORTED_VERSION")),
    )


@scenario(
    "share_groups/off/feature",
    source="KafkaApis#isShareGroupProtocolEnabled",
    clauses=("SH-01",),
    broker_config=WITHOUT_FEATURES,
    needs=(Capability.FEATURES,),
)
def a_cluster_may_lack_share_groups(conversation: Conversation) -> None:
    """Without the feature `share.version` share groups get UNSUPPORTED_VERSION, always since 4.3."""
    ana = conversation.share_member("ana")
    either = one_of("NONE", "UNSUPPORTED_VERSION")

    ana.enters("unheard-of", error_code=either)
    ana.asks(ask.share_group_describe(), expect.share_group_describe(error_code=either))
    ana.asks(ask.describe_share_group_offsets(), expect.share_offsets(error_code=either))
    ana.asks(ask.alter_share_group_offsets(topics={}), expect.altered_share_offsets())
    ana.asks(ask.delete_share_group_offsets(topics=()), expect.deleted_share_offsets())
    refused = one_of("SHARE_SESSION_NOT_FOUND", "UNKNOWN_SERVER_ERROR", "UNSUPPORTED_VERSION")
    ana.asks(ask.share_fetch(member_id="ana", share_session_epoch=3), expect.share_fetch(error_code=refused))
    acknowledging = ask.share_acknowledge(member_id="ana", share_session_epoch=3)
    ana.asks(acknowledging, expect.share_acknowledge(error_code=refused))
