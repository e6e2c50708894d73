"""A connection that speaks the group's APIs in the last versions before flexible ones (KIP-482).

Scenarios say flexible versions, as Kafka's clients do. A coordinator that claims them and cannot read them
shows nothing else; spoken to like this it shows the rest. Both versions have the same fields.
"""

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from typing_extensions import override

from harness.targets.base.interface import Connection, Frame
from harness.wire.codec import decode_request, decode_response, encode_request, encode_response
from harness.wire.errors import WireError
from harness.wire.schema import api_key

SPOKEN: Final[Mapping[tuple[str, int], int]] = MappingProxyType(
    {("JoinGroup", 6): 5, ("SyncGroup", 4): 3, ("Heartbeat", 4): 3, ("LeaveGroup", 4): 3}
)
"""By API and the first flexible version of it: the version that is sent instead."""
_BY_KEY: Final = {(api_key(api), version): (api, version) for api, version in SPOKEN}
_HEADER: Final = struct.Struct(">hhih")
"""API, version, correlation id, and the length of the client id, -1 for none."""


class InflexibleConnection(Connection):
    """A connection on which some requests go out in a lower version, and their answers come in their own."""

    def __init__(self, inner: Connection) -> None:
        self._inner = inner
        self._asked: dict[int, tuple[str, int]] = {}

    @override
    async def send(self, payload: bytes) -> None:
        await self._inner.send(self._lowered(payload))

    def _lowered(self, payload: bytes) -> bytes:
        if len(payload) < _HEADER.size:
            return payload
        key, version, correlation_id, client_id_length = _HEADER.unpack_from(payload)
        asked = _BY_KEY.get((key, version))
        if asked is None:
            return payload
        client_id = payload[_HEADER.size : _HEADER.size + max(client_id_length, 0)]
        try:
            lowered = encode_request(
                asked[0],
                SPOKEN[asked],
                correlation_id=correlation_id,
                client_id=client_id.decode() if client_id_length >= 0 else None,
                fields=decode_request(*asked, payload).fields,
            )
        except (WireError, UnicodeDecodeError):
            # A scenario that sends what nobody can read shall see what becomes of that.
            return payload
        self._asked[correlation_id] = asked
        return lowered

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        frame = await self._inner.receive(timeout_ms=timeout_ms)
        correlation_id = int.from_bytes(frame.payload[:4], "big", signed=True)
        asked = self._asked.pop(correlation_id, None)
        if asked is None:
            return frame
        try:
            fields = decode_response(asked[0], SPOKEN[asked], frame.payload).fields
            return Frame(payload=encode_response(*asked, correlation_id=correlation_id, fields=fields))
        except WireError:
            # As it came, it cannot be read in the version that was asked for either.
            return frame

    @override
    async def close(self) -> None:
        await self._inner.close()
