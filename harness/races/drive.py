"""Runs cohorts of rounds on a broker: set-ups one by one, rivals all at once, final checks one by one.

Requests are sent without waiting for other answers, and both are timed.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, NamedTuple

from harness.races.history import GROUP, History, RacedExchange, fields_from_json, in_order
from harness.races.plan import Round, RoundBatch, Strand, requests_of
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


PATIENCE_MS: Final = 2_000.0
_QUIET_MS: Final = 150.0
_FILLER_VERSION: Final = 7
_FILLER_CLIENT: Final = "filler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """Runs rounds on one broker session."""

    session: BrokerSession
    prefix: str
    """The prefix of its groups' ids; no other run on that broker may use it."""
    record: Callable[[History], None]
    """Called with each round's history as soon as it is over."""
    topics: TopicNames | None = None
    """The names of topics on an external broker."""
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
        lines = Lines(self.session, self.topics)
        for cohort in cohorts:
            for history in await self._run_batch(cohort, lines):
                self.record(history)

    async def _run_batch(self, cohort: RoundBatch, lines: Lines) -> tuple[History, ...]:
        conversations = [
            RoundRunner(
                round=each,
                group_id=self.placed(f"{self.prefix}-{each.race}-{each.number}"),
                lines=lines,
                patience_ms=self.patience_ms,
            )
            for each in cohort.rounds
        ]
        await asyncio.gather(*(conversation.run(conversation.round.before) for conversation in conversations))
        fillers = await self._fill(cohort, lines)
        racing = [
            asyncio.create_task(each) for each in await self._rivals(cohort, conversations, fillers, lines)
        ]
        await asyncio.wait(racing, timeout=self.quiet_ms / 1000)
        await asyncio.gather(*(conversation.run(conversation.round.after) for conversation in conversations))
        await asyncio.gather(*racing)
        return tuple(conversation.history() for conversation in conversations)

    async def _fill(self, cohort: RoundBatch, lines: Lines) -> tuple[str, ...]:
        """Create the groups that fill up a shared DeleteGroups; return their ids."""
        first = cohort.rounds[0]
        fillers = tuple(
            self.placed(f"{self.prefix}-{first.race}-{first.number}-filler-{each}")
            for each in range(cohort.filler_count)
        )
        line = await lines.take()
        for number, group_id in enumerate(fillers):
            await line.send(_commit(group_id, number, lines))
        for _ in fillers:
            await line.receive(timeout_ms=PATIENCE_MS)
        lines.give_back(line)
        return fillers

    async def _together(
        self,
        shared: Sequence[tuple[RoundRunner, Send, int]],
        fillers: tuple[str, ...],
        lines: Lines,
        chance: Random,
    ) -> "_Together":
        """Return the single request for the groups of all rounds and the fillers, ready to be sent."""
        parts = [(each, send, each.note(send, is_rival=True)) for each, send, _ in shared]
        groups = [*(each.group_id for each, _, _ in shared), *fillers]
        chance.shuffle(groups)
        _, example, delay_us = chance.choice(shared)
        frame = encode_request(
            example.api,
            example.api_version,
            correlation_id=0,
            client_id=example.actor,
            fields={"groups_names": groups},
        )
        line = await lines.take()
        return _Together(parts=parts, frame=frame, delay_us=delay_us, line=line, lines=lines)

    async def _rivals(
        self, cohort: RoundBatch, conversations: Sequence[RoundRunner], fillers: tuple[str, ...], lines: Lines
    ) -> list[Coroutine[object, object, None]]:
        """Return all rivals of a cohort, ready to be started at once."""
        ready: list[Coroutine[object, object, None]] = []
        shared: list[tuple[RoundRunner, Send, int]] = []
        for conversation in conversations:
            for strand in conversation.round.strands:
                send = requests_of(strand.steps)[0]
                if strand.is_shared:
                    shared.append((conversation, send, strand.delay_us))
                    continue
                with suppress(UnboundReferenceError):
                    first = await conversation.ready(send, is_rival=True)
                    ready.append(conversation.race(strand, first))
        if shared:
            chance = Random(cohort.shuffle_seed)  # noqa: S311 - what a seed decides is to be made again, not secret
            together = await self._together(shared, fillers, lines, chance)
            # A long deletion must start before its rivals; a short one may start anywhere among them.
            place = 0 if fillers else chance.randrange(len(ready) + 1)
            ready.insert(place, together.race(self.patience_ms))
        return ready


@dataclass(frozen=True, slots=True, kw_only=True)
class _Together:
    """One DeleteGroups that is an operation of many rounds: each gets the part about its group."""

    parts: Sequence[tuple[RoundRunner, Send, RacedExchange]]
    frame: bytes
    """The request, ready to be sent."""
    delay_us: int
    line: Connection
    lines: Lines

    async def race(self, patience_ms: float) -> None:
        """Send the request, await its answer, and give every round its part."""
        if self.delay_us:
            await asyncio.sleep(self.delay_us / 1e6)
        asked_ms = now_ms()
        for _, _, asked in self.parts:
            asked.asked_ms = asked_ms
        await self.line.send(self.frame)
        reported = await self.lines.answer(self.line, [asked for *_, asked in self.parts], patience_ms)
        if reported is None:
            return
        fields, answered_ms = reported
        for conversation, send, asked in self.parts:
            conversation.learn(send, asked, _concerning(fields, conversation.group_id), answered_ms)


def _commit(group_id: str, correlation_id: int, lines: Lines) -> bytes:
    partition: Fields = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    fields: Fields = {
        "group_id": group_id,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "topics": [{"name": "orders", "partitions": [partition]}],
    }
    return encode_request(
        "OffsetCommit",
        _FILLER_VERSION,
        correlation_id=correlation_id,
        client_id=_FILLER_CLIENT,
        fields=lines.outgoing(fields),
    )


def _concerning(fields: Fields, group_id: str) -> Fields:
    """Return an answer with only the entries about one group."""
    rows = fields["results"]
    assert isinstance(rows, Sequence)
    kept: list[FieldValue] = [
        row for row in rows if isinstance(row, Mapping) and row.get("group_id") == group_id
    ]
    return {**fields, "results": kept}
