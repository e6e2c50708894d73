"""A member of a share group (KIP-932): an actor that heartbeats, and is assigned partitions to fetch from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from typing_extensions import Unpack

from harness.scenario import ask, expect
from harness.scenario.actor import Answer
from harness.scenario.ask import Assigned
from harness.scenario.heartbeating import JOINS, LEAVES, HeartbeatingActor
from harness.scenario.messages import ANY, OWN, Group, Number, Own, PinNumber, PinText, Text, Unpinned


class ShareHeartbeat(TypedDict, total=False):
    """The fields of a heartbeat and of its expected answer; missing ones are not sent, or not pinned.

    Group, member id and epoch are the member's own, and NONE is expected, unless named.
    """

    version: int
    epoch: Number | Own
    topics: Sequence[Group] | None
    """The topics that it subscribes to."""
    member_id: Text | Own
    group_id: Group | Own
    rack_id: str | None
    error_code: PinText
    member_epoch: PinNumber
    """The epoch that is expected in the answer."""
    assigned: Assigned | None | Unpinned
    """The partitions that the answer is expected to assign; None if it has no assignment."""
    interval_ms: PinNumber
    """The heartbeat interval that is expected in the answer."""


class ShareMember(HeartbeatingActor):
    """A client that uses the protocol of share groups."""

    def heartbeats(self, **said: Unpack[ShareHeartbeat]) -> Answer:
        """Send a heartbeat with only the named fields, and expect its answer: NONE unless named."""
        self._look_up_unknown(said.get("assigned"))
        asked = ask.share_group_heartbeat(
            version=said.get("version", 1),
            group_id=said.get("group_id", OWN),
            member_id=said.get("member_id", OWN),
            member_epoch=said.get("epoch", OWN),
            rack_id=said.get("rack_id"),
            subscribed_topic_names=said.get("topics"),
        )
        assigned = said.get("assigned", ANY)
        answer = expect.share_group_heartbeat(
            error_code=said.get("error_code", "NONE"),
            member_epoch=said.get("member_epoch", ANY),
            heartbeat_interval_ms=said.get("interval_ms", ANY),
            assignment=ANY if isinstance(assigned, Unpinned) else expect.assigned(assigned),
        )
        return self.asks(asked, answer)

    def enters(self, *names: Group, **said: Unpack[ShareHeartbeat]) -> Answer:
        """Join with epoch 0, subscribed to some topics; to `orders` if none is named."""
        joining: ShareHeartbeat = {"epoch": JOINS, "topics": names or ("orders",)}
        joining.update(said)
        return self.heartbeats(**joining)

    def awaits(self, assigned: Assigned, *, member_epoch: PinNumber = ANY) -> Answer:
        """Heartbeat until it is assigned these partitions and no others.

        Partitions get their state at the share coordinator when the first member subscribes, which takes a
        moment, and no answer reports when it is done.
        """
        self._look_up_unknown(assigned)
        until = expect.share_group_heartbeat(
            error_code="NONE", member_epoch=member_epoch, assignment=expect.assigned(assigned)
        )
        return self.repeats(ask.share_group_heartbeat(), until=until, within_ms=10_000)

    def leaves(self) -> Answer:
        """Leave, and expect the confirmation."""
        return self.heartbeats(epoch=LEAVES, member_epoch=LEAVES, interval_ms=0, assigned=None)
