"""Requests that are written field by field: those without a builder, and fields that a builder lacks."""

from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from typing import Final

from harness.scenario import ask, streams
from harness.scenario.messages import OWN, Own, Request, RequestValue
from harness.wire.schema import Shape, request_shape

NAMED: Final[Mapping[str, Callable[..., Request]]] = {
    "JoinGroup": ask.join_group,
    "SyncGroup": ask.sync_group,
    "Heartbeat": ask.heartbeat,
    "LeaveGroup": ask.leave_group,
    "OffsetCommit": ask.offset_commit,
    "OffsetFetch": ask.offset_fetch,
    "OffsetDelete": ask.offset_delete,
    "DescribeGroups": ask.describe_groups,
    "ListGroups": ask.list_groups,
    "DeleteGroups": ask.delete_groups,
    "FindCoordinator": ask.find_coordinator,
    "ApiVersions": ask.api_versions,
    "ConsumerGroupHeartbeat": ask.consumer_group_heartbeat,
    "ConsumerGroupDescribe": ask.consumer_group_describe,
    "ShareGroupHeartbeat": ask.share_group_heartbeat,
    "ShareGroupDescribe": ask.share_group_describe,
    "DescribeShareGroupOffsets": ask.describe_share_group_offsets,
    "AlterShareGroupOffsets": ask.alter_share_group_offsets,
    "DeleteShareGroupOffsets": ask.delete_share_group_offsets,
    "ShareFetch": ask.share_fetch,
    "ShareAcknowledge": ask.share_acknowledge,
    "Produce": ask.produce,
    "Metadata": ask.metadata,
    "StreamsGroupHeartbeat": streams.ask_heartbeat,
    "StreamsGroupDescribe": streams.ask_describe,
    "InitProducerId": ask.init_producer_id,
    "AddOffsetsToTxn": ask.add_offsets_to_txn,
    "TxnOffsetCommit": ask.txn_offset_commit,
    "EndTxn": ask.end_txn,
}
"""The functions with which a scenario builds requests, by API."""
_USUAL_VERSIONS: Final[Mapping[str, int]] = {
    "AddPartitionsToTxn": 3,
    "CreateAcls": 1,
    "CreatePartitions": 2,
    "CreateTopics": 4,
    "DeleteRecords": 1,
    "DeleteTopics": 4,
    "DescribeAcls": 1,
    "DescribeConfigs": 4,
    "DescribeLogDirs": 1,
    "Fetch": 12,
    "IncrementalAlterConfigs": 1,
    "ListOffsets": 5,
    "OffsetForLeaderEpoch": 3,
    "Produce": 9,
    "WriteTxnMarkers": 1,
}
"""The usual versions of requests whose builder has none, if they are not 0."""
_DEFAULTS: Final[Mapping[str, Mapping[str, RequestValue]]] = {
    "DescribeGroups": {"groups": (OWN,)},
    "StreamsGroupTopologyDescriptionUpdate": {"group_id": OWN, "member_id": OWN},
}
"""The values of fields that are left out, if they are not Kafka's defaults, by API."""


AS_FIELDS: Final = "as_fields"
"""An argument that says that the others are fields, though there is a builder."""


def request_of(api: str, arguments: Mapping[str, object]) -> Request:
    """Return a request: from its builder, or field by field if there is none for these arguments.

    Raises:
        TypeError: the builder needs more arguments.
    """
    builder = builder_of(api, arguments)
    return _by_field(api, arguments) if builder is None else builder(**arguments)


def builder_of(api: str, arguments: Mapping[str, object]) -> Callable[..., Request] | None:
    """Return the builder that takes some arguments; None if the request is written field by field."""
    # `AS_FIELDS` is no parameter of any builder.
    return NAMED[api] if api in NAMED and arguments.keys() <= _parameters(api).keys() else None


@cache
def usual_version(api: str) -> int:
    """Return the version that scenarios use by default."""
    found = _parameters(api).get("version") if api in NAMED else None
    return int(found) if isinstance(found, int) else _USUAL_VERSIONS.get(api, 0)


def takes_own(api: str, name: str) -> bool:
    """Return whether a request has the actor's own value for an argument that is left out."""
    return api in NAMED and isinstance(_parameters(api).get(name), Own)


@cache
def _parameters(api: str) -> Mapping[str, object]:
    """Return the parameters of a builder, with their defaults."""
    return {name: each.default for name, each in signature(NAMED[api]).parameters.items()}


def _by_field(api: str, arguments: Mapping[str, object]) -> Request:
    fields: Mapping[str, object] = {**_DEFAULTS.get(api, {}), **arguments}
    version = fields.get("version", usual_version(api))
    assert isinstance(version, int), "a version is a number"
    stated = {name: value for name, value in fields.items() if name not in ("version", AS_FIELDS)}
    fitted = _fitted(stated, request_shape(api, version))
    assert isinstance(fitted, Mapping), "a structure stays one"
    return Request(api=api, version=version, fields=fitted)


def _fitted(value: object, shape: Shape | None) -> RequestValue:
    """Leave out the fields that a version lacks, at any depth."""
    if shape is not None and isinstance(value, Mapping):
        return {
            name: _fitted(item, shape.fields[name].nested)
            for name, item in value.items()
            if name in shape.fields
        }
    if isinstance(value, tuple):
        return tuple(_fitted(item, shape) for item in value)
    return value  # type: ignore[return-value] # arguments of moves are values of requests
