"""Rewriting of responses that direct clients to brokers: other addresses, and only versions it can read.

Only responses that name brokers to clients are rewritten. DescribeQuorum names controllers, and members of
groups describe themselves; nobody connects to either through a broker's listener.
"""

import dataclasses
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from kio.serial import entity_writer

from harness.apis.table import APIS, descriptor
from harness.wire.errors import WireError
from harness.wire.reading import read_message
from harness.wire.schema import API_NAMES, Shape, api_key, has_version, response_shape

Relocate: TypeAlias = Callable[[str, int, int], tuple[str, int]]
"""From a broker's advertised host, port and node id to the host and port that clients receive."""

_NEWEST_LOOKED_FOR: Final = 40
API_VERSIONS_KEY: Final = api_key("ApiVersions")


def _newest(api: str) -> int:
    return next(version for version in reversed(range(_NEWEST_LOOKED_FOR)) if has_version(api, version))


ADDRESSED_FROM: Final[Mapping[int, int]] = MappingProxyType(
    {each.key: each.addresses_since for each in APIS.values() if each.addresses_since is not None}
)
"""By API key, the version from which its response may contain addresses of brokers. Source: KIP-951."""
NEWEST_READ: Final[Mapping[int, int]] = MappingProxyType(
    {key: _newest(API_NAMES[key]) for key in (*ADDRESSED_FROM, API_VERSIONS_KEY)}
)
"""By API key, the newest version that can be rewritten."""
_LAST_TAG_BYTES_MAX: Final = 1 << 14
"""Enough for the endpoints of some hundred brokers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A response after rewriting."""

    payload: bytes
    note: str | None
    """What was changed; None if nothing was."""


def may_lead_elsewhere(key: int, version: int) -> bool:
    """Return whether the response to a request may have to be rewritten."""
    return version >= ADDRESSED_FROM.get(key, version + 1) or key == API_VERSIONS_KEY


def rewritten(
    key: int, version: int, payload: bytes, relocate: Relocate, *, newest: Mapping[int, int] = NEWEST_READ
) -> Rewritten:
    """Return a response with its addresses changed, or with the versions that it offers lowered.

    Args:
        key: the API's key.
        version: the request's version.
        payload: the response without its size.
        relocate: returns the address that replaces one.
        newest: by API key, the newest version that may be offered.

    Raises:
        WireError: the response cannot be decoded, so that no address in it was found.
    """
    if key == API_VERSIONS_KEY:
        return _with_lower_versions(version, payload, newest)
    if descriptor(API_NAMES[key]).addresses_last and not _may_end_with_endpoints(payload):
        return Rewritten(payload=payload, note=None)
    shape, header, body = _read(key, version, payload)
    moves: dict[str, str] = {}
    moved = _relocated(shape, body, relocate, moves)
    if not moves:
        return Rewritten(payload=payload, note=None)
    note = ", ".join(f"{before} advertised as {after}" for before, after in moves.items())
    return Rewritten(payload=_write(shape, header, moved), note=note)


def _may_end_with_endpoints(payload: bytes) -> bool:
    """Return whether bytes like a single tagged field, numbered 0, reach to the end of the frame.

    A frame without them has no endpoints. A frame that has them by chance is decoded, and has none.
    """
    end = len(payload)
    begin = max(0, end - _LAST_TAG_BYTES_MAX)
    position = payload.rfind(b"\1\0", begin)
    while position >= 0:
        size, size_end = _unsigned_varint(payload, position + 2)
        if size > 1 and size_end + size == end:
            return True
        position = payload.rfind(b"\1\0", begin, position + 1)
    return False


def _unsigned_varint(payload: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    for byte in payload[position : position + 5]:
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value, position


def _relocated(shape: Shape, entity: Any, relocate: Relocate, moves: dict[str, str]) -> Any:
    changes: dict[str, Any] = {}
    if "host" in shape.fields and "port" in shape.fields and entity.host and entity.port > 0:
        node_id = next(
            (getattr(entity, name) for name in ("node_id", "broker_id") if name in shape.fields), -1
        )
        host, port = relocate(entity.host, entity.port, int(node_id))
        moves[f"{entity.host}:{entity.port}"] = f"{host}:{port}"
        changes |= {"host": host, "port": type(entity.port)(port)}
    for field in shape.fields.values():
        if field.nested is not None and field.is_array and (items := getattr(entity, field.attribute)):
            changes[field.attribute] = tuple(
                _relocated(field.nested, item, relocate, moves) for item in items
            )
    return dataclasses.replace(entity, **changes) if changes else entity


def _with_lower_versions(version: int, payload: bytes, newest: Mapping[int, int]) -> Rewritten:
    try:
        shape, header, body = _read(API_VERSIONS_KEY, version, payload)
    except WireError:
        # A broker that does not support the version answers in version 0. Source: KIP-511.
        shape, header, body = _read(API_VERSIONS_KEY, 0, payload)
    lowered: list[str] = []
    kept = tuple(each for entry in body.api_keys for each in _lowered(entry, newest, lowered))
    if not lowered:
        return Rewritten(payload=payload, note=None)
    changed = _write(shape, header, dataclasses.replace(body, api_keys=kept))
    return Rewritten(payload=changed, note="versions that cannot be rewritten: " + ", ".join(lowered))


def _lowered(entry: Any, newest: Mapping[int, int], reported: list[str]) -> Sequence[Any]:
    most = newest.get(entry.api_key)
    if most is None or entry.max_version <= most:
        return (entry,)
    api = API_NAMES[entry.api_key]
    if entry.min_version > most:
        reported.append(f"{api} is not offered")
        return ()
    reported.append(f"{api} up to v{most} instead of v{entry.max_version}")
    return (dataclasses.replace(entry, max_version=type(entry.max_version)(most)),)


def _read(key: int, version: int, payload: bytes) -> tuple[Shape, Any, Any]:
    shape = response_shape(API_NAMES[key], version)
    try:
        header, body, end = read_message(shape, payload)
    except Exception as error:
        raise WireError(f"not a {API_NAMES[key]} v{version} response: {error!r}") from error
    if end != len(payload):
        raise WireError(f"bytes are left over behind a {API_NAMES[key]} v{version} response")
    return shape, header, body


def _write(shape: Shape, header: Any, body: Any) -> bytes:
    assert shape.header is not None
    buffer = io.BytesIO()
    entity_writer(shape.header)(buffer, header)
    entity_writer(shape.twin)(buffer, body)
    return buffer.getvalue()
