"""Encoding and decoding of requests and responses, from and to plain fields."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.serial.errors import BufferUnderflow
from kio.static.primitive import i16, i32

from harness.wire.errors import CutShort, MalformedResponse, WireError
from harness.wire.reading import read_message
from harness.wire.schema import FieldShape, Shape, api_key, request_shape, response_shape

FieldValue: TypeAlias = (
    "bool | int | float | str | bytes | Sequence[FieldValue] | Mapping[str, FieldValue] | None"
)
"""A value in a message as plain data: an error code as its name, a topic id as its text."""
Fields: TypeAlias = Mapping[str, FieldValue]
"""A message's fields by Kafka's names in snake_case."""

_CORRELATION_ID_BYTES: Final = 4
_ERROR_NAMES: Final[Mapping[int, str]] = {int(code): code.name.upper() for code in ErrorCode}
_ERROR_CODES: Final[Mapping[str, int]] = {name: code for code, name in _ERROR_NAMES.items()}
ERROR_NAMES: Final = frozenset(_ERROR_CODES)
"""Kafka's names of all error codes."""
_CLIENT_ID: Final = "kafka-conformance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """A decoded message."""

    correlation_id: int
    fields: dict[str, FieldValue]
    reencodes: bool | None
    """Whether encoding the fields again gives the same bytes: False for a non-canonical encoding, None if
    unchecked."""


def error_name(code: int) -> str:
    """Return Kafka's name of an error code, or `ERROR_<code>` for one that no release has."""
    return _ERROR_NAMES.get(code, f"ERROR_{code}")


def encode_request(
    api: str,
    version: int,
    *,
    correlation_id: int,
    client_id: str | None = _CLIENT_ID,
    fields: Fields,
) -> bytes:
    """Encode a request frame without its length prefix; missing fields get Kafka's default.

    Raises:
        WireError: there is no such version, it has no such field, or a value does not fit its field.
    """
    shape = request_shape(api, version)
    assert shape.header is not None
    buffer = io.BytesIO()
    header = shape.header(
        request_api_key=i16(api_key(api)),
        request_api_version=i16(version),
        correlation_id=i32(correlation_id),
        **({"client_id": client_id} if shape.header.__version__ > 0 else {}),
    )
    entity_writer(shape.header)(buffer, header)
    return _written(buffer, shape, fields, f"{api} v{version}")


def decode_request(
    api: str, version: int, payload: bytes, *, may_go_on: bool = False, is_written_again: bool = True
) -> Decoded:
    """Decode a request frame without its length prefix.

    Args:
        api: Kafka's name of the API.
        version: the API's version.
        payload: the frame.
        may_go_on: whether bytes may follow the message; brokers ignore them.
        is_written_again: whether to check that encoding the fields gives the same bytes.

    Raises:
        WireError: there is no such version, or the bytes are too long, or not that message.
        CutShort: the bytes are too short.
    """
    shape = request_shape(api, version)
    try:
        header, body, end = read_message(shape, payload)
    except (BufferUnderflow, CutShort) as error:
        raise CutShort(f"not a {api} v{version} request: {error!r}") from error
    except Exception as error:
        raise WireError(f"not a {api} v{version} request: {error!r}") from error
    rest = len(payload) - end
    if rest and not may_go_on:
        raise WireError(f"{rest} bytes are left over behind a {api} v{version} request")
    return Decoded(
        correlation_id=header.correlation_id,
        fields=_plain(shape, body),
        reencodes=_reencodes(shape, header, body, payload) if is_written_again else None,
    )


def decode_response(api: str, version: int, payload: bytes, *, is_written_again: bool = True) -> Decoded:
    """Decode a response frame without its length prefix.

    Args:
        api: Kafka's name of the API.
        version: the API's version.
        payload: the frame.
        is_written_again: whether to check that encoding the fields gives the same bytes.

    Raises:
        MalformedResponse: the bytes are too short, too long, or not that message.
    """
    if len(payload) < _CORRELATION_ID_BYTES:
        raise MalformedResponse(f"{len(payload)} bytes are too few for a correlation id", correlation_id=None)
    correlation_id = int.from_bytes(payload[:_CORRELATION_ID_BYTES], "big", signed=True)
    shape = response_shape(api, version)
    try:
        header, body, end = read_message(shape, payload)
    except Exception as error:
        raise MalformedResponse(
            f"not a {api} v{version} response: {error!r}", correlation_id=correlation_id
        ) from error
    rest = len(payload) - end
    if rest:
        raise MalformedResponse(
            f"{rest} bytes are left over behind a {api} v{version} response",
            correlation_id=correlation_id,
        )
    return Decoded(
        correlation_id=correlation_id,
        fields=_plain(shape, body),
        reencodes=_reencodes(shape, header, body, payload) if is_written_again else None,
    )


def encode_response(api: str, version: int, *, correlation_id: int, fields: Fields) -> bytes:
    """Encode a response frame without its length prefix; missing fields get Kafka's default.

    Raises:
        WireError: there is no such version, it has no such field, or a value does not fit its field.
    """
    shape = response_shape(api, version)
    assert shape.header is not None
    buffer = io.BytesIO()
    entity_writer(shape.header)(buffer, shape.header(correlation_id=i32(correlation_id)))
    return _written(buffer, shape, fields, f"{api} v{version}")


def _written(buffer: io.BytesIO, shape: Shape, fields: Fields, what: str) -> bytes:
    """Encode a message after its header, and return the whole frame."""
    try:
        entity_writer(shape.twin)(buffer, _build(shape, fields, what))
    except WireError:
        raise
    except Exception as error:
        raise WireError(f"{what} cannot be written: {error!r}") from error
    return buffer.getvalue()


def _reencodes(shape: Shape, header: Any, body: Any, payload: bytes) -> bool:
    assert shape.header is not None
    buffer = io.BytesIO()
    entity_writer(shape.header)(buffer, header)
    entity_writer(shape.twin)(buffer, body)
    return buffer.getvalue() == payload


def _plain(shape: Shape, entity: Any) -> dict[str, FieldValue]:
    return {
        name: _plain_value(field, getattr(entity, field.attribute)) for name, field in shape.fields.items()
    }


def _plain_value(field: FieldShape, value: Any) -> FieldValue:
    if value is None:
        return None
    if field.is_array:
        return [_plain_item(field, item) for item in value]
    return _plain_item(field, value)


def _plain_item(field: FieldShape, value: Any) -> FieldValue:
    if field.nested is not None:
        return _plain(field.nested, value)
    if field.is_error_code:
        return error_name(value)
    return str(value) if isinstance(value, UUID) else value


def _build(shape: Shape, plain: Fields, where: str) -> Any:
    arguments = {field.attribute: field.default for field in shape.fields.values()}
    for name, value in plain.items():
        field = shape.fields.get(name)
        if field is None:
            if value is None:
                continue
            raise WireError(f"{where} has no field {name!r}; it has {', '.join(shape.fields) or 'none'}")
        arguments[field.attribute] = _built_value(field, value, f"{where}, {name}")
    return shape.twin(**arguments)


def _built_value(field: FieldShape, value: FieldValue, where: str) -> Any:
    if value is None:
        return None
    if field.is_array:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise WireError(f"{where} takes a sequence, not {value!r}")
        return tuple(_built_item(field, item, where) for item in value)
    return _built_item(field, value, where)


def _built_item(field: FieldShape, value: FieldValue, where: str) -> Any:
    if field.nested is not None:
        if not isinstance(value, Mapping):
            raise WireError(f"{where} takes fields, not {value!r}")
        return _build(field.nested, value, where)
    if field.is_error_code and isinstance(value, str):
        return _ERROR_CODES[value]
    if isinstance(field.default, UUID) and isinstance(value, str):
        return UUID(value)
    return value
