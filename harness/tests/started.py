"""A target that is started for a test, with a session on its broker, and a member of a group there."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.targets.base.dialogue import Answer, Dialogue
from harness.targets.base.interface import (
    Breakpoint,
    Broker,
    BrokerAction,
    BrokerSession,
    Role,
    Target,
    closing,
)
from harness.targets.spec import parse_target
from harness.wire.codec import Fields

JOIN: Final[Fields] = {
    "group_id": "g",
    "session_timeout_ms": 30_000,
    "rebalance_timeout_ms": 30_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b""}],
}


@asynccontextmanager
async def started(
    target: str | Target = "reference",
    directory: Path = Path(),
    *,
    broker_config: Mapping[str, str] = MappingProxyType({}),
    breakpoints: Collection[Breakpoint] = (),
    broker_actions: Collection[BrokerAction] = (),
    scenario_id: str = "any",
) -> AsyncIterator[tuple[Broker, BrokerSession]]:
    """Start a broker that does not fail, and stop it at the end."""
    parsed = parse_target(target) if isinstance(target, str) else target
    broker = await parsed.start(
        broker_config=broker_config,
        directory=directory,
        progress=lambda _: None,
        breakpoints=breakpoints,
        broker_actions=broker_actions,
    )
    async with closing(broker.open_session(scenario_id)) as session:
        yield broker, session
        assert broker.failure() is None
        await broker.stop()


async def ask(
    session: BrokerSession, api: str, version: int, fields: Fields, role: Role = Role.COORDINATOR
) -> Answer:
    """Ask on a connection of its own."""
    async with closing(await session.connect(role)) as connection:
        return await Dialogue(connection).ask(api, version, fields)


async def only_member(session: BrokerSession) -> Fields:
    """Return a heartbeat of the only member of a Stable group."""
    member_id = (await ask(session, "JoinGroup", 3, JOIN)).text("member_id")
    rows: list[Fields] = [{"member_id": member_id, "assignment": b"a"}]
    member: Fields = {"group_id": "g", "generation_id": 1, "member_id": member_id}
    await ask(session, "SyncGroup", 2, {**member, "assignments": rows})
    return member
