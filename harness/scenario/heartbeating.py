"""An actor that heartbeats, as members of consumer, share and streams groups do.

It chooses its member id itself, as clients do. The id is made of the actor's name alone. Groups have ids of
their own in every run, so ids of members need not differ between runs. They must not: Kafka's assignors walk
through members in the order of a hash map over these ids, so an id that named the run would change who gets
what.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from typing_extensions import override

from harness.scenario import ask, expect
from harness.scenario.actor import Actor
from harness.scenario.messages import PinText, Text
from harness.scenario.values import Ref

JOINS: Final = 0
LEAVES: Final = -1
LEAVES_FOR_A_WHILE: Final = -2
"""What member epochs say. Source: ConsumerGroupHeartbeatRequest (4.3.1)."""


class HeartbeatingActor(Actor):
    """A client that tells by a heartbeat what it has, and gets what it is to have."""

    @property
    @override
    def member_id(self) -> Text:
        """Its id: the same in every run."""
        return f"member-{self.name}"

    @property
    def epoch(self) -> Ref:
        """The epoch that it got last."""
        return Ref(self.name, "member_epoch")

    def configures(self, configs: Mapping[str, str | int | None], *, error_code: PinText = "NONE") -> None:
        """Configure the group, and wait until the coordinator knows."""
        self.asks(ask.group_configs(configs), expect.group_configs(error_code=error_code))
        self.awaits_metadata()

    @override
    def _own_member_id(self) -> Text:
        return self.member_id

    @override
    def _own_generation(self) -> Ref:
        return self.epoch

    def _look_up_unknown(self, *named: object) -> None:
        """Look up the ids of topics that nobody in the conversation knows yet."""
        topics = [topic for each in named if isinstance(each, Mapping) for topic in each]
        unknown = [topic for topic in topics if topic not in self._conversation.known_topics]
        if unknown:
            self.looks_up(*unknown)
