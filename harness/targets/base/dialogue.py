"""The harness's own requests to a broker, outside any scenario: one at a time, each with its answer."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from harness.targets.base.interface import ApiRange, Connection, ConnectionLost, NoAnswer, TargetError
from harness.wire.codec import Fields, FieldValue, decode_response, encode_request
from harness.wire.errors import WireError
from harness.wire.schema import api_key

_CLIENT_ID: Final = "kafka-conformance-setup"
_ANSWER_TIMEOUT_MS: Final = 5000.0
_VERSIONS_REFUSED: Final = "UNSUPPORTED_VERSION"
_REFUSAL_CODE: Final = 35


class NotYet(Exception):  # noqa: N818 - a normal observation while a broker comes up
    """The broker did not give the awaited answer; `str()` is what it answered or did instead."""


class NotServed(NotYet):
    """The broker advertises no usable version of an API."""


class Unreadable(NotYet):
    """The broker's answer is not a response of the API and version that it was asked for."""


class NotAccepted(NotYet):
    """The broker accepts no connection."""


class OutOfTime(NotYet):
    """A request had no time or not its full time, because the time for all requests together is up."""


class Answer:
    """The fields of a response, or of a structure in it, read by name and type."""

    def __init__(self, fields: Mapping[str, FieldValue]) -> None:
        self.fields = fields

    def text(self, name: str) -> str | None:
        """Return a string, or an error code's name; None for null and for a field that does not exist."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int:
        """Return a number, or -1 for a field that does not exist."""
        value = self.fields.get(name)
        return value if isinstance(value, int) else -1

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return an array of numbers, empty for null."""
        value = self.fields.get(name)
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return ()
        return tuple(item for item in value if isinstance(item, int))

    def rows(self, name: str) -> tuple["Answer", ...]:
        """Return the structures of an array, empty for null."""
        value = self.fields.get(name)
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return ()
        return tuple(Answer(row) for row in value if isinstance(row, Mapping))


class Dialogue:
    """Requests and answers on one connection, in versions that the broker advertises.

    Args:
        connection: the connection to the broker.
        client_id: the client id of the requests.
        left_ms: returns the time that is left for all requests together; by default it is unlimited.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        client_id: str = _CLIENT_ID,
        left_ms: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self._connection = connection
        self._client_id = client_id
        self._left_ms = left_ms
        self._asked_count = 0
        self._ranges: Mapping[int, ApiRange] = {}

    async def learn_versions(self) -> tuple[ApiRange, ...]:
        """Request the API versions, which `version_of` uses from then on.

        Raises:
            NotYet: the broker does not answer with them.
            TargetError: it refuses the oldest version of the request, which every broker supports.
        """
        answer = await self.ask("ApiVersions", 0, {})
        refusal = answer.text("error_code")
        if refusal == _VERSIONS_REFUSED:
            raise TargetError(f"it refuses ApiVersions v0 with {refusal} (error {_REFUSAL_CODE})")
        if refusal != "NONE":
            raise NotYet(f"ApiVersions v0 answers {refusal}")
        ranges = tuple(
            ApiRange(
                api_key=row.number("api_key"),
                min_version=row.number("min_version"),
                max_version=row.number("max_version"),
            )
            for row in answer.rows("api_keys")
        )
        self._ranges = {api.api_key: api for api in ranges}
        return ranges

    def version_of(self, api: str, preferred: Iterable[int]) -> int:
        """Return the first of some versions that the broker advertises; raise `NotServed` if none is."""
        api_range = self._ranges.get(api_key(api))
        if api_range is not None:
            for version in preferred:
                if api_range.min_version <= version <= api_range.max_version:
                    return version
        raise NotServed(f"it advertises no usable version of {api}")

    async def ask(self, api: str, version: int, fields: Fields) -> Answer:
        """Send a request and return its response.

        Raises:
            NotYet: there is no response.
            Unreadable: it cannot be parsed.
        """
        timeout_ms = min(_ANSWER_TIMEOUT_MS, self._left_ms())
        if timeout_ms <= 0:
            raise OutOfTime(f"no time is left to ask {api} v{version}")
        self._asked_count += 1
        request = encode_request(
            api, version, correlation_id=self._asked_count, client_id=self._client_id, fields=fields
        )
        try:
            await self._connection.send(request)
            frame = await self._connection.receive(timeout_ms=timeout_ms)
            decoded = decode_response(api, version, frame.payload, is_written_again=False)
            return Answer(decoded.fields)
        except NoAnswer as error:
            # Silence in less than the usual timeout for an answer does not show that the broker is at fault.
            kind = OutOfTime if timeout_ms < _ANSWER_TIMEOUT_MS else NotYet
            raise kind(f"{api} v{version}: {error}") from error
        except ConnectionLost as error:
            raise NotYet(f"{api} v{version}: {error}") from error
        except WireError as error:
            raise Unreadable(f"{api} v{version}: {error}") from error
