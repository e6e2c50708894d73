"""Turns: who asks for little does not wait for all who ask for a lot."""

from reference_coordinator.broker.listener import ConnectionId
from reference_coordinator.server.streams import Stream
from reference_coordinator.server.turns import Turns

LONG_S = 1.0
SHORT_S = 0.001


def streams(count: int) -> list[Stream]:
    return [Stream(ConnectionId(each), each, request_max_bytes=1) for each in range(count)]


def handled(turns: Turns, *short: Stream) -> Stream:
    """Let the next have its turn, who asks for a lot unless it is named."""
    stream = turns.take()
    turns.handled(stream, took_s=SHORT_S if stream in short else LONG_S)
    return stream


def add(turns: Turns, *several: Stream) -> None:
    for each in several:
        turns.add(each)


def test_short_requests_are_handled_as_they_come() -> None:
    turns, several = Turns(), streams(3)
    for _ in range(2):
        add(turns, *several, several[0])
        assert [handled(turns, *several) for _ in several] == several
        assert not turns


def test_who_asks_for_little_waits_for_two_long_requests_at_most() -> None:
    turns, (healthy, *greedy) = Turns(), streams(17)
    add(turns, healthy)
    handled(turns, healthy)
    for _ in range(3):
        add(turns, *greedy, healthy)
        assert healthy in [handled(turns, healthy) for _ in range(3)]
        assert {handled(turns, healthy) for _ in range(14)} < set(greedy)
        assert not turns


def test_a_newcomer_waits_like_those_before_it() -> None:
    """Or else, who connects anew for each request would never wait."""
    turns, (healthy, greedy, *newcomers) = Turns(), streams(18)
    add(turns, healthy, greedy)
    handled(turns, healthy)
    handled(turns, healthy)
    add(turns, *newcomers, healthy)

    assert healthy in [handled(turns, healthy) for _ in range(2)]


def test_one_short_request_does_not_make_a_connection_pass_for_a_light_one() -> None:
    turns, (healthy, *greedy) = Turns(), streams(17)
    add(turns, healthy, *greedy)
    for _ in range(17):
        handled(turns, healthy)
    add(turns, *greedy)
    for _ in greedy:
        handled(turns, *greedy)
    add(turns, *greedy, healthy)

    assert healthy in [handled(turns, healthy) for _ in range(2)]


def test_long_requests_get_half_of_the_time_of_a_busy_server() -> None:
    turns, (greedy, *healthy) = Turns(), streams(3)
    add(turns, greedy, *healthy)
    spent_s = {greedy: 0.0, **dict.fromkeys(healthy, 0.0)}
    for _ in range(20_000):
        stream = handled(turns, *healthy)
        spent_s[stream] += LONG_S if stream is greedy else SHORT_S
        turns.add(stream)

    assert abs(spent_s[greedy] - sum(spent_s[each] for each in healthy)) <= 2 * LONG_S
