"""Headers: what comes before a request's body, and before a response's."""

from dataclasses import dataclass, replace
from typing import Final

from kio.index import load_request_schema, load_response_schema
from kio.schema.request_header.v1.header import RequestHeader as LegacyRequestHeader

from reference_coordinator.api_versions import Api, ApiRanges
from reference_coordinator.broker_messages import ApiVersionsRequest, BrokerRequest, BrokerResponse
from reference_coordinator.wire.entities import (
    MalformedRequestError,
    read_entity,
    skip_tags,
    write_entity,
)
from reference_coordinator.wire.requests import request_message
from reference_coordinator.wire.responses import response_shape

_FIRST_FLEXIBLE_API_VERSIONS: Final = 3
"""From here on a header is expected to be flexible, even in a version that does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader:
    """What a request says of itself."""

    api: Api
    api_version: int
    """The version in which the answer is due."""
    correlation_id: int
    client_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """A request as the broker's handlers take it."""

    header: RequestHeader
    message: BrokerRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResponseHeader:
    correlation_id: int


def read_request(frame: bytes, *, ranges: ApiRanges) -> ReceivedRequest:
    """Read a request frame. Only ApiVersions may come in a version that is not served.

    Raises:
        MalformedRequestError: Kafka would close the connection.

    Source: RequestHeader#parse, RequestContext#parseRequest (4.3.1).
    """
    header, offset = _read_header(frame)
    if header.api_version in ranges[header.api]:
        entity = load_request_schema(header.api, header.api_version)
        if entity.__flexible__:
            offset += skip_tags(frame, offset)
        body, _ = read_entity(entity, frame, offset)
        return ReceivedRequest(header=header, message=request_message(header.api, header.api_version, body))
    if header.api is Api.API_VERSIONS:
        if header.api_version >= _FIRST_FLEXIBLE_API_VERSIONS:
            skip_tags(frame, offset)
        return ReceivedRequest(
            header=replace(header, api_version=0), message=ApiVersionsRequest(unsupported=True)
        )
    raise MalformedRequestError(f"{header.api.name} v{header.api_version} is not served")


def write_response(header: RequestHeader, message: BrokerResponse) -> bytes:
    """Write the answer to the request that had this header.

    Raises:
        UnwritableResponseError: a value does not fit its field.
    """
    entity = load_response_schema(header.api, header.api_version)
    head = write_entity(entity.__header_schema__, _ResponseHeader(correlation_id=header.correlation_id))
    return head + write_entity(entity, response_shape(message, header.api_version))


def _read_header(frame: bytes) -> tuple[RequestHeader, int]:
    # The flexible header is this one with tagged fields behind it: even there, the client id's
    # length takes two bytes.
    read, size = read_entity(LegacyRequestHeader, frame, 0)
    api_key = read["request_api_key"]
    try:
        api = Api(api_key)
    except ValueError:
        raise MalformedRequestError(f"no API with key {api_key} is served") from None
    header = RequestHeader(
        api=api,
        api_version=read["request_api_version"],
        correlation_id=read["correlation_id"],
        client_id=read["client_id"],
    )
    return header, size
