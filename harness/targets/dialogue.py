"""The harness's own questions to a broker, outside any scenario: one at a time, each answered or not."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from harness.targets.base import ApiRange, Connection, ConnectionLost, NoAnswer
from harness.wire.codec import Fields, FieldValue, decode_response, encode_request
from harness.wire.errors import WireError
from harness.wire.schema import api_key

_CLIENT_ID: Final = "kafka-conformance-setup"
_ANSWER_TIMEOUT_MS: Final = 5000.0


class NotYet(Exception):  # noqa: N818 - a normal observation while a broker comes up
    """The broker did not say what is waited for; `str()` tells what it said or did instead."""


class Answer:
    """The fields of a response, or of a structure in it, asked for by name and kind."""

    def __init__(self, fields: Mapping[str, FieldValue]) -> None:
        self._fields = fields

    def text(self, name: str) -> str | None:
        """Return a string, or an error code by its name; None for null and for a field that is not there."""
        value = self._fields.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int:
        """Return a number, -1 for a field that is not there."""
        value = self._fields.get(name)
        return value if isinstance(value, int) else -1

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return an array of numbers, none for null."""
        value = self._fields.get(name)
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return ()
        return tuple(item for item in value if isinstance(item, int))

    def rows(self, name: str) -> tuple["Answer", ...]:
        """Return the structures of an array, none for null."""
        value = self._fields.get(name)
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return ()
        return tuple(Answer(row) for row in value if isinstance(row, Mapping))


class Dialogue:
    """Questions and answers on one connection, in versions that the broker advertises."""

    def __init__(self, connection: Connection, *, client_id: str = _CLIENT_ID) -> None:
        self._connection = connection
        self._client_id = client_id
        self._asked_count = 0
        self._ranges: Mapping[int, ApiRange] = {}

    async def learn_versions(self) -> tuple[ApiRange, ...]:
        """Ask which versions of which APIs there are, which `version_of` then knows."""
        answer = await self.ask("ApiVersions", 0, {})
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
        self._asked_count += 1
        request = encode_request(
            api, version, correlation_id=self._asked_count, client_id=self._client_id, fields=fields
        )
        try:
            await self._connection.send(request)
            frame = await self._connection.receive(timeout_ms=_ANSWER_TIMEOUT_MS)
            return Answer(decode_response(api, version, frame.payload).fields)
        except (NoAnswer, ConnectionLost, WireError) as error:
            raise NotYet(f"{api} v{version}: {error}") from error
