"""A member of a consumer group (KIP-848): an actor that heartbeats, and gets what to own."""

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
    """What a heartbeat may say and expect; of what is left out it says nothing, and pins nothing.

    Group, member id, epoch and instance id are the member's own, and NONE is expected, unless named.
    """

    version: int
    epoch: Number | Own
    topics: Sequence[Group] | None
    """To which it subscribes by name."""
    regex: Group | None | Unpinned
    """By which it subscribes, from v1 on; a group's id matches the topic that bears it."""
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
    """What the answer is to bring."""
    assigned: Assigned | None | Unpinned
    """What the answer tells it to own; None where it brings no assignment."""
    interval_ms: PinNumber
    """How often the answer tells it to heartbeat."""


class Member(HeartbeatingActor):
    """A client that speaks the protocol of consumer groups."""

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
        """Its id: the same in every run, or the one that it was last given by the coordinator."""
        return Ref(self.name, "member_id") if self._named_by_server else super().member_id

    @property
    def assigned(self) -> Ref:
        """What it was last told to own."""
        return Ref(self.name, "topic_partitions")

    def heartbeats(self, **said: Unpack[Heartbeat]) -> Answer:
        """Send a heartbeat, with what is named and nothing else, and expect its answer: NONE unless named."""
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
        """Leave for good, or for a while with epoch -2, and be told so."""
        return self.heartbeats(epoch=epoch, member_epoch=epoch, interval_ms=0, assigned=None)

    @override
    def _own_member_id(self) -> Text:
        return "" if self._named_by_server and not self._has_joined() else self.member_id
