"""Runs cohorts of rounds on a broker: set-ups one by one, rivals all at once, final checks one by one.

Requests are sent without waiting for other answers, and all bytes are recorded as a tap records them.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

from harness.races.plan import Round, RoundBatch, Strand, requests_of
from harness.scenario import ask
from harness.scenario.bindings import Bindings
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.script import Send, Step
from harness.tap.journal import Closing, Endpoint, Journal, Kind, Opening
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.interface import BrokerSession, Connection, ConnectionLost, NoAnswer
from harness.targets.external.namespace import TopicNames
from harness.wire.codec import Fields, FieldValue, decode_response, encode_request
from harness.wire.errors import MalformedResponse

_CONVERSATION: Final = "races"
_SIZE_BYTES: Final = 4


class Line(NamedTuple):
    """A connection, and its number in the journal."""

    number: int
    connection: Connection


@dataclass(slots=True)
class Lines:
    """A pool of free connections, whose bytes are recorded."""

    session: BrokerSession
    journal: Journal
    topics: TopicNames | None = None
    """Renames topics on an external broker."""
    _free: list[Line] = field(default_factory=list)
    _opened: int = 0

    async def take(self) -> Line:
        """Return a free connection, or open one."""
        if self._free:
            return self._free.pop()
        connection = await self.session.connect()
        self._opened += 1
        line = Line(self._opened, connection)
        opening = Opening(conversation=_CONVERSATION, client="races", broker="bootstrap", address="broker")
        self.journal.keep_record(Kind.OPENED, line.number, opening)
        return line

    async def ready(self, api: str, version: int, fields: Fields, *, client_id: str) -> "ReadyRequest":
        """Encode a request, and take a connection for it; topics get the broker's names."""
        outgoing = fields if self.topics is None else self.topics.outgoing(fields)
        frame = encode_request(api, version, correlation_id=0, client_id=client_id, fields=outgoing)
        return ReadyRequest(api, version, frame, await self.take())

    async def say(self, ready: "ReadyRequest", patience_ms: float) -> Fields | None:
        """Send a request, await its answer, and return the connection to the pool.

        Returns:
            The answer; None if none came in time, or none that can be read.
        """
        api, version, request, line = ready
        self._keep(Kind.REQUEST_BYTES, line, request)
        await line.connection.send(request)
        try:
            frame = await line.connection.receive(timeout_ms=patience_ms)
            self._keep(Kind.RESPONSE_BYTES, line, frame.payload)
            fields = decode_response(api, version, frame.payload).fields
        except (NoAnswer, ConnectionLost, MalformedResponse) as error:
            side = Endpoint.BROKER if isinstance(error, ConnectionLost) else Endpoint.CLIENT
            self.journal.keep_record(Kind.CLOSED, line.number, Closing(side=side, how=str(error)))
            await line.connection.close()
            return None
        self._free.append(line)
        return fields if self.topics is None else self.topics.incoming(fields)

    def _keep(self, kind: Kind, line: Line, frame: bytes) -> None:
        self.journal.keep(kind, line.number, len(frame).to_bytes(_SIZE_BYTES, "big") + frame)


class ReadyRequest(NamedTuple):
    """A request that is ready to be sent."""

    api: str
    version: int
    frame: bytes
    line: Line


@dataclass(slots=True, kw_only=True)
class RoundRunner:
    """Runs one round, on connections that it takes for each request and returns after the answer."""

    round: Round
    group_id: str
    lines: Lines
    patience_ms: float
    """How long to await an answer after its request was sent."""
    _bindings: Bindings = field(init=False)
    _indices: dict[int, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Create the bindings of references to values."""
        self._bindings = Bindings(groups={"main": self.group_id})
        self._indices = {id(step): index for index, step in enumerate(self.round.steps)}

    async def run(self, steps: tuple[Step, ...]) -> None:
        """Run the set-up or the look back, one request after the other, until a needed value is missing."""
        with suppress(UnboundReferenceError):
            for step in requests_of(steps):
                await self.say(step, await self.ready(step))

    async def race(self, strand: Strand, first: ReadyRequest) -> None:
        """Run a strand whose first request is encoded, as long as requests are answered."""
        if strand.delay_us:
            await asyncio.sleep(strand.delay_us / 1e6)
        begin, *others = requests_of(strand.steps)
        is_answered = await self.say(begin, first)
        with suppress(UnboundReferenceError):
            for step in others:
                if not is_answered:
                    return
                is_answered = await self.say(step, await self.ready(step))

    async def ready(self, step: Send) -> ReadyRequest:
        """Encode a request for sending.

        Raises:
            UnboundReferenceError: no answer brought a value that it needs.
        """
        resolved: Mapping[str, FieldValue] = self._bindings.resolve_fields(step.fields)  # type: ignore[assignment] # a resolved request contains plain values only
        return await self.lines.ready(step.api, step.api_version, resolved, client_id=step.actor)

    async def say(self, step: Send, ready: ReadyRequest) -> bool:
        """Send a request and learn from its answer; return whether one came."""
        answer = await self.lines.say(ready, self.patience_ms)
        if answer is not None:
            index = self._indices[id(step)]
            self._bindings.learn(step=index, actor=step.actor, api=step.api, fields=answer)
        return answer is not None


PATIENCE_MS: Final = 2_000.0
_QUIET_MS: Final = 150.0
_LOOK_VERSION: Final = 9
_LOOKS: Final = "looks"
"""The client that asks for topics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """Runs rounds on one broker session."""

    lines: Lines
    prefix: str
    """The prefix of its groups' ids; no other run on that broker may use it."""
    placed: Callable[[str], str] = str
    """Returns an id that the connected broker coordinates."""
    patience_ms: float = PATIENCE_MS
    quiet_ms: float = _QUIET_MS
    """Rivals that are not answered within this time count as parked, and the look back begins."""

    async def run(self, cohorts: Iterable[RoundBatch]) -> None:
        """Run cohorts one after the other, the rounds of each at once.

        Raises:
            ConnectionLost: the broker accepts no connections any more.
        """
        # The recording has to show the topics.
        asked = ask.metadata(tuple(CONFORMANCE_TOPICS), version=_LOOK_VERSION)
        fields: Fields = asked.fields  # type: ignore[assignment] # it refers to nothing
        ready = await self.lines.ready(asked.api, asked.version, fields, client_id=_LOOKS)
        await self.lines.say(ready, self.patience_ms)
        for cohort in cohorts:
            await self._run_batch(cohort)

    async def _run_batch(self, cohort: RoundBatch) -> None:
        runners = [self._runner(each) for each in cohort.rounds]
        await asyncio.gather(*(each.run(each.round.before) for each in runners))
        fillers = [self._runner(cohort.filler, f"-filler-{each}") for each in range(cohort.filler_count)]
        for each in fillers:
            await each.run(each.round.before)
        racing = [asyncio.create_task(each) for each in await self._rivals(cohort, runners, fillers)]
        await asyncio.wait(racing, timeout=self.quiet_ms / 1000)
        await asyncio.gather(*(each.run(each.round.after) for each in runners))
        await asyncio.gather(*racing)

    def _runner(self, of: Round, suffix: str = "") -> RoundRunner:
        group_id = self.placed(f"{self.prefix}-{of.race}-{of.number}{suffix}")
        return RoundRunner(round=of, group_id=group_id, lines=self.lines, patience_ms=self.patience_ms)

    async def _rivals(
        self, cohort: RoundBatch, runners: Sequence[RoundRunner], fillers: Sequence[RoundRunner]
    ) -> list[Coroutine[object, object, None]]:
        """Return all rivals of a cohort, ready to be started at once."""
        ready: list[Coroutine[object, object, None]] = []
        shared: list[Strand] = []
        for runner in runners:
            for strand in runner.round.strands:
                if strand.is_shared:
                    shared.append(strand)
                    continue
                with suppress(UnboundReferenceError):
                    ready.append(runner.race(strand, await runner.ready(requests_of(strand.steps)[0])))
        if shared:
            chance = Random(cohort.shuffle_seed)  # noqa: S311 - what a seed decides is to be made again, not secret
            groups = [each.group_id for each in (*runners, *fillers)]
            chance.shuffle(groups)
            together = await self._together(chance.choice(shared), groups)
            # A long deletion must start before its rivals; a short one may start anywhere among them.
            place = 0 if fillers else chance.randrange(len(ready) + 1)
            ready.insert(place, together)
        return ready

    async def _together(self, strand: Strand, groups: Sequence[str]) -> Coroutine[object, object, None]:
        """Return the single DeleteGroups for the groups of all rounds and the fillers, ready to be sent."""
        (send,) = requests_of(strand.steps)
        fields: Fields = {"groups_names": list[FieldValue](groups)}
        ready = await self.lines.ready(send.api, send.api_version, fields, client_id=send.actor)

        async def race() -> None:
            if strand.delay_us:
                await asyncio.sleep(strand.delay_us / 1e6)
            await self.lines.say(ready, self.patience_ms)

        return race()
