import asyncio
import json
from collections.abc import Callable
from contextlib import nullcontext
from math import inf

import pytest

from harness.apis.descriptor import CLIENT_WAITS_MS
from harness.runner.tests.test_drive import MemoryBroker
from harness.runner.witness import Watch, Witness
from harness.scenario import Conversation, ask, expect, record, scenario
from harness.scenario.script import Script
from harness.targets.base.interface import Capability, Connection, Frame, NoAnswer, Role
from harness.tests.stages import CLOSE, MemoryConnection, MemorySession, Responder, interpreted
from harness.trace.events import Event, EventKind
from harness.wire.codec import Fields, encode_response
from harness.wire.errors import WireError


def script_of(function: Callable[[Conversation], None], *, needs: tuple[Capability, ...] = ()) -> Script:
    stated = scenario("classic/test/one", source="GroupMetadataManager#x", needs=needs)
    return record(stated(function))


class SettlingSession(MemorySession):
    """A broker session on which, as over a network, things take a while."""

    @property
    def settle_ms(self) -> float:
        return 100


def run(
    script: Script,
    responder: Responder,
    *,
    failure: str | None = None,
    failed_at_ms: float = 0,
    session_type: type[MemorySession] = MemorySession,
    kept_ms: Callable[[float], float] | None = None,
) -> list[Event]:
    """Run a script on a broker session that answers by a function, and return what was recorded."""
    session = session_type(responder)
    witness = None if kept_ms is None else witness_of(session, kept_ms)

    def reason() -> str | None:
        return failure if session.now_ms() >= failed_at_ms else None

    given = {"broker_failure": reason, "witness": witness, "late": lambda: nullcontext(inf)}
    return asyncio.run(interpreted(script, session, {"main": "g"}, **given))


def witness_of(session: MemorySession, kept_ms: Callable[[float], float]) -> Witness:
    """Return a witness of a broker that was kept from running so long in all at a time of the session's."""

    class Kept(Watch):
        def broker_kept_ms(self) -> float:
            return kept_ms(session.now_ms())

        def flush(self) -> None:
            pass

    return Witness(watch=Kept(broker=MemoryBroker({}, lambda _: None), since_s=0.0), now_ms=session.now_ms)


HEARTBEAT_NONE = "00000000 0000 00"


def answer(request: bytes, body: str = HEARTBEAT_NONE, *, correlation_id: bytes | None = None) -> bytes:
    """Answer with a flexible body given in hexadecimal digits."""
    return (correlation_id or request[4:8]) + b"\0" + bytes.fromhex(body)


def two_heartbeats(conversation: Conversation) -> None:
    """Two heartbeats are answered in turn."""
    ana = conversation.actor("ana")
    for generation_id in (1, 2):
        ana.sends(ask.heartbeat(member_id="m", generation_id=generation_id))
        ana.receives(expect.heartbeat(error_code="NONE"), within_ms=100)


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


@pytest.mark.parametrize(
    ("body", "kind", "note"),
    [
        ("00000000 03e5 00", EventKind.RESPONSE, None),
        ("00000000 0000 01 05 02 6162", EventKind.MALFORMED, "tag"),
        ("00000000 0000 00 ff", EventKind.MALFORMED, "left over"),
        ("00000000 00", EventKind.MALFORMED, "not a Heartbeat v4"),
    ],
    ids=["unknown-error-code", "unknown-tagged-field", "trailing-bytes", "missing-bytes"],
)
def test_strange_bytes_are_recorded_and_the_conversation_goes_on(
    body: str, kind: EventKind, note: str | None
) -> None:
    events = run(script_of(two_heartbeats), lambda request: answer(request, body))
    assert kinds(events) == [EventKind.REQUEST, kind, EventKind.REQUEST, kind]
    assert events[1].raw is not None
    assert events[1].raw.endswith(body.replace(" ", ""))
    assert (note or "") in (events[1].note or "")


def test_a_wrong_correlation_id_is_unsolicited_and_the_answer_is_still_awaited() -> None:
    wrong = (999).to_bytes(4, "big")
    events = run(script_of(two_heartbeats), lambda request: answer(request, correlation_id=wrong))
    assert kinds(events)[:3] == [EventKind.REQUEST, EventKind.UNSOLICITED, EventKind.NO_ANSWER]
    assert "999" in (events[1].note or "")


def test_two_bytes_are_taken_for_the_answer_to_the_oldest_request() -> None:
    events = run(script_of(two_heartbeats), lambda _: b"\0\0")
    assert kinds(events) == [EventKind.REQUEST, EventKind.MALFORMED] * 2


def test_an_answer_is_awaited_as_long_as_a_client_would_until_one_never_came() -> None:
    events = run(script_of(two_heartbeats), lambda _: None)
    assert kinds(events) == [EventKind.REQUEST, EventKind.NO_ANSWER] * 2
    assert [events[each].elapsed_ms for each in (1, 3)] == [CLIENT_WAITS_MS, 100]


def late_session(late_ms: float) -> type[MemorySession]:
    """Return a kind of session on whose clock the first answer comes so long after its request."""
    state = {"due_ms": late_ms}

    class LateConnection(MemoryConnection):
        async def receive(self, *, timeout_ms: float) -> Frame:
            left_ms = state["due_ms"] - self.session.clock_ms
            if left_ms > timeout_ms:
                self.session.clock_ms += timeout_ms
                raise NoAnswer
            self.session.clock_ms += max(0.0, left_ms)
            state["due_ms"] = 0.0
            return await MemoryConnection.receive(self, timeout_ms=timeout_ms)

    class LateSession(MemorySession):
        async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
            return LateConnection(self)

    return LateSession


def test_a_late_answer_is_read_as_what_it_is_and_the_conversation_goes_on() -> None:
    events = run(script_of(two_heartbeats), answer, session_type=late_session(15_000))
    assert kinds(events) == [EventKind.REQUEST, EventKind.RESPONSE] * 2
    assert [(event.elapsed_ms, event.note) for event in events if event.kind == EventKind.RESPONSE] == [
        (15_000, "late: clients wait 30 s"),
        (0, None),
    ]


def test_a_frame_that_stops_within_is_not_awaited_as_long_as_one_that_has_not_begun() -> None:
    class StoppingConnection(MemoryConnection):
        @property
        def is_within_frame(self) -> bool:
            return True

    class StoppingSession(MemorySession):
        async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
            return StoppingConnection(self)

    events = run(script_of(two_heartbeats), lambda _: None, session_type=StoppingSession)
    assert kinds(events) == [EventKind.REQUEST, EventKind.NO_ANSWER] * 2
    assert [events[each].elapsed_ms for each in (1, 3)] == [5_100, 100]


@pytest.mark.parametrize(("version", "waits_ms"), [(0, 45_000), (6, 65_000)])
def test_a_join_is_awaited_for_its_rebalance_or_session_timeout_and_a_lapse(
    version: int, waits_ms: int
) -> None:
    def joins(conversation: Conversation) -> None:
        """A join is answered."""
        ana = conversation.actor("ana")
        if version:
            ana.sends(ask.join_group(version=version, session_timeout_ms=40_000, rebalance_timeout_ms=60_000))
        else:
            ana.sends(ask.join_group(version=version, session_timeout_ms=40_000))
        ana.receives(expect.join_group(error_code="NONE"))

    assert run(script_of(joins), lambda _: None)[-1].elapsed_ms == waits_ms


def test_an_answer_that_may_be_missing_is_not_awaited_longer_than_the_script_says() -> None:
    def may_hear(conversation: Conversation) -> None:
        """A heartbeat may be answered."""
        ana = conversation.actor("ana")
        ana.sends(ask.heartbeat(member_id="m", generation_id=1))
        ana.may_receive(expect.heartbeat(error_code="NONE"), within_ms=100)

    assert run(script_of(may_hear), lambda _: None)[-1].elapsed_ms == 100


def test_a_close_that_was_awaited_is_none_if_the_broker_ended() -> None:
    def is_closed(conversation: Conversation) -> None:
        """The broker closes the connection."""
        ana = conversation.actor("ana")
        ana.sends(ask.heartbeat(member_id="m", generation_id=1))
        ana.finds_connection_closed()

    well = run(script_of(is_closed), lambda _: CLOSE)
    assert kinds(well) == [EventKind.REQUEST, EventKind.CLOSED]
    gone = run(
        script_of(is_closed),
        lambda _: CLOSE,
        failure="connection refused",
        failed_at_ms=50,
        session_type=SettlingSession,
    )
    assert kinds(gone) == [EventKind.REQUEST, EventKind.CLOSED, EventKind.ABANDONED]
    assert gone[-1].note == "target lost: connection refused"


def test_a_closed_connection_is_recorded_and_the_next_request_opens_another() -> None:
    answers = iter([CLOSE, None])
    events = run(script_of(two_heartbeats), lambda request: next(answers) or answer(request))
    assert kinds(events) == [EventKind.REQUEST, EventKind.CLOSED, EventKind.REQUEST, EventKind.RESPONSE]


@pytest.mark.parametrize(
    ("failed_at_ms", "session_type"),
    [(0, MemorySession), (50, SettlingSession)],
    ids=["at once", "only after its connections closed"],
)
def test_a_target_that_is_seen_to_be_lost_ends_the_conversation_and_says_how(
    failed_at_ms: float, session_type: type[MemorySession]
) -> None:
    events = run(
        script_of(two_heartbeats),
        lambda _: CLOSE,
        failure="exit status 137",
        failed_at_ms=failed_at_ms,
        session_type=session_type,
    )
    assert kinds(events) == [EventKind.REQUEST, EventKind.CLOSED, EventKind.ABANDONED]
    assert events[-1].note == "target lost: exit status 137"


@pytest.mark.parametrize(
    ("kept_ms", "sent_ms"),
    [
        (lambda _: 0.0, 100),
        (lambda ms: min(ms, 250), 350),
        (lambda ms: ms * 0.05, 100),
        (lambda ms: ms, 2000),
    ],
    ids=["quiet", "a pause", "hardly", "never runs"],
)
def test_a_broker_that_is_kept_from_running_gets_longer_to_take_in_what_others_follow(
    kept_ms: Callable[[float], float], sent_ms: float
) -> None:
    def two(conversation: Conversation) -> None:
        """Bob heartbeats while ana waits for her answer."""
        ana, bob = conversation.actor("ana"), conversation.actor("bob")
        ana.sends(ask.heartbeat(generation_id=1, member_id="a"))
        bob.sends(ask.heartbeat(generation_id=1, member_id="b"))
        bob.receives(expect.heartbeat(error_code="NONE"))
        ana.receives(expect.heartbeat(error_code="NONE"))

    events = run(script_of(two), answer, session_type=SettlingSession, kept_ms=kept_ms)
    times_ms = [each.at_ms for each in events if each.kind == EventKind.REQUEST]
    assert times_ms[1] == pytest.approx(sent_ms, abs=50)


def test_a_value_that_never_came_ends_the_conversation() -> None:
    def joins(conversation: Conversation) -> None:
        """A heartbeat needs the member id that a join brings."""
        ana = conversation.actor("ana")
        ana.sends(ask.join_group())
        ana.receives(expect.join_group(error_code="NONE"), within_ms=10)
        ana.sends(ask.heartbeat())
        ana.receives(expect.heartbeat(error_code="NONE"))

    events = run(script_of(joins), lambda _: None)
    assert kinds(events) == [EventKind.REQUEST, EventKind.NO_ANSWER, EventKind.ABANDONED]
    assert events[-1].note == "no answer brought ana.generation_id"


def test_a_value_that_no_request_can_carry_ends_the_conversation() -> None:
    def goes_on_from(conversation: Conversation) -> None:
        """A heartbeat states the generation after that of a join."""
        ana = conversation.actor("ana")
        ana.asks(ask.join_group(member_id="m"), error_code="NONE")
        ana.sends(ask.heartbeat(member_id="m", generation_id=ana.generation_id + 1))
        ana.receives(expect.heartbeat(error_code="NONE"))

    def joined(request: bytes) -> bytes:
        fields: Fields = {"error_code": "NONE", "generation_id": 2**31 - 1, "member_id": "m"}
        return encode_response("JoinGroup", 6, correlation_id=int.from_bytes(request[4:8]), fields=fields)

    events = run(script_of(goes_on_from), joined)
    assert kinds(events) == [EventKind.REQUEST, EventKind.RESPONSE, EventKind.ABANDONED]
    assert (events[-1].note or "").startswith("what an answer brought cannot be asked with: Heartbeat v4")


def test_a_value_that_a_script_itself_states_is_no_fault_of_an_answer() -> None:
    def asks(conversation: Conversation) -> None:
        """A heartbeat states a generation that there is none of."""
        conversation.actor("ana").asks(ask.heartbeat(member_id="m", generation_id=2**31), error_code="NONE")

    with pytest.raises(WireError):
        run(script_of(asks), answer)


def test_an_answer_that_comes_while_parked_is_recorded_there_and_given_to_who_awaits_it() -> None:
    def parks(conversation: Conversation) -> None:
        """A request that was to stay parked is answered."""
        ana = conversation.actor("ana")
        ana.sends(ask.heartbeat(member_id="m", generation_id=1))
        ana.stays_parked(for_ms=50)
        ana.receives(expect.heartbeat(error_code="NONE"), within_ms=50)

    answered = run(script_of(parks), answer)
    assert kinds(answered) == [EventKind.REQUEST, EventKind.RESPONSE, EventKind.RESPONSE]
    silent = run(script_of(parks), lambda _: None)
    assert kinds(silent) == [EventKind.REQUEST, EventKind.SILENCE, EventKind.NO_ANSWER]


def test_a_poll_ends_with_the_first_satisfying_answer_or_with_its_time() -> None:
    def polls(conversation: Conversation) -> None:
        """A heartbeat is repeated until a rebalance shows."""
        ana = conversation.actor("ana")
        ana.repeats(
            ask.heartbeat(member_id="m", generation_id=1),
            until=expect.heartbeat(error_code="REBALANCE_IN_PROGRESS"),
            within_ms=200,
            every_ms=50,
        )

    bodies = iter([HEARTBEAT_NONE, HEARTBEAT_NONE, "00000000 001b 00"])
    events = run(script_of(polls), lambda request: answer(request, next(bodies)))
    assert kinds(events).count(EventKind.POLL) == 2
    assert json.loads(events[-1].fields or "")["error_code"] == "REBALANCE_IN_PROGRESS"

    in_vain = run(script_of(polls), answer)
    assert in_vain[-1].kind == EventKind.RESPONSE
    assert kinds(in_vain).count(EventKind.POLL) == 4


def test_the_same_answers_give_the_same_events() -> None:
    assert run(script_of(two_heartbeats), answer) == run(script_of(two_heartbeats), answer)


def answered_while_it_shuts_down(conversation: Conversation) -> None:
    """What a broker answers before it ends is received after it; then the actor connects anew."""
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(member_id="m", generation_id=1))
    conversation.restarts_coordinator()
    ana.receives(expect.heartbeat(error_code="NONE"), within_ms=100)
    ana.sends(ask.heartbeat(member_id="m", generation_id=2))
    ana.receives(expect.heartbeat(error_code="NONE"), within_ms=100)


def test_an_answer_from_before_a_restart_is_received_and_its_connection_dropped() -> None:
    opened: list[MemoryConnection] = []

    class CountingSession(MemorySession):
        """A broker session that keeps its connections."""

        async def connect(self, role: Role = Role.COORDINATOR, *, principal: str | None = None) -> Connection:
            opened.append(MemoryConnection(self))
            return opened[-1]

    script = script_of(answered_while_it_shuts_down, needs=(Capability.RESTART,))
    events = run(script, answer, session_type=CountingSession)

    assert kinds(events) == ["request", "control", "response", "request", "response"]
    assert [each.lost for each in opened] == ["closed by the actor", None]
