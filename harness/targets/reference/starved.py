"""The reference with halts: simulates a machine that starves a broker, in virtual time.

The reference itself is never starved. To find out whether starvation alone explains a broker's answer, the
reference is halted for as long, at the same place. Meanwhile it receives nothing and no timer expires; all of
this happens at once when it continues. A real broker then handles requests and timers in either order; so
does this one.
"""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Final

from typing_extensions import override

from harness.targets.base.interface import SETTLE_MS, Broker
from harness.targets.reference.draws import Draws
from harness.targets.reference.session import Preparation, ReferenceSession
from harness.targets.reference.target import ReferenceBroker, ReferenceTarget
from reference_coordinator.broker.cluster import Cluster
from reference_coordinator.broker.listener import ConnectionId

_NEVER: Final = -1
_ROUNDED_MS: Final = 1


class StarvedReference(ReferenceTarget):
    """The reference, with broker sessions that can be halted."""

    def __init__(self, profile: str) -> None:
        super().__init__(profile, profile_in_spec=True)
        self._session = StarvedSession


class StarvedSession(ReferenceSession):
    """A broker session whose brokers can be halted, all together.

    Attributes:
        late_ms: how much longer the harness waits for an answer than requested.
        settles_longer_ms: how much longer it gives a broker to process a request than one that runs.
        last_connection_first: whether they take requests from the latest connection first.
        requests_first: whether continuing brokers handle requests before expired timers.
    """

    def __init__(
        self, cluster: Cluster, properties: Mapping[str, str], preparation: Preparation | None = None
    ) -> None:
        super().__init__(cluster, properties, preparation)
        self.last_connection_first = False
        self.late_ms = 0.0
        self.settles_longer_ms = 0.0
        self.requests_first = False
        self._halts: list[tuple[int, int]] = []
        """Begin and length of the next halts, on the cluster's clock; in the order of time."""
        self._halted_since_ms = _NEVER
        self._halted_until_ms = _NEVER
        self._waiting: dict[ConnectionId, list[Callable[[], None]]] = {}

    @property
    @override
    def settle_ms(self) -> float:
        """How long the harness waited in the recording, which partly explains when a request arrived."""
        return SETTLE_MS + self.settles_longer_ms

    async def halt(self, begin_ms: float, length_ms: float) -> None:
        """Halt the brokers at a time of the broker session's clock, or at once if it has passed."""
        # The preparation is not halted, and the session's clock begins after it.
        await self.elapse(0)
        self._halts.append((ceil(begin_ms) + self._opened_ms, ceil(length_ms)))
        self._halts.sort()

    @override
    def limit_ms(self, timeout_ms: float) -> int:
        return super().limit_ms(timeout_ms + self.late_ms)

    @override
    def request(self, connection_id: ConnectionId, payload: bytes) -> None:
        take_in = super().request
        if self._is_halted:
            self._waiting.setdefault(connection_id, []).append(lambda: take_in(connection_id, payload))
        else:
            take_in(connection_id, payload)

    @override
    def disconnect(self, connection_id: ConnectionId) -> None:
        notice = super().disconnect
        if self._is_halted:
            self._waiting.setdefault(connection_id, []).append(lambda: notice(connection_id))
        else:
            notice(connection_id)

    @override
    def jump(self, limit_ms: int) -> bool:
        if self._is_halted:
            return self._jump_while_halted(limit_ms)
        if not self._halts or self._halts[0][0] > limit_ms:
            return super().jump(limit_ms)
        begin_ms, length_ms = self._halts[0]
        if begin_ms > self._clock_ms and super().jump(begin_ms):
            return True
        del self._halts[0]
        self._halted_since_ms = self._clock_ms
        self._halted_until_ms = self._clock_ms + length_ms
        return True

    @property
    def _is_halted(self) -> bool:
        return self._halted_until_ms != _NEVER

    def _jump_while_halted(self, limit_ms: int) -> bool:
        if self._halted_until_ms > limit_ms:
            self._clock_ms = max(self._clock_ms, limit_ms)
            return False
        if self._halts and self._halts[0][0] <= self._halted_until_ms + _ROUNDED_MS:
            # The two halts are merged, with no moment between them.
            begin_ms, length_ms = self._halts.pop(0)
            self._halted_until_ms = max(self._halted_until_ms, begin_ms + length_ms)
            return True
        self._clock_ms = max(self._clock_ms, self._halted_until_ms)
        self._halted_until_ms = _NEVER
        if not self.requests_first:
            self.deliver(self._cluster.advance(now_ms=self._now()))
        self._take_in_what_came()
        self.deliver(self._cluster.advance(now_ms=self._now()))
        return True

    def _take_in_what_came(self) -> None:
        waiting, self._waiting = list(self._waiting.values()), {}
        if self.last_connection_first:
            waiting.reverse()
        now_ms = self._clock_ms
        if self.requests_first:
            # A coordinator expires timers before it handles a request; at this time, none has expired yet.
            self._clock_ms = self._halted_since_ms
        for of_connection in waiting:
            for happen in of_connection:
                happen()
        self._clock_ms = now_ms


def starved_session(broker: Broker, scenario_id: str, draws: Draws) -> StarvedSession:
    """Open a broker session of a `StarvedReference`, with ids that another broker assigned."""
    assert isinstance(broker, ReferenceBroker), "its target starts no others"
    session = broker.open_session(scenario_id, draws)
    assert isinstance(session, StarvedSession), "its target opens no others"
    return session
