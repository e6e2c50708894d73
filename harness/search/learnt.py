"""What a conversation's answers have shown so far: of its actors, and for the coverage of the search."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from harness.report.model.answer_coverage import Answered, answered
from harness.search.actions import MOVES
from harness.search.coverage import Pair, outcome_of
from harness.search.moves import Act, HangUp
from harness.search.sides import LastAnswer
from harness.search.situation import Membership

_BROKEN: Final = ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "FENCED_MEMBER_EPOCH", "UNRELEASED_INSTANCE_ID")
_NO_SESSION: Final = ("SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH")


class Learnt:
    """What the answers have shown so far.

    Attributes:
        memberships: the membership of each actor, by name.
        leaders: the actors that lead their group.
        session_epochs: the epoch of each actor's share session.
        producers: the last request in its transaction, by actor.
        left_behind: actors whose connections are to a broker that coordinates no more.
        reached: pairs of a state and an answered request, with the number of moves by then.
        answered: how often each API, in each version, was answered each error code.
    """

    def __init__(self, names: Collection[str]) -> None:
        """Begin with nothing but the names of the actors."""
        self.memberships = dict.fromkeys(names, Membership.OUTSIDE)
        self.leaders: set[str] = set()
        self.session_epochs = dict.fromkeys(names, 0)
        self.producers: dict[str, str] = {}
        self.left_behind: set[str] = set()
        self.reached: dict[Pair, int] = {}
        self.answered = Counter[Answered]()

    def note_answer(self, name: str, heard: LastAnswer | None, state: str, move_count: int) -> None:
        """Record an answer, and the state in which it was asked for; update the state of the actor."""
        if heard is None:
            return
        api, fields, outcome = heard.api, heard.fields, outcome_of(heard.fields)
        self.answered.update(answered(*heard))
        self.reached.setdefault(Pair(state, api, outcome), move_count)
        error = fields.get("error_code")
        if (api == "JoinGroup" and error == "MEMBER_ID_REQUIRED") or error == "REBALANCE_IN_PROGRESS":
            self.memberships[name] = Membership.NAMED
        elif error in _BROKEN:
            self.memberships[name] = Membership.OUTSIDE
        elif error in _NO_SESSION:
            self.session_epochs[name] = 0
        elif outcome == "NONE":
            self._learn_success(name, api, fields)

    def _learn_success(self, name: str, api: str, fields: Mapping[str, object]) -> None:
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
            case "InitProducerId" | "AddOffsetsToTxn" | "TxnOffsetCommit" | "EndTxn":
                self.producers[name] = api
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
