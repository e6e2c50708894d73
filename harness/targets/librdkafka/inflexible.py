"""A connection that uses the last versions of the group APIs before flexible ones (KIP-482).

Scenarios use flexible versions, like Kafka's clients. A coordinator that advertises these but cannot parse
them fails every scenario; with the lower versions, its other behaviour is tested. Both versions have the same
fields.
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
"""The version to send instead, by API and its first flexible version."""
_BY_KEY: Final = {(api_key(api), version): (api, version) for api, version in SPOKEN}
_HEADER: Final = struct.Struct(">hhih")
"""API key, version, correlation id, and the length of the client id, -1 for none."""


class InflexibleConnection(Connection):
    """Sends some requests in a lower version, and converts their answers back to the requested version."""

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
            # A scenario that sends a malformed request must get the coordinator's answer to it.
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
            # The original frame cannot be parsed in the requested version either.
            return frame

    @override
    async def close(self) -> None:
        await self._inner.close()
