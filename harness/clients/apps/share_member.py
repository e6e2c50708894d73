"""A member of a share group, with the delivered records that it has not acknowledged yet."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from harness.clients.apps.adapter import Delivered, ShareConsumer
from harness.clients.steps import Fact, Verb

Arguments = Mapping[str, Any]
"""The contents of a line of JSON."""
_POLL_S: Final = 0.1
_TAKE_TIMEOUT_S: Final = 40.0
_WORK_S: Final = 0.05
"""The time for which a working member processes what a poll returned, so that it may be killed meanwhile."""


class ShareMember:
    """The commands of an application that is a member of a share group, in addition to the common ones."""

    def __init__(self, consumer: ShareConsumer, event: Callable[..., None], *, is_explicit: bool) -> None:
        """Create a member without a subscription.

        Args:
            consumer: the library's share consumer.
            event: called with the kind of an event, and its facts by name.
            is_explicit: whether each record must be acknowledged explicitly, not by the next poll.
        """
        self._consumer = consumer
        self._event = event
        self._is_explicit = is_explicit
        self._in_hand: list[Delivered] = []
        self._works = False
        self.polls = False
        self.verbs: Mapping[Verb, Callable[[Arguments], Fact]] = {
            Verb.SUBSCRIBE: self._subscribe,
            Verb.UNSUBSCRIBE: self._unsubscribe,
            Verb.TAKE: self._take,
            Verb.STAND_STILL: lambda _: self._set_polls(on=False),
            Verb.GO_ON: lambda _: self._set_polls(on=True),
            Verb.WORK: self._work,
            Verb.ACKNOWLEDGE: self._acknowledge,
            Verb.COMMIT: self._commit,
        }

    def poll(self) -> None:
        """Poll once, after accepting the records still in hand, which were processed meanwhile."""
        self._accept()
        came = self._receive()
        if self._works and came:
            time.sleep(_WORK_S)
            self._accept()
            self._event("acknowledging", values=[each.value for each in self._in_hand])
            refused = self._consumer.commit()
            values: list[Fact] = [each.value for each in self._in_hand if each.partition not in refused]
            self._in_hand.clear()
            self._event("processed", values=values)
            for error in refused.values():
                self._event("error", name=error.name, says=error.says)

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()

    def _set_polls(self, *, on: bool) -> None:
        self.polls = on

    def _accept(self) -> None:
        if self._is_explicit:
            for each in self._in_hand:
                self._consumer.acknowledge(each, "accept")
        if not self._works:
            self._in_hand.clear()

    def _receive(self) -> int:
        records = self._consumer.poll(timeout_s=_POLL_S)
        self._in_hand += records
        if records:
            reported: list[Fact] = [
                [*each.partition, each.offset, each.value, each.delivery_count] for each in records
            ]
            self._event("delivered", records=reported)
        return len(records)

    def _subscribe(self, arguments: Arguments) -> Fact:
        self._consumer.subscribe(arguments["topics"])
        self.polls = arguments.get("polls", True)
        return None

    def _unsubscribe(self, _: Arguments) -> Fact:
        self._consumer.unsubscribe()
        self.polls = False
        self._in_hand.clear()
        return None

    def _work(self, arguments: Arguments) -> Fact:
        self._works = True
        return self._subscribe(arguments)

    def _take(self, arguments: Arguments) -> Fact:
        wanted = int(arguments["count"])
        until_s = time.monotonic() + _TAKE_TIMEOUT_S
        came = 0
        while came < wanted and time.monotonic() < until_s:
            came += self._receive()
        self.polls = False
        return came

    def _acknowledge(self, arguments: Arguments) -> Fact:
        named = {*arguments["values"]}
        chosen = [each for each in self._in_hand if not named or each.value in named]
        for each in chosen:
            self._consumer.acknowledge(each, arguments["type"])
        self._in_hand = [each for each in self._in_hand if each not in chosen]
        return None

    def _commit(self, _: Arguments) -> Fact:
        refused = self._consumer.commit()
        if not self._is_explicit:
            self._in_hand.clear()
        for error in refused.values():
            raise error
        return None
