"""A broker in containers for a test, and what is asked of it."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from harness.targets.base.dialogue import Answer, Dialogue
from harness.targets.base.interface import Breakpoint, BrokerSession, Role, closing
from harness.targets.containers.engine import OWNER_LABEL, SESSION_LABEL, engine
from harness.targets.containers.target import ContainerBroker
from harness.targets.spec import parse_target
from harness.tests.patience import NOW_OR_NEVER_S
from harness.wire.codec import Fields

SCALA: Final = "3.9.2"
JAVA: Final = "4.3.1"
STRANGER: Final[Fields] = {"group_id": "g", "generation_id": 0, "member_id": "m"}
ImageOf = Callable[[str], str]
Play = Callable[[ContainerBroker, BrokerSession], Awaitable[None]]


def names_of(pid: int) -> list[str]:
    """Return what the engine has of a process: containers, then networks."""
    with engine() as client:
        of_somebody: Mapping[str, str | list[str]] = {"label": SESSION_LABEL}
        containers = client.containers.list(all=True, filters=of_somebody, ignore_removed=True)
        networks = client.networks.list(filters=of_somebody)
        labelled = [(each.name, each.labels) for each in containers]
        labelled += [(each.name, cast("Mapping[str, str]", each.attrs["Labels"])) for each in networks]
    return [name for name, labels in labelled if labels[OWNER_LABEL].startswith(f"{pid} ")]


def with_broker(
    spec: str,
    directory: Path,
    play: Play,
    *,
    broker_config: Mapping[str, str] = MappingProxyType({}),
    breakpoints: Collection[Breakpoint] = (),
) -> ContainerBroker:
    async def start_and_stop() -> ContainerBroker:
        broker = await parse_target(spec).start(
            broker_config=broker_config, directory=directory, progress=lambda _: None, breakpoints=breakpoints
        )
        assert isinstance(broker, ContainerBroker)
        async with closing(broker.open_session("any")) as session:
            await play(broker, session)
            await broker.stop()
        return broker

    broker = asyncio.run(start_and_stop())
    assert names_of(os.getpid()) == []
    return broker


async def ask(
    session: BrokerSession, api: str, version: int, fields: Fields, role: Role = Role.COORDINATOR
) -> Answer:
    dialogue = Dialogue(await session.connect(role))
    return await dialogue.ask(api, version, fields)


async def commits(session: BrokerSession, offset: int) -> None:
    partition: Fields = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    fields: Fields = {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": "orders", "partitions": [partition]}],
    }
    answer = await ask(session, "OffsetCommit", 2, fields)
    (row,) = answer.rows("topics")[0].rows("partitions")
    assert row.text("error_code") == "NONE"


async def fetched(session: BrokerSession) -> tuple[str | None, list[int]]:
    """Return the error and the offsets that OffsetFetch tells."""
    answer = await ask(session, "OffsetFetch", 5, {"group_id": "g", "topics": None})
    rows = [row for topic in answer.rows("topics") for row in topic.rows("partitions")]
    return answer.text("error_code"), [row.number("committed_offset") for row in rows]


async def still_has(session: BrokerSession, offset: int) -> None:
    """Wait until an offset is told.

    The coordinator may be loading, and a Java coordinator tells what is below its partition's high watermark,
    which a new leader learns only when its followers next fetch.
    """
    async with asyncio.timeout(NOW_OR_NEVER_S):
        while await fetched(session) != ("NONE", [offset]):
            await session.elapse(20)


async def knows_the_coordinator(session: BrokerSession) -> None:
    """Wait until the broker that coordinated before says that it does not."""

    async def reported() -> str | None:
        return (await ask(session, "Heartbeat", 3, STRANGER, Role.FORMER)).text("error_code")

    async with asyncio.timeout(NOW_OR_NEVER_S):
        while await reported() != "NOT_COORDINATOR":
            await session.elapse(20)
