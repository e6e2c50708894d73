"""The topics in a consumer's embedded subscription. OffsetDelete and expiry keep their offsets."""

import struct
from functools import lru_cache
from typing import Final

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.java import MENDED

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
"""Source: ConsumerProtocol.PROTOCOL_TYPE."""

_REMEMBERED_SUBSCRIPTIONS: Final = 256
_VERSION_BYTES: Final = 2
_INT32: Final = struct.Struct(">i")
_INT16: Final = struct.Struct(">h")


class SubscriptionSchemaError(Exception):
    """The data is too short to be a subscription. Every release tolerates that."""


class ProtocolReader:
    """A reader of the consumers' embedded protocol that fails where Kafka's ByteBufferAccessor does."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def skip(self, size: int) -> None:
        """Skip a number of bytes."""
        self._take(size)

    def int16(self) -> int:
        """Read a big-endian 16-bit integer."""
        number: int = _INT16.unpack(self._take(_INT16.size))[0]
        return number

    def int32(self) -> int:
        """Read a big-endian 32-bit integer."""
        number: int = _INT32.unpack(self._take(_INT32.size))[0]
        return number

    def sized(self, size: int) -> bytes:
        """Read bytes whose length was encoded before them.

        Raises:
            IllegalStateError: the length is negative or exceeds the remaining data. Kafka throws a
                RuntimeException here, not the BufferUnderflowException that it catches.
        """
        if size < 0 or size > self.remaining:
            raise IllegalStateError("Error reading byte array")
        return self._take(size)

    @property
    def remaining(self) -> int:
        """The number of bytes that are left."""
        return len(self._data) - self._at

    def _take(self, size: int) -> bytes:
        if size > self.remaining:
            raise SubscriptionSchemaError
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken


@lru_cache(maxsize=_REMEMBERED_SUBSCRIPTIONS)
def subscribed_topics(metadata: bytes) -> frozenset[str]:
    """Return the topics of a subscription, parsed as version 0, which is a prefix of every version.

    Raises:
        SubscriptionSchemaError: there are too few bytes for the next integer.
        IllegalStateError: a length is negative or exceeds the remaining data.

    Decided in: ConsumerProtocol#deserializeConsumerProtocolSubscription (4.3.1).
    """
    reader = ProtocolReader(metadata)
    reader.skip(_VERSION_BYTES)
    count = reader.int32()
    if count < 0 or count > reader.remaining:
        raise IllegalStateError("Tried to allocate a collection beyond the end")
    topics = [reader.sized(reader.int16()).decode(errors=MENDED) for _ in range(count)]
    user_data_size = reader.int32()
    if user_data_size >= 0:
        reader.sized(user_data_size)
    return frozenset(topics)
