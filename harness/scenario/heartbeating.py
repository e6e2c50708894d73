"""An actor that heartbeats, as members of consumer, share and streams groups do.

It chooses its member id itself, as clients do. The id is made from the actor's name alone. Groups have new
ids in every run, so member ids need not differ between runs. They must not differ: Kafka's assignors iterate
over members in the order of a hash map of these ids, so an id that contained the run's would change the
assignment.
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
"""Member epochs with a special meaning. Source: ConsumerGroupHeartbeatRequest (4.3.1)."""


class HeartbeatingActor(Actor):
    """A client that sends heartbeats, and receives its assignment in the answers."""

    @property
    @override
    def member_id(self) -> Text:
        """Its member id, which is the same in every run."""
        return f"member-{self.name}"

    @property
    def epoch(self) -> Ref:
        """The epoch that it last received."""
        return Ref(self.name, "member_epoch")

    def configures(self, configs: Mapping[str, str | int | None], *, error_code: PinText = "NONE") -> None:
        """Configure the group, and wait until the coordinator has received the change."""
        self.asks(ask.group_configs(configs), expect.group_configs(error_code=error_code))
        self.awaits_metadata()

    @override
    def _own_member_id(self) -> Text:
        return self.member_id

    @override
    def _own_generation(self) -> Ref:
        return self.epoch

    def _look_up_unknown(self, *named: object) -> None:
        """Look up the ids of topics that no actor of the conversation has looked up yet."""
        topics = [topic for each in named if isinstance(each, Mapping) for topic in each]
        unknown = [topic for topic in topics if topic not in self._conversation.known_topics]
        if unknown:
            self.looks_up(*unknown)
