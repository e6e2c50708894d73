"""What a client of the benchmark says, and that it measures only a broker that answers as it should."""

from collections.abc import Generator

import pytest

from harness.bench.client import Load, carry
from harness.bench.frames import (
    CLIENT_ID,
    HEARTBEAT_VERSION,
    MEMBER_ID_REQUIRED,
    GroupFrames,
    Member,
    UnexpectedAnswerError,
    expect,
)
from harness.bench.in_process import InProcessBroker
from harness.bench.model import TrafficKind, Workload
from harness.bench.workloads import Tally, generators
from harness.wire.codec import Fields, encode_request

CYCLES = Workload(talk=TrafficKind.CYCLES, connections=2)
HEARTBEATS = Workload(talk=TrafficKind.HEARTBEATS, connections=1, in_flight=3)
WELL = (12).to_bytes(4, "big") + (1).to_bytes(4, "big") + bytes(8)
"""A heartbeat that went well: size, correlation id, no tags, throttle time, error code, no tags."""
MEMBER_ID = slice(-45, -3)
"""Where it stands in a LeaveGroup, before no instance id and thrice no tags."""


def exchange(broker: InProcessBroker, generator: Generator[bytes, bytes, None], requests: int) -> bytes:
    """Carry so many requests of a talk and their answers; return the next that it would send."""
    connection = broker.connect()
    request = next(generator)
    for _ in range(requests):
        broker.send(connection, request)
        while not (arrived := broker.receive()):
            pass
        request = generator.send(arrived[0][1])
    return request


def test_a_frame_with_its_blanks_filled_is_the_request_itself() -> None:
    member_id = f"{CLIENT_ID}-12345678-1234-1234-1234-123456789abc"
    fields: Fields = {"group_id": "g", "generation_id": 7, "member_id": member_id, "group_instance_id": None}
    member = Member(member_id=member_id.encode(), generation_id=(7).to_bytes(4, "big"))

    filled = GroupFrames("g").heartbeat(member)

    whole = encode_request(
        "Heartbeat", HEARTBEAT_VERSION, correlation_id=1, client_id=CLIENT_ID, fields=fields
    )
    assert filled == len(whole).to_bytes(4, "big") + whole


def test_an_answer_with_another_error_is_not_measured() -> None:
    answer = bytes(9) + MEMBER_ID_REQUIRED

    expect(answer, "JoinGroup", MEMBER_ID_REQUIRED)
    with pytest.raises(UnexpectedAnswerError, match="JoinGroup was answered with error 79"):
        expect(answer, "JoinGroup")


@pytest.mark.parametrize("profile", ["2.4", "3.9", "4.4"])
@pytest.mark.parametrize("workload", [CYCLES, HEARTBEATS], ids=str)
def test_the_reference_in_process_can_be_measured(workload: Workload, profile: str) -> None:
    load = Load(workload=workload, prefix="g", warm_up_s=0, measured_s=0, profile=profile)

    assert carry(load).elapsed_s > 0


def test_a_cycle_is_five_requests_and_begins_again() -> None:
    tally = Tally()
    generator, _ = generators(CYCLES, tally, prefix="g")

    next_request = exchange(InProcessBroker("4.4"), generator, 5)

    assert tally.answered == 5
    assert next_request == GroupFrames("g-0").first_join


def test_a_conversation_that_is_over_leaves_its_group() -> None:
    tally = Tally()
    (generator,) = generators(HEARTBEATS, tally, prefix="g")
    broker = InProcessBroker("4.4")
    exchange(broker, generator, 4)
    tally.is_over = True

    leave = generator.send(WELL * 3)

    assert leave == GroupFrames("g-0").leave(Member(member_id=leave[MEMBER_ID], generation_id=bytes(4)))


def test_as_many_heartbeats_are_in_flight_as_were_asked_for() -> None:
    tally = Tally()
    (generator,) = generators(HEARTBEATS, tally, prefix="g")
    burst = exchange(InProcessBroker("4.4"), generator, 4)
    one = len(burst) // 3

    assert burst == burst[:one] * 3
    assert generator.send(WELL * 2 + WELL[:5]) == burst[:one] * 2


def test_a_heartbeat_that_is_answered_differently_ends_the_measurement() -> None:
    (generator,) = generators(HEARTBEATS, Tally(), prefix="g")
    exchange(InProcessBroker("4.4"), generator, 4)
    answers = bytearray(WELL * 3)
    answers[-2] = 27

    with pytest.raises(UnexpectedAnswerError, match="answered differently"):
        generator.send(bytes(answers))
