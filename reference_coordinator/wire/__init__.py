"""Conversion of frames to version-free requests and of responses to frames: the only package that uses kio.

A frame is the payload without its size prefix. `entities` extracts the fields from kio's classes, and
`reading` and `writing` use these. `requests` and `responses` map structures to messages and back, as Kafka's
own request and response classes do per version. `frames` adds the headers.
"""

from reference_coordinator.wire.entities import MalformedRequestError, UnwritableResponseError
from reference_coordinator.wire.frames import ReceivedRequest, RequestHeader, read_request, write_response
from reference_coordinator.wire.responses import written_field

__all__ = (
    "MalformedRequestError",
    "ReceivedRequest",
    "RequestHeader",
    "UnwritableResponseError",
    "read_request",
    "write_response",
    "written_field",
)
