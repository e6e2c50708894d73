"""Broker actions on the brokers of a cluster, commanded from outside: a datagram in, a datagram out.

    restart NODE [NAME=VALUE …] | kill NODE | move NODE | pause NODE | resume NODE | disconnect NODE
    | reconnect NODE | status

The answer to each is `ok COORDINATOR UP`, e.g. `ok 1 1,2,3`, with the broker that coordinates groups, `-` for
none, and those that are up, or `error WHY`. The action is done when the answer is sent; messages to clients
follow.
"""

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from reference_coordinator.broker.cluster import Cluster
from reference_coordinator.broker.listener import Outgoing
from reference_coordinator.core.ids import Millis
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.properties import ConfigError

_DATAGRAM_BYTES_MAX: Final = 65_536
_NOTHING: Final[tuple[Outgoing, ...]] = ()


class CommandError(Exception):
    """A command is invalid, or impossible in the current state; the message says why."""


@dataclass(slots=True)
class Control:
    """Executes commands on a cluster, whose brokers must all be up at first."""

    cluster: Cluster
    socket: socket.socket
    """The socket for datagrams."""
    properties: dict[str, str]
    """The properties with which brokers are configured."""
    _node_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self._node_ids = self.cluster.node_ids_up

    def obey(self, *, now_ms: Millis) -> tuple[Outgoing, ...]:
        """Receive one command, execute it and answer it."""
        content, sender = self.socket.recvfrom(_DATAGRAM_BYTES_MAX)
        outgoing = _NOTHING
        try:
            outgoing = self._carry_out(content.decode(errors="replace").split(), now_ms=now_ms)
            answer = self._status()
        except (CommandError, ConfigError) as error:
            answer = f"error {error}"
        with suppress(OSError):  # if the sender is gone
            self.socket.sendto(answer.encode(), sender)
        return outgoing

    def _status(self) -> str:
        coordinator = self.cluster.coordinator_id
        up = ",".join(map(str, self.cluster.node_ids_up))
        return f"ok {'-' if coordinator is None else coordinator} {up}"

    def _carry_out(self, words: list[str], *, now_ms: Millis) -> tuple[Outgoing, ...]:
        if words == ["status"]:
            return _NOTHING
        if len(words) < 2:
            raise CommandError(f"an action and a broker are needed, not {' '.join(words)!r}")
        action, node_id, rest = words[0], self._node_id(words[1]), words[2:]
        if action == "restart":
            return self._restart(node_id, rest, now_ms=now_ms)
        if action not in self._actions or rest:
            raise CommandError(f"nobody knows how to {' '.join(words)!r}")
        if action in _ACTIONS_ON_LIVING_BROKERS and node_id not in self.cluster.node_ids_up:
            raise CommandError(f"broker {node_id} is down")
        return self._actions[action](node_id, now_ms)

    @property
    def _actions(self) -> Mapping[str, Callable[[int, Millis], tuple[Outgoing, ...]]]:
        cluster = self.cluster
        return {
            "kill": lambda node_id, now_ms: cluster.kill(node_id, now_ms=now_ms),
            "move": lambda node_id, now_ms: cluster.move(node_id, now_ms=now_ms),
            "pause": lambda node_id, _: self._paused(node_id),
            "resume": lambda node_id, now_ms: cluster.resume(node_id, now_ms=now_ms),
            "disconnect": lambda node_id, now_ms: cluster.disconnect(node_id, now_ms=now_ms),
            "reconnect": lambda node_id, now_ms: cluster.reconnect(node_id, now_ms=now_ms),
        }

    def _paused(self, node_id: int) -> tuple[Outgoing, ...]:
        self.cluster.pause(node_id)
        return _NOTHING

    def _restart(self, node_id: int, changes: list[str], *, now_ms: Millis) -> tuple[Outgoing, ...]:
        properties = dict(self.properties)
        for each in changes:
            name, equals, value = each.partition("=")
            if not equals:
                raise CommandError(f"a restart takes NAME=VALUE, not {each!r}")
            properties[name] = value
        config = GroupCoordinatorConfig.from_properties(properties)
        self.properties.update(properties)
        return self.cluster.restart(node_id, now_ms=now_ms, config=config)

    def _node_id(self, word: str) -> int:
        if not (word.isdecimal() and int(word) in self._node_ids):
            raise CommandError(f"there is no broker {word}")
        return int(word)


_ACTIONS_ON_LIVING_BROKERS: Final = frozenset({"kill", "move", "disconnect"})
