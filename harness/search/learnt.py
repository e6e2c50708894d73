"""What a conversation's answers have shown so far: of its actors, and for the coverage of the search."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from harness.search.actions import MOVES
from harness.search.coverage import Pair, outcome_of
from harness.search.moves import Act, HangUp
from harness.search.sides import LastAnswer
from harness.search.situation import Acquired, Membership

_BROKEN: Final = ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "FENCED_MEMBER_EPOCH", "UNRELEASED_INSTANCE_ID")
_WITH_RECORDS: Final = "with records"
"""The rest of the outcome where there were records, which is more than one without."""
_AGAIN: Final = "with records again"
"""The same, where one was delivered before."""
_OF_TRANSACTIONS: Final = ("InitProducerId", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
_OF_RECORDS: Final = ("AddPartitionsToTxn", "Produce")
_OF_SESSION: Final = ("ShareFetch", "ShareAcknowledge")
"""Requests that take a share session on, even if they are refused in parts."""
_NO_SESSION: Final = ("SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH")


class Learnt:
    """What the answers have shown so far.

    Attributes:
        memberships: the membership of each actor, by name.
        leaders: the actors that lead their group.
        session_epochs: the epoch of each actor's share session.
        producers: the last request in its transaction, by actor.
        fetched: the topic that each actor last fetched from for its share group.
        acquired: what it has acquired then: see `Acquired`.
        left_behind: actors whose connections are to a broker that coordinates no more.
        reached: pairs of a state and an answered request, with the number of moves by then.
    """

    def __init__(self, names: Collection[str]) -> None:
        """Begin with nothing but the names of the actors."""
        self.memberships = dict.fromkeys(names, Membership.OUTSIDE)
        self.leaders: set[str] = set()
        self.session_epochs = dict.fromkeys(names, 0)
        self.producers: dict[str, str] = {}
        self.fetched: dict[str, str] = {}
        self.acquired: dict[str, tuple[Acquired, ...]] = {}
        self.left_behind: set[str] = set()
        self.reached: dict[Pair, int] = {}

    def note_request(self, name: str, api: str, arguments: Mapping[str, object]) -> None:
        """Note from which topic an actor fetches."""
        topics = arguments.get("topics")
        if api == "ShareFetch" and isinstance(topics, Mapping) and topics:
            self.fetched[name] = str(next(iter(topics)))

    def note_answer(self, name: str, heard: LastAnswer | None, state: str, move_count: int) -> None:
        """Record an answer, and the state in which it was asked for; update the state of the actor."""
        if heard is None:
            return
        api, fields, outcome = heard.api, heard.fields, outcome_of(heard.fields)
        if api == "ShareFetch" and (acquired := tuple(_acquired(self.fetched.get(name, ""), fields))):
            self.acquired[name] = acquired
            outcome = f"{outcome} {_AGAIN if any(each[-1] > 1 for each in acquired) else _WITH_RECORDS}"
        elif api == "ShareAcknowledge" and name in self.acquired:
            del self.acquired[name]
            outcome = f"{outcome} {_WITH_RECORDS}"
        self.reached.setdefault(Pair(state, api, outcome), move_count)
        error = fields.get("error_code")
        if (api == "JoinGroup" and error == "MEMBER_ID_REQUIRED") or error == "REBALANCE_IN_PROGRESS":
            self.memberships[name] = Membership.NAMED
        elif error in _BROKEN:
            self.memberships[name] = Membership.OUTSIDE
        elif error in _NO_SESSION:
            self.session_epochs[name] = 0
        elif outcome.startswith("NONE") or (api in _OF_SESSION and error == "NONE"):
            self._learn_success(name, api, fields)

    def _learn_success(self, name: str, api: str, fields: Mapping[str, object]) -> None:
        if api in _OF_TRANSACTIONS or (api in _OF_RECORDS and name in self.producers):
            self.producers[name] = api
        match api:
            case "JoinGroup":
                self.memberships[name] = Membership.JOINED
                self.leaders.discard(name)
                if fields.get("leader") == fields.get("member_id"):
                    self.leaders.add(name)
            case "SyncGroup":
                self.memberships[name] = Membership.SYNCED
            case "ConsumerGroupHeartbeat" | "ShareGroupHeartbeat" | "StreamsGroupHeartbeat":
                epoch = fields.get("member_epoch")
                is_in = isinstance(epoch, int) and epoch > 0
                self.memberships[name] = Membership.SYNCED if is_in else Membership.OUTSIDE
            case "LeaveGroup":
                self.memberships[name] = Membership.OUTSIDE
            case "ShareFetch" | "ShareAcknowledge":
                self.session_epochs[name] += 1
            case _:
                pass

    def note_cut(self, move: Act | HangUp) -> None:
        """Note that connections were closed: by a broker, or by an actor."""
        if isinstance(move, HangUp):
            self.left_behind.discard(move.actor)
            self.session_epochs[move.actor] = 0
            return
        self.session_epochs = dict.fromkeys(self.session_epochs, 0)
        if move.action == MOVES:
            self.left_behind = {*self.memberships}


def _acquired(topic: str, fields: Mapping[str, object]) -> Iterator[Acquired]:
    """Yield the partitions and offsets that were acquired of a topic."""
    for answered_topic in _items(fields, "responses"):
        for partition in _items(answered_topic, "partitions"):
            for batch in _items(partition, "acquired_records"):
                yield (
                    topic,
                    _number(partition, "partition_index"),
                    _number(batch, "first_offset"),
                    _number(batch, "last_offset"),
                    _number(batch, "delivery_count"),
                )


def _items(fields: Mapping[str, object], name: str) -> Sequence[Mapping[str, object]]:
    found = fields.get(name)
    return found if isinstance(found, list | tuple) else ()


def _number(fields: Mapping[str, object], name: str) -> int:
    found = fields[name]
    assert isinstance(found, int), "an offset or an index is a number"
    return found
