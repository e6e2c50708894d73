"""Builders of expected responses; every field is unpinned unless it is named."""

# ruff: noqa: PLC0414 - what is expected of share groups is offered by this module too
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from harness.scenario.ask import Assigned, TopicT
from harness.scenario.expect_share import altered_share_offsets as altered_share_offsets
from harness.scenario.expect_share import assigned as assigned
from harness.scenario.expect_share import deleted_share_offsets as deleted_share_offsets
from harness.scenario.expect_share import share_group_describe as share_group_describe
from harness.scenario.expect_share import share_group_heartbeat as share_group_heartbeat
from harness.scenario.expect_share import share_group_member as share_group_member
from harness.scenario.expect_share import share_offsets as share_offsets
from harness.scenario.expect_shares import share_acknowledge as share_acknowledge
from harness.scenario.expect_shares import share_fetch as share_fetch
from harness.scenario.expect_shares import share_state as share_state
from harness.scenario.messages import (
    ANY,
    Group,
    PinBytes,
    PinFlag,
    PinItems,
    PinNumber,
    PinText,
    Response,
    Unpinned,
    builds_response,
    pinned,
)
from harness.scenario.values import InAnyOrder, OneOf, Pattern

Errors: TypeAlias = Mapping[TopicT, Mapping[int, str | OneOf]]
"""Topic to partition to error."""


def response(api: str, **fields: Pattern) -> Response:
    """Expect some fields of any response."""
    return Response(api=api, fields=fields)


@builds_response("ApiVersions")
def api_versions(*, error_code: PinText = ANY, api_keys: PinItems = ANY) -> None:
    """Expect an answer to ApiVersions."""


@builds_response("FindCoordinator")
def find_coordinator(
    *,
    error_code: PinText = ANY,
    error_message: PinText = ANY,
    node_id: PinNumber = ANY,
    host: PinText = ANY,
    coordinators: PinItems = ANY,
) -> None:
    """Expect an answer to FindCoordinator; `coordinators` from v4 on, the others before."""


@builds_response("JoinGroup")
def join_group(
    *,
    error_code: PinText = ANY,
    generation_id: PinNumber = ANY,
    protocol_type: PinText = ANY,
    protocol_name: PinText = ANY,
    leader: PinText = ANY,
    skip_assignment: PinFlag = ANY,
    member_id: PinText = ANY,
    members: PinItems = ANY,
) -> None:
    """Expect an answer to JoinGroup."""


@builds_response("SyncGroup")
def sync_group(
    *,
    error_code: PinText = ANY,
    protocol_type: PinText = ANY,
    protocol_name: PinText = ANY,
    assignment: PinBytes = ANY,
) -> None:
    """Expect an answer to SyncGroup."""


@builds_response("Heartbeat")
def heartbeat(*, error_code: PinText) -> None:
    """Expect an answer to Heartbeat."""


@builds_response("LeaveGroup")
def leave_group(*, error_code: PinText = ANY, members: PinItems = ANY) -> None:
    """Expect an answer to LeaveGroup; `members` from v3 on."""


@builds_response("DescribeGroups", entry="groups")
def describe_groups(
    *,
    error_code: PinText = ANY,
    error_message: PinText = ANY,
    group_state: PinText = ANY,
    protocol_type: PinText = ANY,
    protocol_data: PinText = ANY,
    members: PinItems = ANY,
) -> None:
    """Expect an answer to DescribeGroups about exactly one group."""


GONE: Final = describe_groups(error_code="NONE", group_state="Dead", protocol_type="")
"""The answer of DescribeGroups about a group that no longer exists. A Scala coordinator that is just removing
a group still returns its protocol type, so a wait for the removal also waits until this is empty."""


@builds_response("ListGroups")
def list_groups(*, error_code: PinText = ANY, groups: PinItems = ANY) -> None:
    """Expect an answer to ListGroups; other scenarios' groups are listed too, so use `containing`."""


def delete_groups(*error_codes: PinText) -> Response:
    """Expect an answer to DeleteGroups with these errors, one for each group, in any order."""
    results: tuple[Pattern, ...] = tuple(pinned("", error_code=code).fields for code in error_codes)
    return Response(api="DeleteGroups", fields={"results": InAnyOrder(results)})


def offset_commit(errors: Errors[TopicT]) -> Response:
    """Expect an answer to OffsetCommit: topic to partition to error, in any order."""
    return Response(api="OffsetCommit", fields={"topics": _partition_errors(errors)})


def offset_fetch(
    offsets: Mapping[TopicT, Mapping[int, int | OneOf]],
    *,
    version: int = 6,
    error_code: str = "NONE",
) -> Response:
    """Expect an answer to OffsetFetch: topic to partition to offset (-1 for none), in any order.

    No partition may have an error: an unstable one also has offset -1.
    """
    topics = InAnyOrder(
        tuple(
            {
                "name": topic,
                "partitions": InAnyOrder(
                    tuple(
                        {"partition_index": index, "committed_offset": offset, "error_code": "NONE"}
                        for index, offset in partitions.items()
                    )
                ),
            }
            for topic, partitions in offsets.items()
        )
    )
    if version >= 8:
        group: Mapping[str, Pattern] = {"topics": topics, "error_code": error_code}
        return Response(api="OffsetFetch", fields={"groups": (group,)})
    top = {"error_code": error_code} if version >= 2 else {}
    return Response(api="OffsetFetch", fields={"topics": topics, **top})


@builds_response("ConsumerGroupHeartbeat")
def consumer_group_heartbeat(
    *,
    error_code: PinText = ANY,
    error_message: PinText = ANY,
    member_id: PinText = ANY,
    member_epoch: PinNumber = ANY,
    heartbeat_interval_ms: PinNumber = ANY,
    assignment: Pattern | Unpinned = ANY,
) -> None:
    """Expect an answer to ConsumerGroupHeartbeat; `assigned(…)` makes an expected assignment."""


@builds_response("ConsumerGroupDescribe", entry="groups")
def consumer_group_describe(
    *,
    error_code: PinText = ANY,
    group_state: PinText = ANY,
    group_epoch: PinNumber = ANY,
    assignment_epoch: PinNumber = ANY,
    assignor_name: PinText = ANY,
    members: PinItems = ANY,
    authorized_operations: PinNumber = ANY,
) -> None:
    """Expect an answer to ConsumerGroupDescribe about exactly one group."""


def group_member(
    member_id: PinText,
    *,
    epoch: PinNumber | Unpinned = ANY,
    owned: Assigned | Unpinned = ANY,
    target: Assigned | Unpinned = ANY,
    instance_id: PinText = ANY,
    topics: Sequence[str] | Unpinned = ANY,
    regex: PinText = ANY,
    member_type: PinNumber = ANY,
) -> Mapping[str, Pattern]:
    """Expect a member in an answer to ConsumerGroupDescribe, for its `members`.

    Args:
        member_id: the member's id.
        epoch: the member's epoch.
        owned: its current partitions, by topic.
        target: the partitions of its target assignment, by topic.
        instance_id: the instance id of a static member.
        topics: the topics that it subscribes to by name, in any order.
        regex: the regular expression that it subscribes with.
        member_type: 1 for a member of the protocol, 0 for a classic one; from v1 on.
    """
    return pinned(
        "",
        member_id=member_id,
        instance_id=instance_id,
        member_epoch=epoch,
        subscribed_topic_names=ANY if isinstance(topics, Unpinned) else InAnyOrder(tuple(topics)),
        subscribed_topic_regex=regex,
        assignment=ANY if isinstance(owned, Unpinned) else assigned(owned),
        target_assignment=ANY if isinstance(target, Unpinned) else assigned(target),
        member_type=member_type,
    ).fields


def metadata(topics: Iterable[Group]) -> Response:
    """Expect that Metadata contains these topics without errors, in any order."""
    known = tuple({"name": topic, "error_code": "NONE"} for topic in topics)
    return Response(api="Metadata", fields={"topics": InAnyOrder(known)})


@builds_response("CreatePartitions", entry="results")
def create_partitions(*, error_code: PinText = ANY) -> None:
    """Expect an answer to a CreatePartitions of one topic."""


@builds_response("IncrementalAlterConfigs", entry="responses")
def group_configs(*, error_code: PinText = ANY) -> None:
    """Expect an answer to an IncrementalAlterConfigs of one group."""


def offset_delete(*, error_code: PinText = ANY, errors: Errors[TopicT] | None = None) -> Response:
    """Expect an answer to OffsetDelete: an error on top, and topic to partition to error."""
    fields: dict[str, Pattern] = dict(pinned("OffsetDelete", error_code=error_code).fields)
    if errors is not None:
        fields["topics"] = _partition_errors(errors)
    return Response(api="OffsetDelete", fields=fields)


def _partition_errors(errors: Errors[TopicT]) -> InAnyOrder:
    return InAnyOrder(
        tuple(
            {
                "name": topic,
                "partitions": InAnyOrder(
                    tuple(
                        {"partition_index": index, "error_code": error} for index, error in partitions.items()
                    )
                ),
            }
            for topic, partitions in errors.items()
        )
    )


def partitions_of(topics: Mapping[str, Sequence[int]], error_code: str) -> Mapping[str, Mapping[int, str]]:
    """Spread one error over partitions, for `offset_commit` and `offset_delete`."""
    return {topic: dict.fromkeys(indexes, error_code) for topic, indexes in topics.items()}


def txn_offset_commit(errors: Errors[TopicT]) -> Response:
    """Expect an answer to TxnOffsetCommit: topic to partition to error, in any order."""
    return Response(api="TxnOffsetCommit", fields={"topics": _partition_errors(errors)})


@builds_response("InitProducerId")
def init_producer_id(
    *, error_code: PinText = ANY, producer_id: PinNumber = ANY, producer_epoch: PinNumber = ANY
) -> None:
    """Expect an answer to InitProducerId."""


@builds_response("AddOffsetsToTxn")
def add_offsets_to_txn(*, error_code: PinText) -> None:
    """Expect an answer to AddOffsetsToTxn."""


@builds_response("EndTxn")
def end_txn(
    *, error_code: PinText = ANY, producer_id: PinNumber = ANY, producer_epoch: PinNumber = ANY
) -> None:
    """Expect an answer to EndTxn; producer and epoch from v5 on."""


def write_txn_markers(errors: Errors[TopicT]) -> Response:
    """Expect an answer to WriteTxnMarkers for one producer: topic to partition to error."""
    marker: Mapping[str, Pattern] = {"topics": _partition_errors(errors)}
    return Response(api="WriteTxnMarkers", fields={"markers": (marker,)})


@builds_response("CreateTopics", entry="topics")
def create_topic(*, error_code: PinText = ANY) -> None:
    """Expect an answer to a CreateTopics of one topic."""


@builds_response("DeleteTopics", entry="responses")
def delete_topic(*, error_code: PinText = ANY) -> None:
    """Expect an answer to a DeleteTopics of one topic."""
