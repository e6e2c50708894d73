"""Make conversations: each move is chosen by the state of a live reference.

The reference runs in virtual time while the conversation is made, so most requests are nearly right: a
past generation, another member's id, a commit while a group completes its rebalance, a wait that ends one
millisecond before a deadline.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final

from harness.scenario.errors import ScenarioError, UnboundReferenceError
from harness.scenario.script import ASIDE, MAIN, Script
from harness.search.actions import ACTIONS, KILLS, LENGTHENS, LOADS_WITH_OTHERS, MOVES, RELOADS, RESTARTS
from harness.search.beginning import beginning
from harness.search.by_field import usual_version
from harness.search.coverage import NO_GROUP
from harness.search.learnt import Learnt
from harness.search.made import Made
from harness.search.moves import (
    GROUPS,
    OTHER_GROUP,
    Act,
    Ask,
    Draft,
    GroupType,
    HangUp,
    Hear,
    Move,
    Speaker,
    Stay,
    Wait,
    draft_script,
    joined,
)
from harness.search.openings import (
    OPENING,
    shares_looked_at,
)
from harness.search.plan import planned
from harness.search.request_table import (
    DESCRIBES,
    NEXT_IN_TRANSACTION,
    NEXT_WITH_RECORDS,
    OF_NAMED_GROUPS,
    REQUESTS,
    chosen_api,
    is_unsettled,
)
from harness.search.sides import LiveRun, Side
from harness.search.situation import Membership, Situation
from harness.search.tempo import VIRTUAL, Tempo
from harness.search.theme import Theme
from harness.search.variation import is_fit_for_brokers, varied_request
from harness.wire.errors import WireError

Favour = Callable[[str, str], float]
_TRIES: Final = 200
_LOOKS: Final = 2
_FOLLOWS_SHARE: Final = 0.6
_VARIED_SHARE: Final = 0.05
_RECORDS_SHARE: Final = 0.5
_RESTARTS_AT: Final = (8, 30)
"""The least and the most steps before a restart."""
_WAITED_BEFORE_MS: Final = 600
_LOST: Final = "NOT_COORDINATOR"
"""The error code for groups of a partition that could not be loaded."""
_NAMELESS: Final = (GroupType.CLASSIC, Membership.OUTSIDE)


class Maker:
    """Makes one conversation."""

    def __init__(
        self,
        seed: str,
        versions: Mapping[str, Sequence[int]],
        tempo: Tempo = VIRTUAL,
        config: Mapping[str, str] | None = None,
        begins: Sequence[Move] = (),
        favour: Favour = lambda _state, _api: 1.0,
    ) -> None:
        """Prepare to make a conversation.

        Args:
            seed: the seed of all random choices.
            versions: the versions that both sides serve, by API.
            tempo: how long things may take.
            config: the broker configuration; chosen at random if None.
            begins: moves of another conversation, which this one continues.
            favour: returns the weight of a request in a state of the group; 1 is usual.
        """
        self._rng = Random(seed)  # noqa: S311 - repeatable randomness, not a secret
        self._plan = planned(self._rng, versions, tempo, config, begins)
        self._versions, self._cast = self._plan.versions, self._plan.cast
        self._served = versions
        self._tempo = tempo
        self._begins = begins
        self._favour = favour
        self._learnt = Learnt([each.name for each in self._cast])
        self._asked_in: dict[tuple[str, bool], str] = {}
        """The state in which a request was sent, by who awaits its answer."""
        self._draft = Draft()
        self._moves: list[Move] = []
        self._open: list[tuple[str, bool]] = []
        """Actors that await an answer, and whether on the connection aside."""
        self._restarts_at = self._rng.randint(*_RESTARTS_AT) if tempo.restarts else None
        """The number of steps after which the coordinator is restarted; None if it is not, or was already."""
        self._costs_the_log = False
        self._lag_ms = 0.0
        """How far virtual time lags behind the time that the same steps will take on a broker."""

    async def make(self, side: Side, *, script_id: str, steps_max: int) -> Made:
        """Make a conversation of about `steps_max` steps on a reference."""
        live = await side.begin(self._script(script_id), notes_answers=self._tempo.shares_broker)
        has_failed = False
        try:
            for move in beginning(self._rng, self._plan, self._served, self._tempo, self._begins):
                await self._take_again(live, move)
            if not (self._begins or self._tempo.shares_broker):
                # What has been prepared is to be used as often as elsewhere.
                steps_max += len(self._draft.conversation.steps)
            for _ in range(_TRIES):
                if len(self._draft.conversation.steps) >= steps_max or self._is_over(live):
                    break
                await self._move(live)
            if self._restarts_at is not None:
                await self._restart(live)
            await self._hear_the_rest(live)
            await self._look_on(live)
            await live.session.close()
        except Exception:  # noqa: BLE001 - failures of a reference are searched for
            has_failed = True
        return Made(
            moves=tuple(self._moves),
            script=self._script(script_id),
            tape=tuple(live.tape),
            answers=tuple(live.answers),
            has_failed=has_failed,
            costs_the_log=self._costs_the_log,
            reached=self._learnt.reached,
        )

    async def _take_again(self, live: LiveRun, move: Move) -> None:
        """Repeat a move of another conversation; leave it out if it is not possible here."""
        if not self._is_possible(move):
            return
        if not isinstance(move, Wait):
            await self._settle(live)
        if not isinstance(move, Ask) or move.is_repeated:
            await self._take(live, move)
            return
        await self._take(live, replace(move, is_answered=False))
        if move.is_answered and (move.actor, move.is_aside) in self._open:
            await self._take(live, Hear(actor=move.actor, is_aside=move.is_aside))

    def _is_possible(self, move: Move) -> bool:
        """Return whether a move of another conversation, perhaps from other sides, can be made here."""
        match move:
            case Hear(actor=name, is_aside=is_aside) | Stay(actor=name, is_aside=is_aside):
                return (name, is_aside) in self._open
            case Ask(actor=name, is_aside=is_aside):
                version = move.arguments.get("version", usual_version(move.api))
                served = self._served if move.api in OPENING else self._versions
                is_served = version in served.get(move.api, ())
                return is_served and (name, is_aside) not in self._open
            case Act() | HangUp():
                return not self._tempo.shares_broker
            case Wait():
                return True

    def _script(self, script_id: str) -> Script:
        return draft_script(self._draft, script_id=script_id, broker_config=self._plan.config)

    def _is_over(self, live: LiveRun) -> bool:
        longest_ms = self._tempo.longest_ms
        return longest_ms is not None and live.session.now_ms() > longest_ms

    async def _hear_the_rest(self, live: LiveRun) -> None:
        """Receive the answers that are still awaited; in real time, only those that have already come."""
        waits = self._tempo.longest_ms is None
        while due := [each for each in self._open if waits or self._has_come(live, each)]:
            await self._take(live, Hear(actor=due[0][0], is_aside=due[0][1]))

    async def _look_on(self, live: LiveRun) -> None:
        """Let time pass in silence and have the group described: what ends then showed in no answer yet."""
        api, name = DESCRIBES[self._cast[-1].group_type], self._cast[0].name
        arguments = {"version": self._versions.get(api, (0,))[-1]}
        for _ in range(0 if self._tempo.shares_broker or api not in self._versions else _LOOKS):
            await self._take(live, Wait(duration_ms=self._wait_ms(live)))
            await self._take(live, Ask(actor=name, api=api, arguments=arguments, is_answered=False))
            if self._plan.theme is Theme.EXPIRY:
                await self._take(live, Ask(actor=name, api="OffsetFetch", arguments={}, is_answered=False))
        if self._cast[-1].group_type is GroupType.SHARE and not self._tempo.shares_broker:
            for ask in shares_looked_at(name, self._versions):
                await self._take(live, ask)

    def _has_come(self, live: LiveRun, awaited: tuple[str, bool]) -> bool:
        return live.has_answer(awaited[0], _connection(awaited[1]))

    async def _settle(self, live: LiveRun) -> None:
        if self._tempo.settles_ms and is_unsettled(self._moves, self._tempo.settles_ms):
            await self._take(live, Wait(duration_ms=self._tempo.settles_ms))

    async def _restart(self, live: LiveRun) -> None:
        """Have the coordinator restarted, and wait until it serves."""
        self._restarts_at = None
        for move in restart_of_all(self._rng, self._cast[0].name, appends=self._tempo.appends):
            await self._take(live, move)
            if live.heard is not None and live.heard.fields.get("error_code") == _LOST:
                self._costs_the_log = True

    def _restarts_now(self) -> bool:
        """Return whether it is time; all conversations wait about equally long before a restart."""
        if self._restarts_at is None:
            return False
        waited_ms = sum(
            each.duration_ms if isinstance(each, Wait) else each.for_ms
            for each in self._moves
            if isinstance(each, Wait | Stay)
        )
        return len(self._draft.conversation.steps) >= self._restarts_at or waited_ms >= _WAITED_BEFORE_MS

    async def _move(self, live: LiveRun) -> None:
        await self._settle(live)
        if self._restarts_now():
            await self._restart(live)
            return
        deadline = live.session.next_deadline_ms
        margin_ms = self._tempo.margin_ms
        if margin_ms and deadline is not None:
            left_ms = deadline - live.session.now_ms()
            if left_ms < margin_ms + self._lag_ms:
                # A broker might reach its deadline either before or after the next move.
                await self._take(live, Wait(duration_ms=int(left_ms) + margin_ms))
                return
        arrived = [each for each in self._open if self._has_come(live, each)]
        if arrived and self._rng.random() < 0.8:
            name, is_aside = arrived[0]
            await self._take(live, Hear(actor=name, is_aside=is_aside))
        elif self._open and self._rng.random() < 0.15:
            name, is_aside = self._rng.choice(self._open)
            await self._take(
                live, Stay(actor=name, is_aside=is_aside, for_ms=self._rng.choice(self._tempo.stays_ms))
            )
        elif not self._tempo.shares_broker and acts_next(self._rng, self._moves):
            await self._take(live, next_action(self._rng, self._moves, self._cast, self._plan.config))
        elif self._moves and self._rng.random() < 0.1:
            await self._take(live, Wait(duration_ms=self._wait_ms(live)))
        else:
            await self._ask(live)

    def _wait_ms(self, live: LiveRun) -> int:
        """Choose how long to wait: up to the next deadline, a little less or more, or any time."""
        tempo, deadline = self._tempo, live.session.next_deadline_ms
        if deadline is None or self._rng.random() < 0.3:
            return self._rng.choice(tempo.waits_ms)
        left_ms = int(deadline - live.session.now_ms()) + self._rng.choice(tempo.beside_deadline_ms)
        if tempo.longest_ms is not None and left_ms > tempo.longest_wait_ms:
            return self._rng.choice(tempo.waits_ms)
        return min(max(left_ms, 1), tempo.longest_wait_ms)

    async def _ask(self, live: LiveRun) -> None:
        speaker = self._rng.choice(self._cast)
        if speaker.name in self._learnt.left_behind and self._rng.random() < _FOLLOWS_SHARE:
            await self._take(live, HangUp(actor=speaker.name))
        waiting = [is_aside for name, is_aside in self._open if name == speaker.name]
        if len(waiting) > 1 or True in waiting:
            return
        group = _group_of_all(live)
        situation = Situation(
            rng=self._rng,
            speaker=speaker,
            membership=self._learnt.memberships[speaker.name],
            is_leader=speaker.name in self._learnt.leaders,
            others=[each for each in self._cast if each != speaker],
            named=[each for each in self._cast if self._is_named(each)],
            versions=self._versions,
            tempo=self._tempo,
            theme=self._plan.theme,
            next_in_transaction=self._next_in_transaction(speaker),
            session_epoch=self._learnt.session_epochs[speaker.name],
            acquired=self._learnt.acquired.get(speaker.name, ()),
            state=None if group is None else group[1],
            favour=partial(self._favour, " ".join(group or (NO_GROUP,))),
        )
        api = chosen_api(situation)
        REQUESTS[api].choose(situation)
        situation.keeps_to_version(api)
        self._learnt.note_request(speaker.name, api, situation.arguments)
        concerns_others = self._tempo.shares_broker and api not in OF_NAMED_GROUPS
        if not concerns_others and self._rng.random() < _VARIED_SHARE:
            varied = varied_request(api, situation.arguments, self._rng, situation.other_groups)
            if is_fit_for_brokers(varied) or not self._tempo.shares_broker:
                situation.arguments = varied
        await self._take(
            live,
            Ask(
                actor=speaker.name,
                api=api,
                arguments=situation.arguments,
                is_aside=bool(waiting),
                is_answered=False,
            ),
        )

    def _next_in_transaction(self, speaker: Speaker) -> str | None:
        """Return the next request in an actor's transaction, of offsets or of records; or None."""
        last = self._learnt.producers.get(speaker.name, "")
        has_records = self._plan.theme is Theme.TRANSACTIONS and (
            speaker.group_type is GroupType.SHARE or self._rng.random() < _RECORDS_SHARE
        )
        with_records = NEXT_WITH_RECORDS.get(last) if has_records else None
        return with_records or NEXT_IN_TRANSACTION.get(last)

    def _is_named(self, speaker: Speaker) -> bool:
        return (speaker.group_type, self._learnt.memberships[speaker.name]) != _NAMELESS

    async def _take(self, live: LiveRun, move: Move) -> None:
        """Add a move to the script and run it; leave it out if it is invalid or needs an unknown value."""
        steps = self._draft.conversation.steps
        before = len(steps)
        state = " ".join(_group_of_all(live) or (NO_GROUP,)) if isinstance(move, Ask) else NO_GROUP
        self._moves.append(move)
        try:
            self._draft.take(move)
            for step in steps[before:]:
                await live.take(step, tuple(self._draft.conversation.sheets.values()))
        except (ScenarioError, UnboundReferenceError, WireError):
            del steps[before:]
            del self._moves[-1]
            return
        self._lag_ms += self._tempo.step_lag_ms
        await self._took(live, move, state)

    async def _took(self, live: LiveRun, move: Move, state: str) -> None:
        """Note what a move has led to; receive an answer that comes at once."""
        match move:
            case Ask(actor=name, is_repeated=True):
                self._learnt.note_answer(name, live.heard, state, len(self._moves))
            case Ask(actor=name, is_aside=is_aside):
                self._open.append((name, is_aside))
                self._asked_in[name, is_aside] = state
                if live.has_answer(name, _connection(is_aside)):
                    await self._take(live, Hear(actor=name, is_aside=is_aside))
                else:
                    self._lag_ms += self._tempo.parked_lag_ms
            case Hear(actor=name, is_aside=is_aside):
                self._open.remove((name, is_aside))
                self._moves[-2:] = joined(self._moves[-2:])
                state = self._asked_in[name, is_aside]
                self._learnt.note_answer(name, live.heard, state, len(self._moves))
            case Act():
                self._open.clear()
                self._learnt.note_cut(move)
            case HangUp(actor=name, is_aside=is_aside):
                self._open = [each for each in self._open if each != (name, is_aside)]
                self._learnt.note_cut(move)
            case _:
                pass


def _group_of_all(live: LiveRun) -> tuple[str, str] | None:
    return live.session.group_in(live.interpreter.bindings.groups[GROUPS[0]])


def _connection(is_aside: bool) -> str:  # noqa: FBT001 - the value of a move's field
    return ASIDE if is_aside else MAIN


_ACTS_SHARE: Final = 0.04
_RELOADS_SHARE: Final = 0.3
_HANGS_UP_SHARE: Final = 0.3
_FETCHES_ONE_GROUP: Final = 5
"""A version of OffsetFetch with an error code for the whole answer, which all releases serve."""
_KILLS_MAX: Final = 2
"""From then on, one broker of three is left."""


def acts_next(rng: Random, moves: Sequence[Move]) -> bool:
    """Choose whether something is done next: what was written into a log matters when it is loaded."""
    return bool(moves) and rng.random() < (_RELOADS_SHARE if _has_written(moves) else _ACTS_SHARE)


def next_action(
    rng: Random, moves: Sequence[Move], cast: Sequence[Speaker], config: Mapping[str, str]
) -> Act | HangUp:
    """Choose what is done."""
    # A killed broker stays away while there are others, and nobody moves to the last one.
    killed = sum(isinstance(each, Act) and each.action == KILLS for each in moves)
    left_out = {MOVES} if killed >= _KILLS_MAX else set()
    if _has_written(moves):
        return Act(action=rng.choice([each for each in RELOADS if each not in left_out]))
    if rng.random() < _HANGS_UP_SHARE:
        return HangUp(actor=rng.choice(cast).name)
    # No room is left for a long log where messages have to be short.
    if "message.max.bytes" in config:
        left_out.add(LENGTHENS)
    return Act(action=rng.choice([each for each in ACTIONS if each not in left_out]))


def restart_of_all(rng: Random, name: str, *, appends: bool) -> Iterator[Move]:
    """Yield a restart for all conversations on a broker, and what waits until their groups are loaded.

    Args:
        rng: makes the random choices.
        name: the actor who waits.
        appends: whether each conversation appends a record to the log before.
    """
    if appends:
        yield Act(action=rng.choice(LOADS_WITH_OTHERS))
    yield Act(action=RESTARTS)
    for other in ({}, {"group_id": OTHER_GROUP}):
        arguments = {"version": _FETCHES_ONE_GROUP, **other}
        yield Ask(actor=name, api="OffsetFetch", arguments=arguments, is_repeated=True)


def _has_written(moves: Sequence[Move]) -> bool:
    last = moves[-1]
    return isinstance(last, Act) and last.action not in RELOADS
