"""Answers as frames, with the frames that Kafka may send instead."""

from dataclasses import replace
from typing import Final

from reference_coordinator.broker.error_responses import error_response
from reference_coordinator.broker_messages import BrokerRequest, BrokerResponse
from reference_coordinator.core.effects import Permitted, Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.wire import (
    RequestHeader,
    UnwritableResponseError,
    write_response,
    written_field,
)

_NO_TOKEN: Final = ResponseToken(0)


@value
class PermittedFrames:
    """Frames that Kafka may send instead of another one, depending on map order or a race."""

    field: str
    """The top-level field in which they differ."""
    frames: tuple[bytes, ...]
    """One frame for each permitted value, including that of the frame that is sent."""
    reason: str


def write_answer(
    header: RequestHeader, message: BrokerRequest, answer: Respond[BrokerResponse]
) -> tuple[bytes, tuple[PermittedFrames, ...]]:
    """Return the answer to a request as a frame, and the frames permitted instead.

    A text of more than 32767 bytes cannot be encoded, and the answer is an error.

    Raises:
        UnwritableResponseError: not even the error can be encoded.
        AnswerTooLargeError: the answer is too large.

    Decided in: KafkaApis#handle, RequestHandlerHelper#handleError (4.3.1).
    """
    try:
        frame = write_response(header, answer.response)
        return frame, tuple(_permitted_frames(header, answer, each) for each in answer.permitted)
    except UnwritableResponseError as unwritable:
        try:
            (error,) = failed(_NO_TOKEN, message, header)
            return write_response(header, error.response), ()
        except (UnwritableResponseError, KeyError):
            raise unwritable from None


def failed(
    token: ResponseToken,
    message: BrokerRequest,
    header: RequestHeader,
    error: Errors = Errors.UNKNOWN_SERVER_ERROR,
) -> tuple[Respond[BrokerResponse]]:
    """Answer a request with an error. Decided in: RequestHandlerHelper#handleError (4.3.1)."""
    return (Respond(token=token, response=error_response(message, error, api_version=header.api_version)),)


def _permitted_frames(
    header: RequestHeader, answer: Respond[BrokerResponse], choice: Permitted
) -> PermittedFrames:
    frames = tuple(
        write_response(header, replace(answer.response, **{choice.field: value}))  # type: ignore[arg-type] # a choice names a field of its response
        for value in choice.any_of
    )
    name = written_field(answer.response, choice.field, header.api_version)
    return PermittedFrames(field=name, frames=frames, reason=choice.reason)
