"""Run one script: start clients, send them commands, observe them, and kill them at the end."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.clients.book import Book, ClientEvent
from harness.clients.clock import clock_ms
from harness.clients.libraries import ClientLibrary
from harness.clients.names import Names, delivered_as, uncounted
from harness.clients.process import ClientGone, ClientProcess, Message
from harness.clients.steps import (
    Account,
    Callback,
    ClientScript,
    ClientStep,
    Command,
    ConfigureGroup,
    Deliver,
    DoToBroker,
    Elapse,
    Endure,
    Fact,
    FindCoordinator,
    GrowTopic,
    Kill,
    Launch,
    MakeTopic,
    Notice,
    Settle,
    Verb,
    step_text,
)
from harness.results.client_results import CONVERSATION_FILE, CUT_SHORT, NOT_RUN, ClientObservation
from harness.results.status import ENDED_COMPLETE
from harness.targets.base.interface import BrokerAction, TargetError

if TYPE_CHECKING:
    from harness.clients.admin import Admin

PATIENCE_S: Final = 45.0
"""The time limit for a client's answer and for a group to come to rest; longer than any intended delay."""

_ASK_AGAIN_S: Final = 0.3


class NotObservable(Exception):  # noqa: N818 - a normal observation, not a fault
    """A target does not let clients observe what a script is about."""


CarryOut = Callable[[BrokerAction], Awaitable[None]]
"""Carries out an action on the coordinator's broker, and returns when it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEnvironment:
    """The environment in which a script runs."""

    bootstrap: str
    admin: "Admin"
    carry_out: CarryOut
    directory: Path
    """An existing folder for the clients' messages and logs."""
    patience_s: float = PATIENCE_S


@dataclass(slots=True, kw_only=True)
class ClientScriptRunner:
    """One run of one script."""

    script: ClientScript
    library: ClientLibrary
    names: Names
    place: ClientEnvironment
    _book: Book = field(default_factory=Book)
    _clients: dict[str, ClientProcess] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _rested: dict[str, str] = field(default_factory=dict)
    """The owner of each partition when the group was last at rest."""

    async def run(self) -> tuple[str, tuple[ClientObservation, ...]]:
        """Run the script; return how it ended, and the observations of each step that was carried out."""
        seen: list[ClientObservation] = []
        try:
            ended = await self._go_through(seen)
        finally:
            await asyncio.gather(*(client.kill() for client in self._clients.values()))
        return ended, tuple(seen)

    async def _go_through(self, seen: list[ClientObservation]) -> str:
        """Carry out the steps in turn, record the observations of each, and return how that ended."""
        for number, step in enumerate(self.script.steps):
            at_ms = clock_ms()
            try:
                facts = await self._carry_out(step)
            except NotObservable as error:
                return f"{NOT_RUN}{error}"
            except (ClientGone, TimeoutError, TargetError) as error:
                return f"{CUT_SHORT}step {number}, {step_text(step)}: {str(error) or 'no answer in time'}"
            seen.append(ClientObservation(step=number, facts=facts, at_ms=at_ms))
        seen.append(ClientObservation(step=len(self.script.steps), facts=self._whole(), at_ms=clock_ms()))
        return ENDED_COMPLETE

    async def _carry_out(self, step: ClientStep) -> Mapping[str, Fact]:  # noqa: C901, PLR0912 - one flat case per kind of step
        match step:
            case MakeTopic():
                await self._administer(self.place.admin.make_topic, step.topic, step.partition_count)
            case GrowTopic():
                await self._administer(self.place.admin.grow_topic, step.topic, step.partition_count)
            case ConfigureGroup():
                group = self.names.actual(step.group)
                await asyncio.to_thread(self.place.admin.configure_group, group, step.config)
            case Launch():
                await self._launch(step)
            case Command():
                return await self._tell(step)
            case Kill():
                self._book.gone_at_ms[step.client] = await self._clients[step.client].kill()
            case Settle():
                return await self._settle(step)
            case Deliver():
                return await self._deliver(step)
            case Notice():
                return await self._notice(step)
            case Account():
                return {"processed": dict(sorted(self._book.processed().items()))}
            case FindCoordinator():
                return await self._find(step)
            case DoToBroker():
                await self.place.carry_out(step.lever)
            case Elapse():
                await asyncio.sleep(step.duration_ms / 1000)
            case Endure():
                raise AssertionError("only a soak has this step")
        return {}

    async def _administer(self, act: Callable[[str, int], None], topic: str, partition_count: int) -> None:
        await asyncio.to_thread(act, self.names.actual(topic), partition_count)

    async def _launch(self, step: Launch) -> None:
        settings = {
            **self.names.settings(step.settings),
            "bootstrap_servers": self.place.bootstrap,
            "client_id": step.client,
        }
        self._clients[step.client] = await ClientProcess.start(
            self.library,
            settings,
            name=step.client,
            log=self.place.directory / f"{step.client}.log",
            on_event=self._happened,
            keep=self._keep,
        )

    def _keep(self, client: str, message: Message) -> None:
        timed = {"client": client, "at_ms": clock_ms(), **message}
        line = json.dumps(timed, ensure_ascii=False)
        with (self.place.directory / CONVERSATION_FILE).open("a", encoding="utf-8", errors="replace") as file:
            file.write(line + "\n")

    def _happened(self, client: str, message: Message) -> None:
        records = message.get("records", ())
        values = [
            (self.names.partition(topic, number), delivered_as(value, *count))
            for topic, number, _, value, *count in records
        ]
        values += [(value.partition("#")[0], value) for value in message.get("values", ())]
        event = ClientEvent(
            client=client,
            kind=message["event"],
            at_ms=message["at_ms"],
            partitions=self.names.partitions(message.get("partitions", ())),
            values=tuple(values),
            name=message.get("name", ""),
            says=message.get("says", ""),
        )
        self._book.events.append(event)
        self._changed.set()

    async def _until(self, is_so: Callable[[], bool]) -> bool:
        """Wait until a condition is true; return whether that was in time."""
        until_s = time.monotonic() + self.place.patience_s
        while not is_so():
            self._changed.clear()
            left_s = until_s - time.monotonic()
            try:
                await asyncio.wait_for(self._changed.wait(), max(left_s, 0))
            except TimeoutError:
                return is_so()
        return True

    async def _tell(self, step: Command) -> Mapping[str, Fact]:
        until_s = time.monotonic() + self.place.patience_s
        while True:
            facts = await self._tell_once(step)
            as_it_must = facts.get("answer") == step.answers
            if as_it_must or not step.eventually or time.monotonic() > until_s:
                return facts
            await asyncio.sleep(_ASK_AGAIN_S)

    async def _tell_once(self, step: Command) -> Mapping[str, Fact]:
        client = self._clients[step.client]
        arguments = self.names.arguments(step.verb, step.arguments)
        self._book.observed[step.client] |= {*step.may_be_told}
        answer = await client.tell(step.verb, arguments, timeout_s=self.place.patience_s)
        if step.verb is Verb.CLOSE:
            await client.ended()
            self._book.gone_at_ms[step.client] = clock_ms()
        if "error" in answer:
            self._book.observed[step.client] |= {*step.refused_as}
            return {"refused": str(answer["error"]), "says": str(answer["says"])}
        reported = self.names.answer(step.verb, answer)
        return {} if reported is None else {"answer": reported}

    async def _settle(self, step: Settle) -> Mapping[str, Fact]:
        def is_at_rest() -> bool:
            return _fits(step, self._owned(step))

        in_time = await self._until(is_at_rest)
        owned = self._owned(step)
        owners = {partition: client for client, part in owned.items() for partition in part}
        moved = sorted(
            partition for partition, client in owners.items() if self._rested.get(partition, client) != client
        )
        facts: dict[str, Fact] = {
            "in time": in_time,
            "owns": {client: list(part) for client, part in owned.items()},
            "moved": list(moved),
            "callbacks": self._callbacks(),
        }
        self._rested = owners
        self._book.mark_callbacks()
        return facts

    def _owned(self, step: Settle) -> dict[str, tuple[str, ...]]:
        return {client: tuple(sorted(self._book.owned(client))) for client in step.clients}

    def _callbacks(self) -> Fact:
        reported = self._book.callbacks()
        return {
            client: [[event.kind, list(event.partitions)] for event in events]
            for client, events in sorted(reported.items())
        }

    async def _deliver(self, step: Deliver) -> Mapping[str, Fact]:
        def has_come() -> bool:
            came = self._delivered(step)
            return all(
                set(values) <= set(came.get(partition, ())) for partition, values in step.values.items()
            )

        in_time = await self._until(has_come)
        came = self._delivered(step)
        self._book.mark_delivered()
        delivered: dict[str, Fact] = {
            partition: list(values if step.in_order else sorted(values))
            for partition, values in sorted(came.items())
        }
        return {"in time": in_time, "delivered": delivered}

    def _delivered(self, step: Deliver) -> Mapping[str, Sequence[str]]:
        came = self._book.delivered(step.clients)
        if step.counted:
            return came
        return {partition: [*map(uncounted, values)] for partition, values in came.items()}

    async def _notice(self, step: Notice) -> Mapping[str, Fact]:
        def is_reported() -> bool:
            return self._book.has_heard_of(step.client, step.names) is not None

        await self._until(is_reported)
        name = self._book.has_heard_of(step.client, step.names)
        self._book.observed[step.client] |= {*step.names} - set(Callback)
        return {"told": name}

    async def _find(self, step: FindCoordinator) -> Mapping[str, Fact]:
        group = self.names.actual(step.group)
        try:
            count, partitions = await asyncio.to_thread(self.place.admin.partitions_with_commits, group)
        except TargetError as error:
            raise NotObservable(str(error)) from error
        return {"group": group, "partition count": count, "partitions": list(partitions)}

    def _whole(self) -> Mapping[str, Fact]:
        """Return the facts about the whole script, and the callbacks and errors that no step examined."""
        looked_at = {
            client for step in self.script.steps if isinstance(step, Settle) for client in step.clients
        }
        late = self._book.callbacks(clients=looked_at - self._book.gone_at_ms.keys())
        return {
            "two owners": [
                f"{each.partition}: {each.earlier} and {each.later}" for each in self._book.overlaps()
            ],
            "errors": {client: list(names) for client, names in self._book.errors().items()},
            "late callbacks": {
                client: [[event.kind, list(event.partitions)] for event in events]
                for client, events in sorted(late.items())
            },
        }


def _fits(step: Settle, owned: Mapping[str, tuple[str, ...]]) -> bool:
    if step.owns is not None:
        return owned == step.owns
    everything = sorted(partition for part in owned.values() for partition in part)
    sizes = tuple(sorted((len(part) for part in owned.values()), reverse=True))
    return everything == sorted(step.partitions) and sizes == step.sizes
