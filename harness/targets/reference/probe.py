"""Requests to the reference, each to a separate coordinator, so that no request affects another."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from harness.targets.base.interface import BrokerSession, Connection, NoAnswer, closing
from harness.targets.reference.target import ReferenceTarget
from harness.wire.codec import Fields, FieldValue, decode_response, encode_request

PARKED: Final = "parked"
"""The answer in the matrix of a request that is parked."""
_WAIT_MS: Final = 60_000.0
Question = TypeVar("Question")


class Asker(StrEnum):
    """Whose ids a request contains."""

    KNOWN = "known"
    """Both ids of the member that the page is about; in Empty, of one that has left."""
    FENCED = "fenced"
    """Another member id with that member's instance id."""
    UNKNOWN = "unknown"
    """Another member id without an instance id."""
    RESTARTED = "restarted"
    """That member's instance id without a member id, which only classic members may send."""
    NEW = "new"
    """Neither id."""


@dataclass(slots=True)
class Probe:
    """Sends requests on a session, with each API in the matrix's version."""

    session: BrokerSession
    versions: Mapping[str, int]
    _asked: int = 0

    async def connect(self) -> Connection:
        """Open a connection."""
        return await self.session.connect()

    async def call(self, connection: Connection, api: str, fields: Fields) -> Fields:
        """Send a request, and return its answer."""
        await self.send(connection, api, fields)
        return await self.receive(connection, api)

    async def send(self, connection: Connection, api: str, fields: Fields) -> None:
        """Send a request."""
        self._asked += 1
        version = self.versions[api]
        await connection.send(
            encode_request(api, version, correlation_id=self._asked, client_id="matrix", fields=fields)
        )

    async def reported(self, api: str, fields: Fields) -> str:
        """Send a request on a new connection, and return the answer's error, or that it is parked."""
        connection = await self.connect()
        await self.send(connection, api, fields)
        try:
            return error_of(await self.receive(connection, api, wait_ms=0))
        except NoAnswer:
            return PARKED

    async def receive(self, connection: Connection, api: str, *, wait_ms: float = _WAIT_MS) -> Fields:
        """Return the next answer.

        Raises:
            NoAnswer: there was none in time.
        """
        frame = await connection.receive(timeout_ms=wait_ms)
        return decode_response(api, self.versions[api], frame.payload).fields


async def answers(
    profile: str,
    questions: Iterable[Question],
    answer_to: Callable[[BrokerSession, Question], Awaitable[str]],
) -> dict[Question, str]:
    """Send every request to the reference with a profile, each on a new session, and return the answers."""
    target = ReferenceTarget(profile)
    broker = await target.start(broker_config={}, directory=Path(), progress=lambda _: None)
    reported: dict[Question, str] = {}
    for question in questions:
        async with closing(broker.open_session("response matrix")) as session:
            reported[question] = await answer_to(session, question)
    return reported


def error_of(answer: Fields) -> str:
    """Return an answer's error, wherever the API has it."""
    entries = [answer, *(row for name in ("members", "groups", "results") for row in rows(answer.get(name)))]
    topics = [topic for entry in entries for topic in rows(entry.get("topics"))]
    inner = [partition for topic in topics for partition in rows(topic["partitions"])]
    errors = [each["error_code"] for each in (*entries, *inner) if "error_code" in each]
    return str(next((error for error in errors if error != "NONE"), "NONE"))


def rows(value: FieldValue) -> list[Fields]:
    """Return the structures of a collection; empty where it is null or missing."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list | tuple) else []


def table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    written = [headings, ["---"] * len(headings), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in written)
