"""The headers before the bodies of requests and responses."""

import struct
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final

from kio.schema.request_header.v1.header import RequestHeader as LegacyRequestHeader
from kio.static.protocol import RequestPayload, ResponsePayload

from kio_extension import load_request_schema, load_response_schema
from reference_coordinator.broker_messages import ApiVersionsRequest, BrokerRequest, BrokerResponse
from reference_coordinator.core.values import value
from reference_coordinator.profile.api_versions import Api, ApiRanges
from reference_coordinator.wire.entities import MalformedRequestError, describe
from reference_coordinator.wire.reading import read_entity, skip_tags
from reference_coordinator.wire.requests import request_message
from reference_coordinator.wire.responses import response_shape
from reference_coordinator.wire.writing import write_entity

_FIRST_FLEXIBLE_API_VERSIONS: Final = 3
"""From this version on a header is expected to be flexible, even in a version that does not exist."""
_APIS: Final[Mapping[int, Api]] = MappingProxyType({api.value: api for api in Api})
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_CORRELATION_ID_AT: Final = 4
_CLIENT_ID_AT: Final = 8
_ANY_CORRELATION_ID: Final = bytes(_CLIENT_ID_AT - _CORRELATION_ID_AT)
_NO_TAGS: Final = b"\0"
_REMEMBERED_HEADERS: Final = 256
_REMEMBERED_MESSAGES: Final = 4096
_REMEMBERED_BYTES_MAX: Final = 512
"""Longer requests are not cached, so that the cache stays within a few megabytes."""


@value
class RequestHeader:
    """The header of a request."""

    api: Api
    api_version: int
    """The version in which the answer must be written."""
    correlation_id: int
    client_id: str | None


@value
class ReceivedRequest:
    """A request in the form for the broker's handlers."""

    header: RequestHeader
    message: BrokerRequest


def read_request(frame: bytes, *, ranges: ApiRanges) -> ReceivedRequest:
    """Read a request frame. Only ApiVersions may have a version that is not served.

    Raises:
        MalformedRequestError: the frame is one for which Kafka closes the connection.

    Source: RequestHeader#parse, RequestContext#parseRequest (4.3.1).
    """
    header, offset = _read_header(frame)
    api, version = header.api, header.api_version
    served = ranges.get(api)
    if served is not None and version in served:
        return ReceivedRequest(header=header, message=_read_message(api, version, frame[offset:]))
    if api is Api.API_VERSIONS:
        if version >= _FIRST_FLEXIBLE_API_VERSIONS:
            skip_tags(frame, offset)
        return ReceivedRequest(
            header=replace(header, api_version=0), message=ApiVersionsRequest(unsupported=True)
        )
    raise MalformedRequestError(f"{api.name} v{version} is not served")


def write_response(header: RequestHeader, message: BrokerResponse) -> bytes:
    """Write the answer to the request that had this header.

    Raises:
        UnwritableResponseError: a value does not fit its field.
    """
    api, version = header.api, header.api_version
    entity, behind_correlation_id = _response_layout(api, version)
    body = write_entity(entity, response_shape(message, version))
    return _INT32.pack(header.correlation_id) + behind_correlation_id + body


def _read_header(frame: bytes) -> tuple[RequestHeader, int]:
    """Read the header of a request; all of it but the correlation id is cached, since it recurs."""
    try:
        (size,) = _INT16.unpack_from(frame, _CLIENT_ID_AT)
        (correlation_id,) = _INT32.unpack_from(frame, _CORRELATION_ID_AT)
    except struct.error as error:
        raise MalformedRequestError(f"not a {describe(LegacyRequestHeader)}: {error!r}") from error
    end = _CLIENT_ID_AT + _INT16.size + max(size, 0)
    api, version, client_id = _read_header_once(
        frame[:_CORRELATION_ID_AT] + _ANY_CORRELATION_ID + frame[_CLIENT_ID_AT:end]
    )
    header = RequestHeader(api=api, api_version=version, correlation_id=correlation_id, client_id=client_id)
    return header, end


@lru_cache(maxsize=_REMEMBERED_HEADERS)
def _read_header_once(frame: bytes) -> tuple[Api, int, str | None]:
    # The flexible header is this one followed by tagged fields: even there, the client id's length takes two
    # bytes.
    read, _ = read_entity(LegacyRequestHeader, frame, 0)
    api_key = read["request_api_key"]
    api = _APIS.get(api_key)
    if api is None:
        raise MalformedRequestError(f"no API with key {api_key} is served")
    return api, read["request_api_version"], read["client_id"]


def _read_message(api: Api, version: int, rest: bytes) -> BrokerRequest:
    """Read the bytes after the client id: tagged fields of the header, if any, and the body."""
    if len(rest) <= _REMEMBERED_BYTES_MAX and api is not Api.PRODUCE:
        return _read_message_once(api, version, rest)
    return _read_message_anew(api, version, rest)


def _read_message_anew(api: Api, version: int, rest: bytes) -> BrokerRequest:
    entity = _request_schema(api, version)
    offset = skip_tags(rest, 0) if entity.__flexible__ else 0
    body, _ = read_entity(entity, rest, offset)
    return request_message(api, version, body)


# Messages are immutable values, so equal bytes, as of repeated heartbeats, may give the same object.
_read_message_once = lru_cache(maxsize=_REMEMBERED_MESSAGES)(_read_message_anew)


@cache
def _request_schema(api: Api, version: int) -> type[RequestPayload]:
    return load_request_schema(api, version)


@cache
def _response_layout(api: Api, version: int) -> tuple[type[ResponsePayload], bytes]:
    """Return a response's schema, and the bytes of its header after the correlation id."""
    entity = load_response_schema(api, version)
    return entity, _NO_TAGS if entity.__header_schema__.__flexible__ else b""
