"""A member of a consumer group (KIP-848): an actor that heartbeats, and is assigned partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from typing_extensions import Unpack, override

from harness.scenario import ask, expect
from harness.scenario.actor import Answer
from harness.scenario.ask import REBALANCE_TIMEOUT_MS, Assigned, Owned
from harness.scenario.broker_verbs import BrokerVerbs
from harness.scenario.heartbeating import JOINS, LEAVES, HeartbeatingActor
from harness.scenario.messages import (
    ANY,
    OWN,
    Group,
    Number,
    Own,
    PinNumber,
    PinText,
    Text,
    Unpinned,
)
from harness.scenario.script import MAIN, ActorSheet
from harness.scenario.values import Ref


class Heartbeat(TypedDict, total=False):
    """The fields of a heartbeat and of its expected answer; missing ones are not sent, or not pinned.

    Group, member id, epoch and instance id are the member's own, and NONE is expected, unless named.
    """

    version: int
    epoch: Number | Own
    topics: Sequence[Group] | None
    """The topics that it subscribes to by name."""
    regex: Group | None | Unpinned
    """The regular expression to subscribe with, from v1 on; a group's id matches the topic of that name."""
    owned: Owned
    instance_id: str | None | Own
    member_id: Text | Own
    group_id: Group | Own
    rack_id: str | None
    assignor: str | None
    """The server's assignor that it votes for."""
    rebalance_timeout_ms: int
    """How long it may take to give up partitions."""
    error_code: PinText
    member_epoch: PinNumber
    """The epoch that is expected in the answer."""
    assigned: Assigned | None | Unpinned
    """The partitions that the answer is expected to assign; None if it has no assignment."""
    interval_ms: PinNumber
    """The heartbeat interval that is expected in the answer."""


class Member(HeartbeatingActor):
    """A client that uses the protocol of consumer groups."""

    def __init__(
        self,
        conversation: BrokerVerbs,
        sheet: ActorSheet,
        connection: str = MAIN,
        *,
        named_by_server: bool = False,
    ) -> None:
        super().__init__(conversation, sheet, connection)
        self._named_by_server = named_by_server

    @property
    @override
    def member_id(self) -> Text:
        """Its member id: the same in every run, or the one that the coordinator last gave it."""
        return Ref(self.name, "member_id") if self._named_by_server else super().member_id

    @property
    def assigned(self) -> Ref:
        """The partitions that it was last assigned."""
        return Ref(self.name, "topic_partitions")

    def heartbeats(self, **said: Unpack[Heartbeat]) -> Answer:
        """Send a heartbeat with only the named fields, and expect its answer: NONE unless named."""
        owned, assigned = said.get("owned"), said.get("assigned", ANY)
        self._look_up_unknown(owned, assigned)
        asked = ask.consumer_group_heartbeat(
            version=said.get("version", 1),
            group_id=said.get("group_id", OWN),
            member_id=said.get("member_id", OWN),
            member_epoch=said.get("epoch", OWN),
            instance_id=said.get("instance_id", OWN),
            rack_id=said.get("rack_id"),
            rebalance_timeout_ms=said.get("rebalance_timeout_ms", -1),
            subscribed_topic_names=said.get("topics"),
            subscribed_topic_regex=said.get("regex", ANY),
            server_assignor=said.get("assignor"),
            topic_partitions=owned,
        )
        answer = expect.consumer_group_heartbeat(
            error_code=said.get("error_code", "NONE"),
            member_epoch=said.get("member_epoch", ANY),
            heartbeat_interval_ms=said.get("interval_ms", ANY),
            assignment=ANY if isinstance(assigned, Unpinned) else expect.assigned(assigned),
        )
        return self.asks(asked, answer)

    def enters(self, *names: Group, **said: Unpack[Heartbeat]) -> Answer:
        """Join with epoch 0, owning nothing, subscribed to some topics; to `orders` if none is named."""
        joining: Heartbeat = {
            "epoch": JOINS,
            "topics": names or ("orders",),
            "owned": {},
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
        }
        joining.update(said)
        return self.heartbeats(**joining)

    def leaves(self, *, epoch: int = LEAVES) -> Answer:
        """Leave for good, or for a while with epoch -2, and expect the confirmation."""
        return self.heartbeats(epoch=epoch, member_epoch=epoch, interval_ms=0, assigned=None)

    @override
    def _own_member_id(self) -> Text:
        return "" if self._named_by_server and not self._has_joined() else self.member_id
