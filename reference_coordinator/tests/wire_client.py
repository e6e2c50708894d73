"""A client's side of the wire for tests, by kio's codec, so that a fault of `wire` cannot hide itself.

What kio has no classes for, `test_later_versions` pins byte by byte.
"""

import dataclasses
import io
import struct
from datetime import timedelta
from typing import Any

from kio.serial import entity_reader, entity_writer

from kio_extension import api_key_map, load_request_schema, load_response_schema
from reference_coordinator.broker_messages import BrokerRequest, BrokerResponse
from reference_coordinator.profile.api_versions import Api, ApiRanges
from reference_coordinator.wire import RequestHeader, read_request, write_response

_KEYS = {name: key for key, name in api_key_map.items()}
_ZEROS = {"string": "", "bytes": b"", "bool": False, "uuid": None}


def request_frame(
    api: str, version: int, *, correlation_id: int = 7, client_id: str | None = "client", **fields: Any
) -> bytes:
    """Write a request frame; fields left out are empty, 0, or what kio has for a default."""
    entity = load_request_schema(_KEYS[api], version)
    header: Any = entity.__header_schema__
    buffer = io.BytesIO()
    entity_writer(header)(
        buffer,
        header(
            request_api_key=_KEYS[api],
            request_api_version=version,
            correlation_id=correlation_id,
            client_id=client_id,
        ),
    )
    entity_writer(entity)(buffer, build(entity, fields))
    return buffer.getvalue()


def join_frame(**fields: Any) -> bytes:
    """Write a JoinGroup of a member that has no id yet."""
    defaults: dict[str, Any] = {
        "group_id": "g",
        "session_timeout": 10_000,
        "rebalance_timeout": 10_000,
        "protocol_type": "consumer",
        "protocols": ({"name": "range", "metadata": b""},),
    }
    return request_frame("join_group", 3, **(defaults | fields))


def framed(frame: bytes) -> bytes:
    """Put a frame's size before it, as on a connection."""
    return struct.pack(">i", len(frame)) + frame


def build(entity: Any, fields: dict[str, Any]) -> Any:
    """Make one of kio's entities of plain fields; nested structures are dictionaries."""
    arguments = {}
    for field in dataclasses.fields(entity):
        if field.name in fields:
            arguments[field.name] = _value(field, fields[field.name])
        elif field.default is dataclasses.MISSING:
            arguments[field.name] = _zero(field)
    unknown = set(fields) - {field.name for field in dataclasses.fields(entity)}
    assert not unknown, f"{entity.__name__} v{entity.__version__} has no {unknown}"
    return entity(**arguments)


def read_response(api: str, version: int, frame: bytes) -> Any:
    """Read a response frame; nothing may be left over, and it must be the answer to correlation id 7."""
    entity = load_response_schema(_KEYS[api], version)
    header, offset = entity_reader(entity.__header_schema__)(frame, 0)
    body, size = entity_reader(entity)(frame, offset)
    assert offset + size == len(frame), "trailing bytes"
    assert header.correlation_id == 7
    return body


def received(ranges: ApiRanges, api: str, version: int, **fields: Any) -> BrokerRequest:
    """Return a request as `wire` reads what a client writes."""
    return read_request(request_frame(api, version, **fields), ranges=ranges).message


def written(api: Api, version: int, message: BrokerResponse) -> Any:
    """Return a response as a client reads what `wire` writes."""
    header = RequestHeader(api=api, api_version=version, correlation_id=7, client_id=None)
    return read_response(api.name.lower(), version, write_response(header, message))


def nested_in(annotation: Any) -> Any:
    """Return the entity that an annotation of one of kio's names, if it names one."""
    if dataclasses.is_dataclass(annotation):
        return annotation
    for each in getattr(annotation, "__args__", ()):
        found = nested_in(each)
        if found is not None:
            return found
    return None


def _value(field: dataclasses.Field[Any], value: Any) -> Any:
    nested = nested_in(field.type)
    if isinstance(value, tuple) and nested is not None:
        return tuple(build(nested, item) for item in value)
    if isinstance(value, dict) and nested is not None:
        return build(nested, value)
    if field.metadata.get("kafka_type", "").startswith("timedelta"):
        return timedelta(milliseconds=value)
    return value


def _zero(field: dataclasses.Field[Any]) -> Any:
    kafka_type = field.metadata.get("kafka_type", "")
    if "tuple" in str(field.type):
        return ()
    if kafka_type.startswith("timedelta"):
        return timedelta(0)
    nested = nested_in(field.type)
    if nested is not None:
        return build(nested, {})
    return _ZEROS.get(kafka_type, 0)
