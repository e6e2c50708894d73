"""The execution of one round: requests are sent without waiting for other answers, and both are timed."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from harness.races.history import GROUP, History, RacedExchange, fields_from_json, in_order
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

    async def answer(
        self, line: Connection, asked: Sequence[RacedExchange], patience_ms: float
    ) -> tuple[Fields, float] | None:
        """Await the answer to a request, and return the connection to the pool.

        Args:
            line: the connection on which it was sent.
            asked: the operations that it is.
            patience_ms: how long to wait.

        Returns:
            The answer with its time; None if none came, or none that can be read.
        """
        try:
            frame = await line.receive(timeout_ms=patience_ms)
            answered_ms = now_ms()
            fields = decode_response(asked[0].api, asked[0].api_version, frame.payload).fields
        except (NoAnswer, ConnectionLost, MalformedResponse) as error:
            for each in asked:
                each.fault = "" if isinstance(error, NoAnswer) else str(error)
            await line.close()
            return None
        self.give_back(line)
        return self._incoming(fields), answered_ms

    def give_back(self, line: Connection) -> None:
        """Return a connection, on which no answer is awaited, to the pool."""
        self._free.append(line)

    def _incoming(self, fields: Fields) -> Fields:
        """Return a response's fields with the original topic names."""
        return fields if self._topics is None else self._topics.incoming(fields)


class ReadyRequest(NamedTuple):
    """A request that is ready to be sent."""

    step: Send
    line: Connection
    frame: bytes
    asked: RacedExchange


@dataclass(slots=True, kw_only=True)
class RoundRunner:
    """Runs one round, on connections that it takes for each request and returns after the answer."""

    round: Round
    group_id: str
    lines: Lines
    patience_ms: float
    """How long to await an answer after its request was sent."""
    asked: list[RacedExchange] = field(default_factory=list)
    _bindings: Bindings = field(init=False)
    _indices: dict[int, int] = field(default_factory=dict, init=False)
    _correlation_id: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Create the bindings of references to values."""
        self._bindings = Bindings(groups={"main": self.group_id})
        self._indices = {id(step): index for index, step in enumerate(self.round.steps)}

    async def run(self, steps: tuple[Step, ...]) -> None:
        """Run the set-up or the look back, one request after the other, until a needed value is missing."""
        with suppress(UnboundReferenceError):
            for step in requests_of(steps):
                await self.say(await self.ready(step, is_rival=False))

    async def race(self, strand: Strand, first: "ReadyRequest") -> None:
        """Run a strand whose first request is encoded, as long as requests are answered."""
        if strand.delay_us:
            await asyncio.sleep(strand.delay_us / 1e6)
        await self.say(first)
        asked = first.asked
        with suppress(UnboundReferenceError):
            for step in requests_of(strand.steps)[1:]:
                if asked.answer is None:
                    return
                following = await self.ready(step, is_rival=True)
                await self.say(following)
                asked = following.asked

    async def ready(self, step: Send, *, is_rival: bool) -> "ReadyRequest":
        """Record a request, and encode it for sending.

        Raises:
            UnboundReferenceError: no answer brought a value that it needs.
        """
        asked = self.note(step, is_rival=is_rival)
        self._correlation_id += 1
        frame = encode_request(
            step.api,
            step.api_version,
            correlation_id=self._correlation_id,
            client_id=step.actor,
            fields=self.lines.outgoing(asked.request),
        )
        return ReadyRequest(step, await self.lines.take(), frame, asked)

    def note(self, step: Send, *, is_rival: bool) -> RacedExchange:
        """Record a request that is about to be sent.

        Raises:
            UnboundReferenceError: no answer brought a value that it needs.
        """
        asked = RacedExchange(
            actor=step.actor,
            api=step.api,
            api_version=step.api_version,
            request=self._resolved(step),
            asked_ms=0.0,
            is_rival=is_rival,
        )
        self.asked.append(asked)
        return asked

    async def say(self, ready: "ReadyRequest") -> None:
        """Send a request and record its answer."""
        step, line, frame, asked = ready
        asked.asked_ms = now_ms()
        await line.send(frame)
        answer = await self.lines.answer(line, [asked], self.patience_ms)
        if answer is not None:
            self.learn(step, asked, *answer)

    def learn(self, step: Send, asked: RacedExchange, answer: Fields, answered_ms: float) -> None:
        """Record an answer, and learn its values."""
        asked.answer, asked.answered_ms = answer, answered_ms
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
        """Return a canonicaliser that has learnt the ids in all answers."""
        prefixes = [(each.name, each.group_instance_id or each.client_id) for each in self.round.actors]
        name = GROUP.removeprefix("group:")
        canonicaliser = Canonicaliser(groups={self.group_id: name}, actors=member_prefixes(prefixes))
        happened = [(each.asked_ms, 0, each) for each in self.asked]
        happened += [(each.answered_ms, 1, each) for each in self.asked if each.answer is not None]
        for _, is_answer, each in sorted(happened, key=lambda found: found[:2]):
            if is_answer:
                canonicaliser.observe(actor=each.actor, api=each.api, fields=each.answer or {})
            else:
                canonicaliser.asked(actor=each.actor, api=each.api, fields=each.request)
        canonicaliser.settle()
        return canonicaliser

    def _resolved(self, step: Send) -> Mapping[str, FieldValue]:
        resolved: Mapping[str, FieldValue] = self._bindings.resolve_fields(step.fields)  # type: ignore[assignment] # a resolved request contains plain values only
        return resolved


def now_ms() -> float:
    """Return the running loop's time, on the clock that all histories of a run share."""
    return round(asyncio.get_running_loop().time() * 1_000, 3)


def _operations(asked: Iterable[RacedExchange], canonicaliser: Canonicaliser) -> Iterable[RacedExchange]:
    for each in asked:
        request = fields_from_json(canonicaliser.value(each.request))
        answer = None
        if each.answer is not None:
            answer = fields_from_json(canonicaliser.value(each.answer, api=each.api))
        yield replace(each, request=request, answer=answer)
