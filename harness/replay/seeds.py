"""The state of a group that existed before the recording, or that a new coordinator has loaded, as records.

A group's state is known from the moment at which its leader's SyncGroup was answered. The answer to the
leader's JoinGroup lists the members and their subscriptions, and its SyncGroup request has their assignments.
This is one of two modules of replays that use the reference.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from harness.apis.descriptor import NAMES_WRITTEN_OFFSETS, OffsetUse
from harness.invariants.exchange import (
    HEARTBEATS,
    NO_ERROR,
    Exchange,
    Fields,
    binary,
    items,
    number,
    partitions_in,
    text,
)
from harness.targets.reference.profile import CLIENT_HOST
from reference_coordinator.core.consumer_records import ConsumerGroupRecord
from reference_coordinator.core.ids import GenerationId, GroupId, GroupInstanceId, MemberId, Millis
from reference_coordinator.core.ids import TopicPartition as KnownPartition
from reference_coordinator.core.records import (
    CoordinatorRecord,
    GroupMetadataRecord,
    GroupMetadataRecordMember,
    GroupMetadataTombstone,
    OffsetCommitRecord,
)
from reference_coordinator.core.share_records import ShareGroupRecord
from reference_coordinator.core.streams_records import StreamsGroupRecord
from reference_coordinator.offsets.values import OffsetAndMetadata

TopicPartition: TypeAlias = tuple[str, int]
NO_OFFSET: Final = -1


SeedGroup: TypeAlias = GroupMetadataRecord
"""A group at the end of a rebalance, whose time is that of its planting."""
SeedOffset: TypeAlias = OffsetCommitRecord
"""A committed offset, likewise."""
_OF_MODERN: Final = ConsumerGroupRecord | ShareGroupRecord | StreamsGroupRecord
_OF_GROUPS: Final = GroupMetadataRecord | GroupMetadataTombstone | _OF_MODERN
"""Records of groups, except for their offsets."""
_AT_PLANTING: Final = Millis(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The state of a group at some time."""

    at_ms: float
    group: SeedGroup | None = None
    """None if there is no group, if it never had a member, or if `log` has it."""
    offsets: tuple[SeedOffset, ...] = ()
    log: tuple[CoordinatorRecord, ...] = ()
    """Records that the reference has written of the group, oldest first."""
    unknown: frozenset[TopicPartition] | None = frozenset()
    """Partitions that may or may not have an offset; None for all that are not named."""

    def records(self, now_ms: Millis) -> list[CoordinatorRecord]:
        """Return the log records that it describes, as written at a time."""
        group = [] if self.group is None else [replace(self.group, current_state_timestamp_ms=now_ms)]
        return [*(replace(each, commit_timestamp_ms=now_ms) for each in self.offsets), *self.log, *group]


def seed_of(
    log: Iterable[CoordinatorRecord],
    offsets: Mapping[KnownPartition, OffsetAndMetadata],
    *,
    group_id: GroupId,
    now_ms: Millis,
) -> Seed:
    """Return what a coordinator that took over now would find, of all records and the committed offsets."""
    of_group = [each for each in log if isinstance(each, _OF_GROUPS) and each.group_id == group_id]
    found = tuple(
        SeedOffset(
            group_id=group_id,
            topic=partition.topic,
            partition=partition.partition,
            offset=each.offset,
            leader_epoch=each.leader_epoch,
            metadata=each.metadata,
            commit_timestamp_ms=now_ms,
            expire_timestamp_ms=None,
        )
        for partition, each in offsets.items()
    )
    return Seed(at_ms=now_ms, log=tuple(of_group), offsets=found)


def latest(log: Iterable[CoordinatorRecord]) -> list[CoordinatorRecord]:
    """Return a log's records of groups, without those of classic groups that later ones replaced."""
    records = [each for each in log if isinstance(each, _OF_GROUPS)]
    last = max((place for place, each in enumerate(records) if not isinstance(each, _OF_MODERN)), default=0)
    return [each for place, each in enumerate(records) if place >= last or isinstance(each, _OF_MODERN)]


def first_seed(operations: Sequence[Exchange]) -> Seed | None:
    """Return the group's state at the first moment when its operations show it; None if they never do."""
    joins = [each for each in operations if each.api == "JoinGroup"]
    for sync in operations:
        group = _group_by(sync, joins)
        if group is None:
            continue
        changing = (each for each in operations if each.api in ("JoinGroup", "LeaveGroup"))
        if not any(each.asked_ms < sync.answered_ms < each.answered_ms for each in changing):
            return Seed(at_ms=sync.answered_ms, group=group, unknown=None)
    return None


def last_group(operations: Sequence[Exchange]) -> SeedGroup | None:
    """Return the group as the last rebalance left it; None if members joined or left since.

    The operations are joins, syncs and leaves of a group in which nothing is under way, in their order.
    """
    joins = [each for each in operations if each.api == "JoinGroup"]
    for place in reversed(range(len(operations))):
        operation = operations[place]
        if operation.api != "SyncGroup" or operation.error != NO_ERROR or operation.answer is None:
            return None
        group = _group_by(operation, joins)
        if group is not None:
            last = {number(each.request, "generation_id") for each in operations[place:]}
            is_last = last == {group.generation_id} and all(
                number(each.answer or {}, "generation_id") <= group.generation_id for each in joins
            )
            return group if is_last else None
    return None


def offsets_after(operation: Exchange, group_id: str, names: Mapping[str, str]) -> tuple[SeedOffset, ...]:
    """Return the offsets that an answer shows to exist: those that were committed, or fetched.

    `names` are those of topics, by their ids.
    """
    if operation.answer is None:
        return ()
    if operation.descriptor.offsets is OffsetUse.FETCHES:
        found = _fetched(operation.answer, group_id, names)
        return tuple(each for each in found if each.offset != NO_OFFSET)
    committed = {
        (_name_of(topic, names), number(each, "partition_index"))
        for topic, each in partitions_in(operation.answer)
        if text(each, "error_code") == NO_ERROR
    }
    offsets = (_offset(group_id, topic, each, names) for topic, each in partitions_in(operation.request))
    return tuple(each for each in offsets if (each.topic, each.partition) in committed)


def has_earlier_members(operations: Sequence[Exchange]) -> bool:
    """Return whether a member joins with an id from before, which shows that the group existed then."""
    joins = [each for each in operations if each.api == "JoinGroup" and each.answer is not None]
    given = {text(each.answer or {}, "member_id") for each in joins if not text(each.request, "member_id")}
    accepted = {text(each.request, "member_id") for each in joins if each.error == NO_ERROR}
    return bool(accepted - given - {""})


def _group_by(sync: Exchange, joins: Sequence[Exchange]) -> SeedGroup | None:
    """Return the group that a leader's SyncGroup shows; None if it is not a leader's, or shows too little."""
    assignments = {
        text(each, "member_id"): binary(each, "assignment") for each in items(sync.request, "assignments")
    }
    if sync.api != "SyncGroup" or sync.answer is None or sync.error != NO_ERROR or not assignments:
        return None
    generation_id, leader = number(sync.request, "generation_id"), text(sync.request, "member_id")
    latest: dict[str, Exchange] = {}
    for join in joins:
        if join.answer is None or join.error != NO_ERROR or join.answered_ms > sync.asked_ms:
            continue
        if number(join.answer, "generation_id") == generation_id:
            latest[text(join.answer, "member_id")] = join
    reported = latest.get(leader)
    if reported is None or reported.answer is None or not list(items(reported.answer, "members")):
        return None
    members = [_member(each, latest, assignments) for each in items(reported.answer, "members")]
    known = [each for each in members if each is not None]
    if len(known) != len(members):
        return None
    return SeedGroup(
        group_id=GroupId(text(sync.request, "group_id")),
        protocol_type=text(reported.request, "protocol_type"),
        generation_id=GenerationId(generation_id),
        protocol=text(reported.answer, "protocol_name"),
        leader=MemberId(leader),
        current_state_timestamp_ms=_AT_PLANTING,
        members=tuple(known),
    )


def _member(
    reported: Fields, latest: Mapping[str, Exchange], assignments: Mapping[str, bytes]
) -> GroupMetadataRecordMember | None:
    member_id = text(reported, "member_id")
    join = latest.get(member_id)
    if join is None:
        return None
    rebalance_timeout_ms = number(join.request, "rebalance_timeout_ms")
    session_timeout_ms = number(join.request, "session_timeout_ms")
    instance_id = text(reported, "group_instance_id")
    return GroupMetadataRecordMember(
        member_id=MemberId(member_id),
        group_instance_id=GroupInstanceId(instance_id) if instance_id else None,
        client_id=join.actor or "",
        client_host=CLIENT_HOST,
        rebalance_timeout_ms=Millis(
            rebalance_timeout_ms if rebalance_timeout_ms >= 0 else session_timeout_ms
        ),
        session_timeout_ms=Millis(session_timeout_ms),
        subscription=binary(reported, "metadata"),
        assignment=assignments.get(member_id, b""),
    )


def first_offsets(
    operations: Iterable[Exchange], group_id: str, names: Mapping[str, str]
) -> tuple[SeedOffset, ...]:
    """Return the offsets that existed before the operations: those that were fetched before any write."""
    found: dict[TopicPartition, SeedOffset | None] = {}
    for partition, fetched in _offsets_named(operations, group_id, names):
        found.setdefault(partition, fetched)
    return tuple(each for each in found.values() if each is not None and each.offset != NO_OFFSET)


def named_partitions(
    operations: Iterable[Exchange], group_id: str, names: Mapping[str, str]
) -> frozenset[TopicPartition]:
    """Return the partitions whose offsets the operations wrote or fetched."""
    return frozenset(partition for partition, _ in _offsets_named(operations, group_id, names))


def _offsets_named(
    operations: Iterable[Exchange], group_id: str, names: Mapping[str, str]
) -> Iterator[tuple[TopicPartition, SeedOffset | None]]:
    """Yield the partitions that operations name, each with its offset if fetched, or None if written."""
    for operation in operations:
        if operation.descriptor.offsets in NAMES_WRITTEN_OFFSETS:
            yield from ((partition, None) for partition in _partitions(operation.request, names))
        if operation.descriptor.offsets is OffsetUse.FETCHES and operation.answer is not None:
            for offset in _fetched(operation.answer, group_id, names):
                yield (offset.topic, offset.partition), offset


def _partitions(request: Fields, names: Mapping[str, str]) -> Iterator[TopicPartition]:
    for topic, partition in partitions_in(request):
        yield _name_of(topic, names), number(partition, "partition_index")


def _name_of(topic: Fields, names: Mapping[str, str]) -> str:
    return text(topic, "name") or names.get(text(topic, "topic_id"), "")


def _offset(group_id: str, topic: Fields, partition: Fields, names: Mapping[str, str]) -> SeedOffset:
    return SeedOffset(
        group_id=GroupId(group_id),
        topic=_name_of(topic, names),
        partition=number(partition, "partition_index"),
        offset=number(partition, "committed_offset"),
        leader_epoch=number(partition, "committed_leader_epoch"),
        metadata=text(partition, "committed_metadata") or text(partition, "metadata"),
        commit_timestamp_ms=_AT_PLANTING,
        expire_timestamp_ms=None,
    )


def _fetched(answer: Fields, group_id: str, names: Mapping[str, str]) -> Iterator[SeedOffset]:
    parts = [each for each in items(answer, "groups") if text(each, "group_id") == group_id]
    for part in parts or [answer]:
        for topic, partition in partitions_in(part):
            if text(partition, "error_code") == NO_ERROR:
                yield _offset(group_id, topic, partition, names)


def carried(
    seed: Seed, operations: Iterable[Exchange], *, at_ms: float, names: Mapping[str, str]
) -> Seed | None:
    """Return what a new coordinator finds in the log; None if that is unknown.

    A rebalance under way is lost. It is unknown whether the log has the effect of a sync, a leave, a
    deletion, a heartbeat with an epoch or a static member's join that was under way.
    """
    offsets = {(each.topic, each.partition): each for each in seed.offsets}
    undecided: set[TopicPartition] = set()
    for operation in operations:
        if operation.tells_of_no_coordinator:
            continue
        match operation.api:
            case "SyncGroup" | "LeaveGroup" | "DeleteGroups":
                return None
            case api if api in HEARTBEATS:
                return None
            case "JoinGroup" if text(operation.request, "group_instance_id"):
                return None
            case _ if operation.descriptor.offsets in NAMES_WRITTEN_OFFSETS:
                undecided.update(_partitions(operation.request, names))
            case _:
                continue
    kept = tuple(each for partition, each in offsets.items() if partition not in undecided)
    unknown = None if seed.unknown is None else seed.unknown | undecided
    return replace(seed, at_ms=at_ms, offsets=kept, unknown=unknown)
