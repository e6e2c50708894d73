"""Choices that Kafka leaves to chance, made as the target made them in a history."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from harness.invariants.exchange import Exchange
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import MemberId
from reference_coordinator.profile.behaviours import CoordinatorFamily


@dataclass(slots=True)
class SeenChoices:
    """The ids that the target gave, and the leader and protocol that it chose."""

    operations: Sequence[Exchange]
    strays: Mapping[str, tuple[str, ...]]
    """Ids that answers list and that no request was answered with, by prefix."""
    current: Exchange | None = None
    """The operation that is being applied."""
    parked: dict[int, Exchange] = field(default_factory=dict)
    """JoinGroups that wait for their answer, by their index."""
    given: set[str] = field(default_factory=set)
    rest: DeterministicChoices = field(default_factory=DeterministicChoices)

    def member_id(self, prefix: str) -> MemberId:
        """Return the id that the request was answered with."""
        answered = self._of_current("member_id")
        seen = (answered,) if isinstance(answered, str) and answered else self.strays.get(prefix, ())
        chosen = next(each for each in (*seen, *self._unseen()) if each not in self.given)
        self.given.add(chosen)
        return MemberId(chosen)

    def uuid(self) -> MemberId:
        """Return the id that the request was answered with, or one that answers list as its sender's."""
        if self.current is None:
            return self.member_id("")
        request = self.current.request
        found = request.get("group_instance_id") or request.get("instance_id") or self.current.actor
        return self.member_id(str(found or ""))

    def leader(self, candidates: Sequence[MemberId]) -> MemberId:
        """Return the candidate that a waiting JoinGroup's answer names, else any answer, else the first."""
        everybody = {(each.answer or {}).get("leader") for each in self.operations}
        for known in (self._reported("leader"), everybody):
            if (found := next((each for each in candidates if each in known), None)) is not None:
                return found
        return candidates[0]

    def protocol(self, tied: Sequence[str], family: CoordinatorFamily) -> str:
        """Return the protocol in a waiting JoinGroup's answer, else the first in Kafka's map."""
        reported = self._reported("protocol_name")
        return next((each for each in tied if each in reported), self.rest.protocol(tied, family))

    def _unseen(self) -> Iterator[str]:
        """Yield made-up ids for a member whose id no answer shows; at least one was not given yet."""
        actor = "" if self.current is None else self.current.actor
        for number in range(1, len(self.given) + 2):
            yield f"member:{actor}" + (f"#{number}" if number > 1 else "")

    def _reported(self, name: str) -> set[object]:
        waiting = [*self.parked.values(), *(() if self.current is None else (self.current,))]
        return {each.answer.get(name) for each in waiting if each.api == "JoinGroup" and each.answer}

    def _of_current(self, name: str) -> object:
        return None if self.current is None else (self.current.answer or {}).get(name)
