"""Expected answers about share groups (KIP-932), and expected assignments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.scenario.ask import Assigned, TopicT
from harness.scenario.messages import (
    ANY,
    PinItems,
    PinNumber,
    PinText,
    Response,
    Unpinned,
    builds_response,
    pinned,
)
from harness.scenario.values import InAnyOrder, OneOf, Pattern, TopicId


def assigned(partitions: Assigned | None) -> Pattern:
    """Return an expected assignment: exactly these partitions, in any order."""
    if partitions is None:
        return None
    return {
        "topic_partitions": InAnyOrder(
            tuple(
                {"topic_id": TopicId(topic), "partitions": InAnyOrder(tuple(indexes))}
                for topic, indexes in partitions.items()
            )
        )
    }


@builds_response("ShareGroupHeartbeat")
def share_group_heartbeat(
    *,
    error_code: PinText = ANY,
    error_message: PinText = ANY,
    member_id: PinText = ANY,
    member_epoch: PinNumber = ANY,
    heartbeat_interval_ms: PinNumber = ANY,
    assignment: Pattern | Unpinned = ANY,
) -> None:
    """Expect an answer to ShareGroupHeartbeat; `assigned(…)` makes an expected assignment."""


@builds_response("ShareGroupDescribe", entry="groups")
def share_group_describe(
    *,
    error_code: PinText = ANY,
    error_message: PinText = ANY,
    group_state: PinText = ANY,
    group_epoch: PinNumber = ANY,
    assignment_epoch: PinNumber = ANY,
    assignor_name: PinText = ANY,
    members: PinItems = ANY,
    authorized_operations: PinNumber = ANY,
) -> None:
    """Expect an answer to ShareGroupDescribe about exactly one group."""


def share_group_member(
    member_id: PinText,
    *,
    epoch: PinNumber | Unpinned = ANY,
    owned: Assigned | Unpinned = ANY,
    rack_id: PinText = ANY,
    topics: Sequence[str] | Unpinned = ANY,
) -> Mapping[str, Pattern]:
    """Expect a member in an answer to ShareGroupDescribe, for its `members`.

    Args:
        member_id: the member's id.
        epoch: the member's epoch.
        owned: its partitions, by topic.
        rack_id: its rack.
        topics: the topics that it subscribes to, in any order.
    """
    return pinned(
        "",
        member_id=member_id,
        rack_id=rack_id,
        member_epoch=epoch,
        subscribed_topic_names=ANY if isinstance(topics, Unpinned) else InAnyOrder(tuple(topics)),
        assignment=ANY if isinstance(owned, Unpinned) else assigned(owned),
    ).fields


def share_offsets(
    offsets: Mapping[TopicT, Mapping[int, int | OneOf]] | None = None, *, error_code: PinText = "NONE"
) -> Response:
    """Expect an answer to DescribeShareGroupOffsets about one group: topic to partition to start offset."""
    group: dict[str, Pattern] = {"error_code": error_code} if not isinstance(error_code, Unpinned) else {}
    if offsets is not None:
        group["topics"] = InAnyOrder(
            tuple(
                {
                    "topic_name": topic,
                    "partitions": InAnyOrder(
                        tuple(
                            {"partition_index": index, "start_offset": offset}
                            for index, offset in partitions.items()
                        )
                    ),
                }
                for topic, partitions in offsets.items()
            )
        )
    return Response(api="DescribeShareGroupOffsets", fields={"groups": (group,)})


@builds_response("AlterShareGroupOffsets")
def altered_share_offsets(
    *, error_code: PinText = ANY, error_message: PinText = ANY, responses: PinItems = ANY
) -> None:
    """Expect an answer to AlterShareGroupOffsets."""


@builds_response("DeleteShareGroupOffsets")
def deleted_share_offsets(
    *, error_code: PinText = ANY, error_message: PinText = ANY, responses: PinItems = ANY
) -> None:
    """Expect an answer to DeleteShareGroupOffsets."""
