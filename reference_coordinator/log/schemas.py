"""Keys and values of `__consumer_offsets` as dataclasses in kio's style, one per version.

kio has no classes for them, but reads and writes any dataclass that tells it a version, whether that is
flexible, and Kafka's type of each field. Names and order of fields are those of Kafka's schemas.

Source: OffsetCommitKey, OffsetCommitValue, GroupMetadataKey and GroupMetadataValue, the messages (4.3.1).
"""

from dataclasses import field
from types import MappingProxyType
from typing import ClassVar, Final
from uuid import UUID

from kio.static.constants import EntityType
from kio.static.primitive import i16

from reference_coordinator.core.values import value

_INT32: Final = MappingProxyType({"kafka_type": "int32"})
_INT64: Final = MappingProxyType({"kafka_type": "int64"})
_STRING: Final = MappingProxyType({"kafka_type": "string"})
_BYTES: Final = MappingProxyType({"kafka_type": "bytes"})
_TOPIC_ID: Final = MappingProxyType({"kafka_type": "uuid", "tag": 0})


@value
class OffsetCommitKey:
    """Whose offset it is; key types 0 and 1 share it."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    group: str = field(metadata=_STRING)
    topic: str = field(metadata=_STRING)
    partition: int = field(metadata=_INT32)


@value
class GroupMetadataKey:
    """Which group it is; key type 2."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    group: str = field(metadata=_STRING)


@value
class OffsetCommitValueV0:
    """What was written before Kafka 0.9."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    offset: int = field(metadata=_INT64)
    metadata: str = field(metadata=_STRING)
    commit_timestamp: int = field(metadata=_INT64)


@value
class OffsetCommitValueV1(OffsetCommitValueV0):
    """What every release writes of a commit with a retention of its own."""

    __version__: ClassVar[i16] = i16(1)
    expire_timestamp: int = field(metadata=_INT64, default=-1)


@value
class OffsetCommitValueV2(OffsetCommitValueV0):
    """What 2.1 wrote while it was rolled out."""

    __version__: ClassVar[i16] = i16(2)


@value
class OffsetCommitValueV3:
    """What 2.1 to 4.0 write."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = False
    offset: int = field(metadata=_INT64)
    leader_epoch: int = field(metadata=_INT32, default=-1)
    metadata: str = field(metadata=_STRING)
    commit_timestamp: int = field(metadata=_INT64)


@value
class OffsetCommitValueV4(OffsetCommitValueV3):
    """What 4.1 and later write."""

    __version__: ClassVar[i16] = i16(4)
    __flexible__: ClassVar[bool] = True
    topic_id: UUID | None = field(metadata=_TOPIC_ID, default=None)


@value
class MemberMetadataV0:
    """A member whose rebalance timeout is its session timeout."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    member_id: str = field(metadata=_STRING)
    client_id: str = field(metadata=_STRING)
    client_host: str = field(metadata=_STRING)
    session_timeout: int = field(metadata=_INT32)
    subscription: bytes = field(metadata=_BYTES)
    assignment: bytes = field(metadata=_BYTES)


@value
class MemberMetadataV1:
    """A dynamic member."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = False
    member_id: str = field(metadata=_STRING)
    client_id: str = field(metadata=_STRING)
    client_host: str = field(metadata=_STRING)
    rebalance_timeout: int = field(metadata=_INT32, default=-1)
    session_timeout: int = field(metadata=_INT32)
    subscription: bytes = field(metadata=_BYTES)
    assignment: bytes = field(metadata=_BYTES)


@value
class MemberMetadataV3:
    """A member, static or not."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = False
    member_id: str = field(metadata=_STRING)
    group_instance_id: str | None = field(metadata=_STRING, default=None)
    client_id: str = field(metadata=_STRING)
    client_host: str = field(metadata=_STRING)
    rebalance_timeout: int = field(metadata=_INT32, default=-1)
    session_timeout: int = field(metadata=_INT32)
    subscription: bytes = field(metadata=_BYTES)
    assignment: bytes = field(metadata=_BYTES)


@value
class MemberMetadataV4(MemberMetadataV3):
    """The same with tagged fields, of which there are none."""

    __version__: ClassVar[i16] = i16(4)
    __flexible__: ClassVar[bool] = True


@value
class GroupMetadataValueV0:
    """What was written before Kafka 0.10.1."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False
    protocol_type: str = field(metadata=_STRING)
    generation: int = field(metadata=_INT32)
    protocol: str | None = field(metadata=_STRING)
    leader: str | None = field(metadata=_STRING)
    members: tuple[MemberMetadataV0, ...]


@value
class GroupMetadataValueV1:
    """What was written before Kafka 2.1."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = False
    protocol_type: str = field(metadata=_STRING)
    generation: int = field(metadata=_INT32)
    protocol: str | None = field(metadata=_STRING)
    leader: str | None = field(metadata=_STRING)
    members: tuple[MemberMetadataV1, ...]


@value
class GroupMetadataValueV2:
    """What was written before Kafka 2.3."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(2)
    __flexible__: ClassVar[bool] = False
    protocol_type: str = field(metadata=_STRING)
    generation: int = field(metadata=_INT32)
    protocol: str | None = field(metadata=_STRING)
    leader: str | None = field(metadata=_STRING)
    current_state_timestamp: int = field(metadata=_INT64, default=-1)
    members: tuple[MemberMetadataV1, ...]


@value
class GroupMetadataValueV3:
    """What every release since 2.3 writes."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = False
    protocol_type: str = field(metadata=_STRING)
    generation: int = field(metadata=_INT32)
    protocol: str | None = field(metadata=_STRING)
    leader: str | None = field(metadata=_STRING)
    current_state_timestamp: int = field(metadata=_INT64, default=-1)
    members: tuple[MemberMetadataV3, ...]


@value
class GroupMetadataValueV4:
    """What releases since 3.4.1 read, and none writes so far."""

    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(4)
    __flexible__: ClassVar[bool] = True
    protocol_type: str = field(metadata=_STRING)
    generation: int = field(metadata=_INT32)
    protocol: str | None = field(metadata=_STRING)
    leader: str | None = field(metadata=_STRING)
    current_state_timestamp: int = field(metadata=_INT64, default=-1)
    members: tuple[MemberMetadataV4, ...]


OffsetCommitValue = OffsetCommitValueV0 | OffsetCommitValueV1 | OffsetCommitValueV3
"""An offset of any version; the others derive from these."""
GroupMetadataValue = (
    GroupMetadataValueV0
    | GroupMetadataValueV1
    | GroupMetadataValueV2
    | GroupMetadataValueV3
    | GroupMetadataValueV4
)
"""A group of any version."""
