"""Frames to version-free requests, version-free responses to frames: the only place that knows kio.

A frame is the payload without its size prefix. `entities` tells what kio's classes say of their fields,
`reading` and `writing` follow them, `requests` and `responses` map them to messages with what Kafka's own
request and response classes do per version, and `frames` adds the headers.
"""

from reference_coordinator.wire.entities import MalformedRequestError, UnwritableResponseError
from reference_coordinator.wire.frames import ReceivedRequest, RequestHeader, read_request, write_response

__all__ = (
    "MalformedRequestError",
    "ReceivedRequest",
    "RequestHeader",
    "UnwritableResponseError",
    "read_request",
    "write_response",
)
