"""The execution of one round: requests are sent without waiting for other answers, and both are timed."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from harness.apis.table import descriptor
from harness.races.history import GROUP, History, RacedOperation, fields_from_json, in_order
from harness.races.plan import Round, Strand, requests_of
from harness.scenario.bindings import Bindings
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.script import Send, Step
from harness.targets.base.interface import BrokerSession, Connection, ConnectionLost, NoAnswer
from harness.targets.external.namespace import TopicNames
from harness.trace.canonical import Canonicaliser, member_prefixes
from harness.wire.codec import Fields, FieldValue, decode_response, encode_request
from harness.wire.errors import MalformedResponse


class Lines:
    """A pool of free connections."""

    def __init__(self, session: BrokerSession, topics: TopicNames | None = None) -> None:
        """Begin without a connection; `topics` renames topics on an external broker."""
        self._session = session
        self._topics = topics
        self._free: list[Connection] = []

    async def take(self) -> Connection:
        """Return a free connection, or open one."""
        return self._free.pop() if self._free else await self._session.connect()

    def outgoing(self, fields: Fields) -> Fields:
        """Return a request's fields with the broker's topic names."""
        return fields if self._topics is None else self._topics.outgoing(fields)

    def incoming(self, fields: Fields) -> Fields:
        """Return a response's fields with the original topic names."""
        return fields if self._topics is None else self._topics.incoming(fields)

    def give_back(self, line: Connection) -> None:
        """Return a connection, on which no answer is awaited, to the pool."""
        self._free.append(line)


@dataclass(slots=True, kw_only=True)
class Asked:
    """A request that was sent, and its answer once there is one."""

    actor: str
    api: str
    api_version: int
    request: Fields
    is_rival: bool
    invoked_us: int = 0
    answered_us: int | None = None
    answer: Fields | None = None
    note: str | None = None


@dataclass(slots=True, kw_only=True)
class RoundRunner:
    """Runs one round, on connections that it takes for each request and returns after the answer."""

    round: Round
    group_id: str
    lines: Lines
    patience_ms: float
    """How long to await an answer after its request was sent."""
    asked: list[Asked] = field(default_factory=list)
    _bindings: Bindings = field(init=False)
    _indices: dict[int, int] = field(default_factory=dict, init=False)
    _correlation_id: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Create the bindings of references to values."""
        self._bindings = Bindings(groups={"main": self.group_id})
        self._indices = {id(step): index for index, step in enumerate(self.round.steps)}

    async def run(self, steps: Iterable[Step]) -> None:
        """Run the set-up or the look back, one request after the other, until a needed value is missing."""
        for step in steps:
            if not isinstance(step, Send):
                continue
            try:
                line, frame, asked = await self.ready(step, is_rival=False)
            except UnboundReferenceError:
                return
            asked.invoked_us = now_us()
            await line.send(frame)
            await self.answered(step, line, asked)

    async def race(self, strand: Strand, line: Connection, frame: bytes, asked: Asked) -> None:
        """Run a strand whose first request is encoded; its steps are requests and their answers."""
        if strand.delay_us:
            await asyncio.sleep(strand.delay_us / 1e6)
        first, *others = requests_of(strand.steps)
        asked.invoked_us = now_us()
        await line.send(frame)
        await self.answered(first, line, asked)
        for step in others:
            if asked.answer is None:
                return
            try:
                line, frame, asked = await self.ready(step, is_rival=True)
            except UnboundReferenceError:
                return
            asked.invoked_us = now_us()
            await line.send(frame)
            await self.answered(step, line, asked)

    async def ready(self, step: Send, *, is_rival: bool) -> tuple[Connection, bytes, Asked]:
        """Record a request, and encode it for sending.

        Raises:
            UnboundReferenceError: no answer brought a value that it needs.
        """
        line = await self.lines.take()
        try:
            asked = self.note(step, is_rival=is_rival)
        except UnboundReferenceError:
            self.lines.give_back(line)
            raise
        self._correlation_id += 1
        frame = encode_request(
            step.api,
            step.api_version,
            correlation_id=self._correlation_id,
            client_id=step.actor,
            fields=self.lines.outgoing(asked.request),
        )
        return line, frame, asked

    def note(self, step: Send, *, is_rival: bool) -> Asked:
        """Record a request that is about to be sent.

        Raises:
            UnboundReferenceError: no answer brought a value that it needs.
        """
        asked = Asked(
            actor=step.actor,
            api=step.api,
            api_version=step.api_version,
            request=self._resolved(step),
            is_rival=is_rival,
        )
        self.asked.append(asked)
        return asked

    async def answered(self, step: Send, line: Connection, asked: Asked) -> None:
        """Await the answer, record it, and return the connection to the pool."""
        try:
            frame = await line.receive(timeout_ms=self.patience_ms)
            answered_us = now_us()
            reported = decode_response(asked.api, asked.api_version, frame.payload).fields
            answer = self.lines.incoming(reported)
        except NoAnswer:
            await line.close()
        except (ConnectionLost, MalformedResponse) as error:
            asked.note = str(error)
            await line.close()
        else:
            self.lines.give_back(line)
            self.learn(step, asked, answer, answered_us)

    def learn(self, step: Send, asked: Asked, answer: Fields, answered_us: int) -> None:
        """Record an answer, and learn its values."""
        asked.answer, asked.answered_us = answer, answered_us
        index = self._indices[id(step)]
        self._bindings.learn(step=index, actor=step.actor, api=step.api, fields=answer)

    def history(self) -> History:
        """Return the round's history, with canonical names for random ids."""
        return History(
            race=self.round.race,
            round_number=self.round.number,
            operations=in_order(_operations(self.asked, self._canonicaliser())),
        )

    def _canonicaliser(self) -> Canonicaliser:
        """Return a canonicaliser that has learnt the member ids in all answers."""
        prefixes = [(each.name, each.group_instance_id or each.client_id) for each in self.round.actors]
        name = GROUP.removeprefix("group:")
        canonicaliser = Canonicaliser(groups={self.group_id: name}, actors=member_prefixes(prefixes))
        answered = [each for each in self.asked if each.answer is not None and _names_something(each.api)]
        for each in sorted(answered, key=lambda each: each.answered_us or 0):
            canonicaliser.canonical(actor=each.actor, api=each.api, fields=each.answer or {})
        return canonicaliser

    def _resolved(self, step: Send) -> Mapping[str, FieldValue]:
        resolved: Mapping[str, FieldValue] = self._bindings.resolve_fields(step.fields)  # type: ignore[assignment] # a resolved request contains plain values only
        return resolved


def _names_something(api: str) -> bool:
    """Return whether an API's answers contain new ids of members or topics."""
    return bool(descriptor(api).learns) or api == "Metadata"


def now_us() -> int:
    """Return the running loop's time, on the clock that all histories of a run share."""
    return int(asyncio.get_running_loop().time() * 1_000_000)


def _operations(asked: Iterable[Asked], canonicaliser: Canonicaliser) -> Iterable[RacedOperation]:
    for each in asked:
        answer = each.answer
        yield RacedOperation(
            actor=each.actor,
            api=each.api,
            api_version=each.api_version,
            request=fields_from_json(canonicaliser.value(each.request)),
            asked_ms=each.invoked_us / 1_000,
            answered_ms=inf if each.answered_us is None else each.answered_us / 1_000,
            answer=None if answer is None else fields_from_json(canonicaliser.value(answer, api=each.api)),
            is_rival=each.is_rival,
            answer_note=each.note,
        )
