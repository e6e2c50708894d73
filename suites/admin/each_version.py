"""Every version of the APIs that describe and list groups.

Those of FindCoordinator and DeleteGroups are swept in the suites for these APIs.
"""

from harness.scenario import Conversation, ask, expect, scenario, sweep
from suites.admin.list_groups import awaits_listed


@scenario(
    "admin/versions/describe-missing",
    source="GroupMetadataManager#describeGroups",
    clauses=("DG-01",),
    sweep=sweep("DescribeGroups", 0, 5),
)
def a_missing_group_is_dead(conversation: Conversation, version: int) -> None:
    """DescribeGroups v{version} returns state Dead for a group that never existed, without an error."""
    ana = conversation.actor("ana")

    ana.sends(ask.describe_groups(version=version))
    ana.receives(
        expect.describe_groups(
            error_code="NONE", group_state="Dead", protocol_type="", protocol_data="", members=()
        )
    )


@scenario(
    "admin/versions/list",
    source="GroupMetadataManager#listGroups",
    clauses=("LG-01",),
    sweep=sweep("ListGroups", 0, 5),
)
def a_group_is_listed(conversation: Conversation, version: int) -> None:
    """ListGroups v{version} lists a group with its protocol type while it has members and afterwards."""
    (ana,) = conversation.stable_group("ana")

    awaits_listed(ana, conversation.group("main"), "Stable", version=version)
    ana.asks(ask.leave_group(), error_code="NONE")
    awaits_listed(ana, conversation.group("main"), "Empty", version=version)


@scenario(
    "admin/versions/delete-missing",
    source="GroupMetadataManager#validateDeleteGroup",
    clauses=("DL-01",),
    sweep=sweep("DeleteGroups", 0, 3),
)
def a_missing_group_is_not_deleted(conversation: Conversation, version: int) -> None:
    """DeleteGroups v{version} of a group that never existed gets GROUP_ID_NOT_FOUND."""
    ana = conversation.actor("ana")

    ana.asks(ask.delete_groups(version=version), expect.delete_groups("GROUP_ID_NOT_FOUND"))
