"""Questions to the reference, each to a coordinator of its own, so that none sees what another did."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from harness.targets.base.interface import BrokerSession, Connection, NoAnswer
from harness.targets.reference.target import ReferenceTarget
from harness.wire.codec import Fields, FieldValue, decode_response, encode_request

PARKED: Final = "parked"
"""Stands for the answer of a request that is not answered at once."""
_WAIT_MS: Final = 60_000.0
Question = TypeVar("Question")


class Asker(StrEnum):
    """Who asks."""

    KNOWN = "known"
    """The member that the page is about, by both of its ids; in Empty, one that has left."""
    FENCED = "fenced"
    """Somebody else with that member's instance id."""
    UNKNOWN = "unknown"
    """Somebody else without an instance id."""
    RESTARTED = "restarted"
    """Whoever has that member's instance id and no member id, as only classic members may."""
    NEW = "new"
    """Somebody with neither."""


@dataclass(slots=True)
class Probe:
    """Sends requests on a session, each API in the version that the matrix is about."""

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
        """Ask on a connection of its own, and return the error of the answer, or that it is parked."""
        connection = await self.connect()
        await self.send(connection, api, fields)
        try:
            return error_of(await self.receive(connection, api, wait_ms=0))
        except NoAnswer:
            return PARKED

    async def receive(self, connection: Connection, api: str, *, wait_ms: float = _WAIT_MS) -> Fields:
        """Return the next answer.

        Raises:
            NoAnswer: none came in time.
        """
        frame = await connection.receive(timeout_ms=wait_ms)
        return decode_response(api, self.versions[api], frame.payload).fields


async def answers(
    profile: str,
    questions: Iterable[Question],
    answer_to: Callable[[BrokerSession, Question], Awaitable[str]],
) -> dict[Question, str]:
    """Ask the reference of a profile every question, on a session of its own."""
    target = ReferenceTarget(profile)
    broker = await target.start(broker_config={}, directory=Path(), progress=lambda _: None)
    reported: dict[Question, str] = {}
    for question in questions:
        session = broker.open_session("response matrix")
        try:
            reported[question] = await answer_to(session, question)
        finally:
            await session.close()
    return reported


def error_of(answer: Fields) -> str:
    """Return the one error of an answer, wherever that API puts it."""
    entries = [answer, *(row for name in ("members", "groups", "results") for row in rows(answer.get(name)))]
    topics = [topic for entry in entries for topic in rows(entry.get("topics"))]
    inner = [partition for topic in topics for partition in rows(topic["partitions"])]
    errors = [each["error_code"] for each in (*entries, *inner) if "error_code" in each]
    return str(next((error for error in errors if error != "NONE"), "NONE"))


def rows(value: FieldValue) -> list[Fields]:
    """Return the structures of a collection; none where it is null or missing."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list | tuple) else []


def table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    written = [headings, ["---"] * len(headings), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in written)
