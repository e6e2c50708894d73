"""A target that is started for a test, with a session on its broker."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType

from harness.targets.base.interface import Breakpoint, Broker, BrokerAction, BrokerSession, Target
from harness.targets.spec import parse_target


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
    session = broker.open_session(scenario_id)
    try:
        yield broker, session
        assert broker.failure() is None
    finally:
        await session.close()
        await broker.stop()
