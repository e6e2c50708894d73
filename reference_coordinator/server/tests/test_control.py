"""What befalls the brokers of a cluster is told by datagrams, each of which is answered."""

import socket
from collections.abc import Iterator

import pytest

from reference_coordinator.core.ids import Millis
from reference_coordinator.server.control import Control
from reference_coordinator.tests.wire_cluster import WireCluster

NOW = Millis(0)
TIMEOUT_S = 60


class Reported:
    """A cluster of three, and somebody who tells it things."""

    def __init__(self) -> None:
        self.cluster = WireCluster("4.4").cluster
        self._heard = socket.socket(type=socket.SOCK_DGRAM)
        self._heard.bind(("127.0.0.1", 0))
        self._telling = socket.socket(type=socket.SOCK_DGRAM)
        self._telling.settimeout(TIMEOUT_S)
        self._telling.connect(self._heard.getsockname())
        self._control = Control(self.cluster, self._heard, {})

    def tell(self, command: str) -> str:
        self._telling.send(command.encode())
        self._control.obey(now_ms=NOW)
        return self._telling.recv(1 << 16).decode()

    def close(self) -> None:
        self._heard.close()
        self._telling.close()


@pytest.fixture(name="reported")
def controlled_cluster() -> Iterator[Reported]:
    reported = Reported()
    try:
        yield reported
    finally:
        reported.close()


def test_each_command_is_answered_by_who_coordinates_and_who_is_up(reported: Reported) -> None:
    said = [
        reported.tell(command)
        for command in ("status", "move 3", "kill 3", "restart 3", "disconnect 1", "reconnect 1", "restart 1")
    ]

    assert said == [
        "ok 1 1,2,3",
        "ok 3 1,2,3",
        "ok 1 1,2",
        "ok 1 1,2,3",
        "ok 2 2,3",
        "ok 2 1,2,3",
        "ok 2 1,2,3",
    ]


def test_a_broker_that_stands_still_is_up(reported: Reported) -> None:
    assert reported.tell("pause 1") == "ok 1 1,2,3"
    assert reported.tell("resume 1") == "ok 1 1,2,3"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "error an action and a broker are needed"),
        ("kill", "error an action and a broker are needed"),
        ("kill 4", "error there is no broker 4"),
        ("kill them", "error there is no broker them"),
        ("praise 1", "error nobody knows how to 'praise 1'"),
        ("kill 1 softly", "error nobody knows how to 'kill 1 softly'"),
        ("restart 1 group.max.size", "error a restart takes NAME=VALUE"),
        ("restart 1 group.max.sizes=1", "error "),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    reported: Reported, command: str, said: str
) -> None:
    assert reported.tell(command).startswith(said)
    assert reported.tell("status") == "ok 1 1,2,3"


def test_what_is_down_is_not_killed_again(reported: Reported) -> None:
    reported.tell("kill 2")

    assert reported.tell("kill 2") == "error broker 2 is down"
    assert reported.tell("move 2") == "error broker 2 is down"


def test_a_restart_may_bring_another_configuration(reported: Reported) -> None:
    reported.tell("restart 2 group.max.size=1")

    assert reported.cluster.listener(2).apis.broker.config.group_max_size == 1
