"""The harness's own questions to a broker, outside any scenario: one at a time, each answered or not."""

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
    """The broker did not say what is waited for; `str()` tells what it said or did instead."""


class OutOfTime(NotYet):
    """A question had no time, or not its full time, because that for all questions together is up."""


class Answer:
    """The fields of a response, or of a structure in it, asked for by name and kind."""

    def __init__(self, fields: Mapping[str, FieldValue]) -> None:
        self.fields = fields

    def text(self, name: str) -> str | None:
        """Return a string, or an error code by its name; None for null and for a field that is not there."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int:
        """Return a number, -1 for a field that is not there."""
        value = self.fields.get(name)
        return value if isinstance(value, int) else -1

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return an array of numbers, none for null."""
        value = self.fields.get(name)
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return ()
        return tuple(item for item in value if isinstance(item, int))

    def rows(self, name: str) -> tuple["Answer", ...]:
        """Return the structures of an array, none for null."""
        value = self.fields.get(name)
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return ()
        return tuple(Answer(row) for row in value if isinstance(row, Mapping))


class Dialogue:
    """Questions and answers on one connection, in versions that the broker advertises.

    Args:
        connection: to the broker.
        client_id: that the broker is told.
        left_ms: tells how much time is left for all questions together; by default there is no such bound.
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
        """Ask which versions of which APIs there are, which `version_of` then knows.

        Raises:
            NotYet: it does not say.
            TargetError: it refuses the oldest version of that question, which every broker has.
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
        """Return the first of some versions that the broker advertises; `NotYet` when it has none of them."""
        api_range = self._ranges.get(api_key(api))
        if api_range is not None:
            for version in preferred:
                if api_range.min_version <= version <= api_range.max_version:
                    return version
        raise NotYet(f"it advertises no usable version of {api}")

    async def ask(self, api: str, version: int, fields: Fields) -> Answer:
        """Send a request and return its response; `NotYet` when none comes or it cannot be read."""
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
            # Silence for less than an answer may take says nothing of the broker.
            kind = OutOfTime if timeout_ms < _ANSWER_TIMEOUT_MS else NotYet
            raise kind(f"{api} v{version}: {error}") from error
        except (ConnectionLost, WireError) as error:
            raise NotYet(f"{api} v{version}: {error}") from error
