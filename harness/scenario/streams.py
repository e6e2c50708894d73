"""Builders of requests about streams groups (KIP-1071), and of expected answers.

As in `ask` and `expect`, a field that is left out is the actor's own, or unchanged, or not pinned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.scenario.messages import (
    ANY,
    OWN,
    Group,
    Number,
    Own,
    PinItems,
    PinNumber,
    PinText,
    RequestFields,
    Text,
    Unpinned,
    builds_request,
    builds_response,
)
from harness.scenario.values import Pattern, Value


def topic_info(
    name: Group, *, partitions: int = 0, replication_factor: int = 0, configs: Mapping[str, str] | None = None
) -> Mapping[str, Value]:
    """Return an internal topic of a topology."""
    return {
        "name": name,
        "partitions": partitions,
        "replication_factor": replication_factor,
        "topic_configs": tuple({"key": key, "value": text} for key, text in (configs or {}).items()),
    }


def subtopology(
    subtopology_id: str = "0",
    *,
    sources: Sequence[Group] = ("orders",),
    regexes: Sequence[str] = (),
    changelogs: Sequence[Mapping[str, Value]] = (),
    sinks: Sequence[Group] = (),
    repartitions: Sequence[Mapping[str, Value]] = (),
    copartitioned: Sequence[int] = (),
    copartitioned_repartitions: Sequence[int] = (),
) -> Mapping[str, Value]:
    """Return a part of a topology.

    Args:
        subtopology_id: its name.
        sources: topics that it reads.
        regexes: regular expressions of topics that it reads.
        changelogs: `topic_info(…)` of its state.
        sinks: repartition topics that it writes to.
        repartitions: `topic_info(…)` of those that it reads.
        copartitioned: indexes in `sources` of topics that need the same number of partitions.
        copartitioned_repartitions: indexes of such topics in `repartitions`.
    """
    group = {
        "source_topics": tuple(copartitioned),
        "source_topic_regex": (),
        "repartition_source_topics": tuple(copartitioned_repartitions),
    }
    return {
        "subtopology_id": subtopology_id,
        "source_topics": tuple(sources),
        "source_topic_regex": tuple(regexes),
        "state_changelog_topics": tuple(changelogs),
        "repartition_sink_topics": tuple(sinks),
        "repartition_source_topics": tuple(repartitions),
        "copartition_groups": (group,) if copartitioned or copartitioned_repartitions else (),
    }


def topology(*subtopologies: Mapping[str, Value], epoch: int = 0) -> Mapping[str, Value]:
    """Return a topology; one that reads `orders` if no subtopology is named."""
    return {"epoch": epoch, "subtopologies": subtopologies or (subtopology(),)}


@builds_request("StreamsGroupHeartbeat")
def ask_heartbeat(
    *,
    version: int = 0,
    group_id: Group | Own = OWN,
    member_id: Text | Own = OWN,
    member_epoch: Number | Own = OWN,
    endpoint_information_epoch: Number = 0,
    instance_id: str | None | Own = OWN,
    rack_id: str | None = None,
    rebalance_timeout_ms: int = -1,
    topology: Mapping[str, Value] | None = None,
    active_tasks: Value = None,
    standby_tasks: Value = None,
    warmup_tasks: Value = None,
    process_id: str | None = None,
    user_endpoint: Value = None,
    client_tags: Mapping[str, str] | None = None,
    task_offsets: Value = None,
    task_end_offsets: Value = None,
    shutdown_application: bool = False,
) -> RequestFields:
    """Send a heartbeat of a streams group's member; fields that are left out are unchanged."""
    if client_tags is None:
        return {"client_tags": None}
    return {"client_tags": tuple({"key": key, "value": text} for key, text in client_tags.items())}


@builds_response("StreamsGroupHeartbeat")
def expect_heartbeat(
    *,
    error_code: PinText = ANY,
    error_message: PinText = ANY,
    member_id: PinText = ANY,
    member_epoch: PinNumber = ANY,
    heartbeat_interval_ms: PinNumber = ANY,
    status: PinItems = ANY,
    active_tasks: Pattern | Unpinned = ANY,
    standby_tasks: Pattern | Unpinned = ANY,
    warmup_tasks: Pattern | Unpinned = ANY,
    endpoint_information_epoch: PinNumber = ANY,
    partitions_by_user_endpoint: Pattern | Unpinned = ANY,
) -> None:
    """Expect an answer to StreamsGroupHeartbeat."""


@builds_request("StreamsGroupTopologyDescriptionUpdate")
def ask_topology_description_update(
    *,
    version: int = 0,
    group_id: Group | Own = OWN,
    member_id: Text | Own = OWN,
    topology_epoch: Number = 0,
) -> RequestFields:
    """Send a description of an empty topology."""
    return {"topology_description": {"subtopologies": (), "global_stores": ()}}


@builds_response("StreamsGroupTopologyDescriptionUpdate")
def expect_topology_description_update(*, error_code: PinText = ANY, error_message: PinText = ANY) -> None:
    """Expect an answer to StreamsGroupTopologyDescriptionUpdate."""


@builds_request("StreamsGroupDescribe")
def ask_describe(
    *,
    version: int = 0,
    group_ids: Sequence[Group | Own] = (OWN,),
    include_authorized_operations: bool = False,
    include_topology_description: bool | Unpinned = ANY,
) -> None:
    """Describe streams groups; the actor's own if none is named."""


@builds_response("StreamsGroupDescribe", entry="groups")
def expect_describe(
    *,
    error_code: PinText = ANY,
    error_message: PinText = ANY,
    group_state: PinText = ANY,
    group_epoch: PinNumber = ANY,
    assignment_epoch: PinNumber = ANY,
    topology: Pattern | Unpinned = ANY,
    members: PinItems = ANY,
    authorized_operations: PinNumber = ANY,
    topology_description_status: PinNumber = ANY,
    assignor_name: PinText = ANY,
) -> None:
    """Expect an answer to StreamsGroupDescribe about exactly one group."""
