"""Runs cohorts of rounds on a broker: set-ups one by one, rivals all at once, final checks one by one."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final

from harness.races.history import History, RacedExchange
from harness.races.plan import RoundBatch, requests_of
from harness.races.round_runner import Lines, RoundRunner, now_ms
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.script import Send
from harness.targets.base.interface import BrokerSession, Connection
from harness.targets.external.namespace import TopicNames
from harness.wire.codec import Fields, FieldValue, encode_request

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
