"""Builders of requests about share groups (KIP-932)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from harness.scenario.messages import (
    ANY,
    OWN,
    Group,
    Number,
    Own,
    RequestFields,
    Text,
    builds_request,
)

ShareOffsets: TypeAlias = Mapping[Group, Mapping[int, int]]
"""Topic to partition to offset."""


@builds_request("ShareGroupHeartbeat")
def share_group_heartbeat(
    *,
    version: int = 1,
    group_id: Group | Own = OWN,
    member_id: Text | Own = OWN,
    member_epoch: Number | Own = OWN,
    rack_id: str | None = None,
    subscribed_topic_names: Sequence[Group] | None = None,
) -> RequestFields:
    """Send a heartbeat of a share group's member; missing fields are unchanged. Epoch 0 joins, -1 leaves."""
    names = None if subscribed_topic_names is None else tuple(subscribed_topic_names)
    return {"subscribed_topic_names": names}


@builds_request("ShareGroupDescribe")
def share_group_describe(
    *,
    version: int = 1,
    group_ids: Sequence[Group | Own] = (OWN,),
    include_authorized_operations: bool = False,
) -> None:
    """Describe share groups; the actor's own if none is named."""


@builds_request("DescribeShareGroupOffsets")
def describe_share_group_offsets(
    *,
    version: int = 0,
    group_id: Group | Own = OWN,
    topics: Mapping[Group, Sequence[int]] | None = None,
) -> RequestFields:
    """Describe the start offsets of a share group, in all partitions with state if no topics are named."""
    wanted = None
    if topics is not None:
        wanted = tuple(
            {"topic_name": topic, "partitions": tuple(partitions)} for topic, partitions in topics.items()
        )
    return {"groups": ({"group_id": group_id, "topics": wanted},), "group_id": ANY, "topics": ANY}


@builds_request("AlterShareGroupOffsets")
def alter_share_group_offsets(
    *, version: int = 0, group_id: Group | Own = OWN, topics: ShareOffsets
) -> RequestFields:
    """Set the start offsets of a share group."""
    return {
        "topics": tuple(
            {
                "topic_name": topic,
                "partitions": tuple(
                    {"partition_index": index, "start_offset": offset} for index, offset in offsets.items()
                ),
            }
            for topic, offsets in topics.items()
        )
    }


@builds_request("DeleteShareGroupOffsets")
def delete_share_group_offsets(
    *, version: int = 0, group_id: Group | Own = OWN, topics: Sequence[Group]
) -> RequestFields:
    """Delete the start offsets of a share group in some topics."""
    return {"topics": tuple({"topic_name": topic} for topic in topics)}
