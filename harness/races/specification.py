"""The reference coordinator as the specification of one group; the only module of races that uses it."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import Final, Protocol

from typing_extensions import override

from harness.invariants.exchange import Exchange, Fields
from harness.orders.interface import InnerKind, InnerStep, Machine
from harness.orders.machine import Answers, ReferenceMachine
from harness.races.history import GROUP, TOPIC_IDS, request_with_topic_ids
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.reference.profile import ReferenceProfile, state_of, stored_specification
from harness.trace.canonical import Canonicaliser, canonical_json
from harness.wire.codec import decode_response, encode_request
from reference_coordinator.core.effects import AppendRecords
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import AppendId, GroupId
from reference_coordinator.core.records import GroupMetadataRecord
from reference_coordinator.profile.behaviours import CoordinatorFamily

_HORIZON_MS: Final = 5_000
"""Deadlines further away do not pass within a round: session and rebalance timeouts of races are 30 s."""
_REMEMBERED: Final = 4096


class MachineFactory(Protocol):
    """A factory of machines, each of which starts without groups."""

    @property
    def family(self) -> str:
        """Which of Kafka's coordinators the machines are: `scala` or `java`."""

    @property
    def reads_may_be_stale(self) -> bool:
        """Whether reading APIs answer from committed state, which may lag behind."""

    def begin(self, operations: Sequence[Exchange] = ()) -> Machine:
        """Return a new machine; with a history, it makes the choices that the history's target made."""


class ReferenceSpecification:
    """One profile of the reference with one configuration."""

    def __init__(self, profile: str, broker_config: Mapping[str, str]) -> None:
        where = f"the header of a target of profile {profile}"
        self._spec = stored_specification(profile, broker_config, where=where)

    @property
    def family(self) -> str:
        """The coordinator implementation that the profile's release has."""
        return self._spec.profile.coordinator.value

    @property
    def reads_may_be_stale(self) -> bool:
        """Whether reads return the last committed state. Source: CoordinatorReadEvent#run (4.3.1)."""
        return self._spec.profile.coordinator is CoordinatorFamily.JAVA

    @property
    def has_consumer_groups(self) -> bool:
        """Whether the release has consumer groups in general availability."""
        return self._spec.has_consumer_groups

    def begin(self, operations: Sequence[Exchange] = ()) -> "RaceMachine":
        """Return a coordinator without groups."""
        return RaceMachine(self._spec, operations)


class RaceMachine(ReferenceMachine):
    """The reference in the canonical form of a history; pending writes and removals are inner steps."""

    def __init__(self, spec: ReferenceProfile, operations: Sequence[Exchange]) -> None:
        topics = {
            name: (num_partitions, TOPIC_IDS[f"topic:{name}"])
            for name, num_partitions in CONFORMANCE_TOPICS.items()
        }
        super().__init__(spec, operations, frozenset((GROUP,)), topics=topics)
        self._written: list[AppendId] = []
        self._dying: Answers = ()
        """Answers of the Scala coordinator that wait until a Dead group is removed."""
        if spec.profile.coordinator is CoordinatorFamily.JAVA:
            self._decided = self._apis.append_outcome
            self._apis.append_outcome = self._append_outcome
        else:
            self._apis.pause_at_dead()

    @override
    def apply(self, operation: Exchange, at_ms: float) -> Answers:
        """Apply an operation; if it makes a group Dead, its answer waits until the group is removed.

        A request that finds the group Dead already, or is refused for another reason, is answered at once.

        Source: GroupMetadataManager#cleanupGroupMetadata, GroupCoordinator#handleDeleteOffsets (3.9.2).
        """
        pending_before = len(self._shard.pending_deletions)
        reported = super().apply(operation, at_ms)
        if len(self._shard.pending_deletions) == pending_before:
            return reported
        self._dying += tuple(each for each in reported if each.operation == operation.index)
        return tuple(each for each in reported if each.operation != operation.index)

    @override
    def inner_steps(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        """Return the possible next steps; of the deadlines only the first, as in Kafka."""
        steps = [InnerStep(kind=InnerKind.WRITE)] if self._written else []
        if self._shard.pending_deletions:
            steps.append(InnerStep(kind=InnerKind.REMOVAL))
        return (*steps, *self._due_soon(until_ms)[:1])

    @override
    def take(self, step: InnerStep, at_ms: float) -> Answers:
        """Take an inner step; writes complete in the order in which they began."""
        match step.kind:
            case InnerKind.WRITE:
                append_id = self._written.pop(0)
                return self._reported(self._apis.append_completed(append_id, Errors.NONE, now_ms=self.now_ms))
            case InnerKind.DEADLINE | InnerKind.REPLY:
                return super().take(step, max(at_ms, step.due_ms))
            case InnerKind.REMOVAL:
                return self._remove()

    @override
    def digest(self) -> str:
        """Return a text of the group, its offsets, pending writes and removals, and near deadlines."""
        is_written = self._shard.find_group(GroupId(GROUP), committed=True) is not None
        waiting = (len(self._written), len(self._shard.pending_deletions), self._dying)
        due = [each.key for each in self._due_soon()]
        return repr((state_of(self._shard), is_written, waiting, due, sorted(self._choices.given)))

    @override
    def _frame_of(self, operation: Exchange) -> bytes:
        request = canonical_json(operation.request)  # type: ignore[arg-type] # requests of races have values of messages
        return _frame(operation.api, operation.api_version, operation.actor, request)

    @override
    def _plain(self, api: str, api_version: int, frame: bytes) -> Fields:
        return _canonical(api, api_version, frame)

    def _due_soon(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        """Return the deadlines that may pass within a round."""
        return super().inner_steps(min(until_ms, _HORIZON_MS))

    def _remove(self) -> Answers:
        """Remove Dead groups, and return the answers that waited for it."""
        removed = self._reported(self._apis.resume_from_dead(now_ms=self.now_ms))
        self._apis.pause_at_dead()
        reported, self._dying = (*removed, *self._dying), ()
        return reported

    def _append_outcome(self, append: AppendRecords) -> Errors | None:
        """Leave a write of group metadata pending; requests meanwhile find the state before it.

        Offsets, tombstones and records of consumer groups take effect at once for later writes, as in Kafka,
        and only their answers wait.

        Source: CoordinatorRuntime.CoordinatorWriteEvent#run, GroupMetadataManager#classicGroupSync (4.3.1).
        """
        outcome = self._decided(append)
        if outcome is not Errors.NONE or not all(
            isinstance(each, GroupMetadataRecord) for each in append.records
        ):
            return outcome
        self._written.append(append.append_id)
        return None


@lru_cache(maxsize=_REMEMBERED)
def _frame(api: str, api_version: int, client_id: str | None, request_json: str) -> bytes:
    """Encode a request, with a cache: the same few recur."""
    request = request_with_topic_ids(request_json)
    return encode_request(api, api_version, correlation_id=0, client_id=client_id, fields=request)


@lru_cache(maxsize=_REMEMBERED)
def _canonical(api: str, api_version: int, frame: bytes) -> Fields:
    """Decode an answer of the reference, whose ids of groups and members are canonical already."""
    fields = _canonicaliser().value(decode_response(api, api_version, frame).fields, api=api)
    assert isinstance(fields, Mapping)
    return fields


@lru_cache(maxsize=1)
def _canonicaliser() -> Canonicaliser:
    """Return a canonicaliser that has learnt the topics."""
    canonicaliser = Canonicaliser(groups={GROUP: GROUP.removeprefix("group:")})
    topics = [
        {"name": name.removeprefix("topic:"), "topic_id": topic_id} for name, topic_id in TOPIC_IDS.items()
    ]
    canonicaliser.canonical(actor="", api="Metadata", fields={"topics": topics})
    return canonicaliser
