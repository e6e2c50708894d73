"""Versions of Kafka 4.4 that kio lacks, in the manner of its classes.

What did not change is taken from kio's last version. The harness has the same apart from this, so
that neither side's fault hides in the other's.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final

from kio.index import load_request_schema as load_request_of_kio
from kio.index import load_response_schema as load_response_of_kio
from kio.schema.delete_groups.v2.request import DeleteGroupsRequest
from kio.schema.errors import ErrorCode
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.schema.txn_offset_commit.v5.request import TxnOffsetCommitRequestPartition
from kio.schema.txn_offset_commit.v5.response import TxnOffsetCommitResponsePartition
from kio.schema.types import GroupId, ProducerId, TransactionalId
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i32Timedelta

_TXN_OFFSET_COMMIT: Final = i16(28)
_DELETE_GROUPS: Final = i16(42)


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequestTopic:
    """The offsets of one topic."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(6)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = _TXN_OFFSET_COMMIT
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    partitions: tuple[TxnOffsetCommitRequestPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequest:
    """Version 6: topics have ids. Kafka 4.4 calls the generation otherwise, in all versions; kio does not."""

    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(6)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = _TXN_OFFSET_COMMIT
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    transactional_id: TransactionalId = field(metadata={"kafka_type": "string"})
    group_id: GroupId = field(metadata={"kafka_type": "string"})
    producer_id: ProducerId = field(metadata={"kafka_type": "int64"})
    producer_epoch: i16 = field(metadata={"kafka_type": "int16"})
    generation_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    member_id: str = field(metadata={"kafka_type": "string"}, default="")
    group_instance_id: str | None = field(metadata={"kafka_type": "string"}, default=None)
    topics: tuple[TxnOffsetCommitRequestTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponseTopic:
    """How it went for one topic's partitions."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(6)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = _TXN_OFFSET_COMMIT
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    partitions: tuple[TxnOffsetCommitResponsePartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitResponse:
    """Version 6: topics have ids."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(6)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = _TXN_OFFSET_COMMIT
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    topics: tuple[TxnOffsetCommitResponseTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletableGroupResult:
    """How it went for one group."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = _DELETE_GROUPS
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    group_id: GroupId = field(metadata={"kafka_type": "string"})
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    error_message: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    """Version 3: a group has a message."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = _DELETE_GROUPS
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    results: tuple[DeletableGroupResult, ...]


_REQUESTS: Final[Mapping[tuple[int, int], type[Any]]] = MappingProxyType(
    {(_TXN_OFFSET_COMMIT, 6): TxnOffsetCommitRequest, (_DELETE_GROUPS, 3): DeleteGroupsRequest}
)
_RESPONSES: Final[Mapping[tuple[int, int], type[Any]]] = MappingProxyType(
    {(_TXN_OFFSET_COMMIT, 6): TxnOffsetCommitResponse, (_DELETE_GROUPS, 3): DeleteGroupsResponse}
)


def load_request_schema(api_key: int, version: int) -> type[Any]:
    """Return the class of a request body; kio's `UnknownEntity` where there is none."""
    return _REQUESTS.get((api_key, version)) or load_request_of_kio(api_key, version)


def load_response_schema(api_key: int, version: int) -> type[Any]:
    """Return the class of a response body; kio's `UnknownEntity` where there is none."""
    return _RESPONSES.get((api_key, version)) or load_response_of_kio(api_key, version)
