"""Authorization for classic groups: join, list, describe and delete, and the order of the checks."""

from harness.scenario import Conversation, ask, containing, expect, scenario
from suites.access.entries import (
    AUTHORIZER,
    MAIN,
    NEEDS,
    NO_GROUP,
    administrator_of,
    allows,
    somebody,
    writes,
)


@scenario(
    "access/groups/join",
    source="KafkaApis#handleJoinGroupRequest",
    clauses=("AU-01", "AU-02", "CO-25"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_group_is_joined_by_who_may_read_it(conversation: Conversation) -> None:
    """JoinGroup without READ on the group gets GROUP_AUTHORIZATION_FAILED; DESCRIBE is not enough."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    refused = expect.join_group(error_code=NO_GROUP, member_id="", generation_id=-1, leader="", members=())

    ana.asks(ask.join_group(member_id=""), refused)
    ana.asks(ask.join_group(member_id="", version=9), refused)
    ana.asks(ask.join_group(member_id="", group_id=""), refused)
    allows(administrator, ana, "DESCRIBE")
    ana.asks(ask.join_group(member_id=""), refused)
    administrator.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead"))
    allows(administrator, ana, "READ")
    conversation.stable_group(ana)
    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.asks(ask.leave_group(), expect.leave_group(error_code="NONE"))


@scenario(
    "access/groups/every-request",
    source="KafkaApis#handleHeartbeatRequest",
    clauses=("AU-01", "AU-03", "CO-25"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_stranger_is_refused_before_the_group_is_looked_at(conversation: Conversation) -> None:
    """Without READ on a group, member requests get GROUP_AUTHORIZATION_FAILED before other group errors."""
    bob = somebody(conversation, "bob")

    bob.asks(
        ask.sync_group(version=5, protocol_type=None, generation_id=7, member_id="nobody"),
        error_code="INCONSISTENT_GROUP_PROTOCOL",
    )
    bob.asks(ask.sync_group(version=5, generation_id=7, member_id="nobody"), error_code=NO_GROUP)
    bob.asks(ask.heartbeat(generation_id=7, member_id="nobody"), error_code=NO_GROUP)
    bob.asks(ask.leave_group(members=(("nobody", None),)), expect.leave_group(error_code=NO_GROUP))
    bob.asks(
        ask.offset_commit(topics={"orders": {0: 1}, "missing": {0: 1}}, generation_id=7, member_id="nobody"),
        expect.offset_commit({"orders": {0: NO_GROUP}, "missing": {0: NO_GROUP}}),
    )


@scenario(
    "access/groups/denied-member",
    source="StandardAuthorizerData#authorize",
    clauses=("AU-03", "AU-20"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_member_may_lose_its_right(conversation: Conversation) -> None:
    """A member that is denied READ gets GROUP_AUTHORIZATION_FAILED, but stays a member of the group."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    allows(administrator, ana, "READ")
    conversation.stable_group(ana)
    writes(administrator, ask.AclEntry(principal="ana", operation="READ", permission="DENY"))

    ana.asks(ask.heartbeat(), error_code=NO_GROUP)
    ana.asks(ask.leave_group(), expect.leave_group(error_code=NO_GROUP))
    administrator.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Stable"))


@scenario(
    "access/groups/describe",
    source="KafkaApis#handleDescribeGroupsRequest",
    clauses=("AU-04", "AU-05"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_group_is_described_to_who_may_see_it(conversation: Conversation) -> None:
    """DescribeGroups refuses each group on its own, and lists the authorized operations of the others."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    other = conversation.group("other")
    allows(administrator, ana, "READ")
    conversation.stable_group(ana)

    ana.asks(
        ask.request("DescribeGroups", 5, groups=(MAIN, other), include_authorized_operations=True),
        expect.response(
            "DescribeGroups",
            groups=containing(
                {"group_id": other, "error_code": NO_GROUP, "group_state": "", "members": ()},
                {"group_id": MAIN, "error_code": "NONE", "authorized_operations": 1 << 3 | 1 << 8},
            ),
        ),
    )


@scenario(
    "access/groups/list",
    source="KafkaApis#handleListGroupsRequest",
    clauses=("AU-06",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def groups_are_listed_to_who_may_see_them(conversation: Conversation) -> None:
    """ListGroups leaves out the groups that the client may not DESCRIBE, and returns no error."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    carol = somebody(conversation, "carol")
    allows(administrator, ana, "READ")
    conversation.stable_group(ana)

    ana.asks(ask.list_groups(), expect.list_groups(error_code="NONE", groups=containing({"group_id": MAIN})))
    carol.asks(ask.list_groups(), expect.list_groups(error_code="NONE", groups=()))
    writes(administrator, ask.AclEntry(principal="carol", operation="DELETE"))
    carol.asks(
        ask.list_groups(), expect.list_groups(error_code="NONE", groups=containing({"group_id": MAIN}))
    )


@scenario(
    "access/groups/delete",
    source="KafkaApis#handleDeleteGroupsRequest",
    clauses=("AU-07",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_group_is_deleted_by_who_may_delete_it(conversation: Conversation) -> None:
    """DeleteGroups requires DELETE on each group, which READ does not imply; DELETE implies DESCRIBE."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    allows(administrator, ana, "READ")
    ana.asks(ask.delete_groups(), expect.delete_groups(NO_GROUP))
    allows(administrator, ana, "DELETE")
    ana.asks(
        ask.delete_groups(groups=(MAIN, conversation.group("other"))),
        expect.delete_groups("GROUP_ID_NOT_FOUND", NO_GROUP),
    )


@scenario(
    "access/groups/find-coordinator",
    source="KafkaApis#getCoordinator",
    clauses=("AU-08",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_coordinator_is_found_by_who_may_see_the_group(conversation: Conversation) -> None:
    """FindCoordinator requires DESCRIBE on the group or the transactional id, for each key of a batch."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    other = conversation.group("other")
    message = "Group authorization failed."

    ana.asks(ask.find_coordinator(), expect.find_coordinator(error_code=NO_GROUP, node_id=-1))
    ana.asks(
        ask.request("FindCoordinator", 3, key=other, key_type=0),
        expect.response("FindCoordinator", error_code=NO_GROUP, error_message=message, host="", port=-1),
    )
    ana.asks(
        ask.request("FindCoordinator", 3, key=other, key_type=1),
        expect.response("FindCoordinator", error_code="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
    )
    allows(administrator, ana, "DESCRIBE")
    ana.asks(
        ask.request("FindCoordinator", 4, coordinator_keys=(other, MAIN), key_type=0),
        expect.response(
            "FindCoordinator",
            coordinators=(
                {"key": other, "error_code": NO_GROUP, "node_id": -1, "error_message": ""},
                {"key": MAIN, "error_code": "NONE"},
            ),
        ),
    )
