"""The rows of the APIs of share groups, in the order of Kafka's keys."""

from typing import Final

from harness.apis.descriptor import HASH_OF_IDS, Access, ApiDescriptor, Subject, Unordered, assigned

_SHARE_PARTITIONS: Final = (
    Unordered(path="responses", key=("topic_id",), reason="hash-map order over random ids of topics"),
    Unordered(path="responses[].partitions", key=("partition_index",), reason="a map by partition"),
)
_SHARE_STATE: Final = tuple(
    ApiDescriptor(
        name=f"{name}ShareGroupState{rest}",
        key=key,
        groups=("group_id",),
        unordered=(
            Unordered(path="results", key=("topic_id",), reason="hash-map order over random ids of topics"),
            Unordered(path="results[].partitions", key=("partition",), reason="a map by partition"),
        ),
    )
    for key, name, rest in (
        (83, "Initialize", ""),
        (84, "Read", ""),
        (85, "Write", ""),
        (86, "Delete", ""),
        (87, "Read", "Summary"),
    )
)
OF_SHARE_GROUPS: Final = (
    ApiDescriptor(
        name="ShareGroupHeartbeat",
        key=76,
        subject=Subject.SHARE_GROUPS,
        groups=("group_id",),
        members=("member_id",),
        generation=("member_epoch",),
        is_prompt=True,
        learns=("member_id", "member_epoch", "assignment.topic_partitions"),
        learns_from_errors=False,
        unordered=assigned("assignment"),
        access=Access.CHANGES,
    ),
    ApiDescriptor(
        name="ShareGroupDescribe",
        key=77,
        subject=Subject.SHARE_GROUPS,
        groups=("group_ids",),
        group_entries="groups",
        unordered=(
            Unordered(path="groups", key=("group_id",), reason="partition by partition of the log"),
            Unordered(path="groups[].members", key=("member_id",), reason=HASH_OF_IDS),
            Unordered(path="groups[].members[].subscribed_topic_names", key=(), reason="a set of names"),
            *assigned("groups[].members[].assignment"),
        ),
        access=Access.READS,
    ),
    ApiDescriptor(
        name="ShareFetch",
        key=78,
        groups=("group_id",),
        unordered=_SHARE_PARTITIONS,
        addresses_since=1,
    ),
    ApiDescriptor(
        name="ShareAcknowledge",
        key=79,
        groups=("group_id",),
        unordered=_SHARE_PARTITIONS,
        addresses_since=1,
    ),
    *_SHARE_STATE,
)
"""The APIs of members, of what they fetch, and of the state that a share coordinator keeps."""
_ASKS_AGAIN_MS: Final = 30_000
"""How long a broker may take that asks share coordinators and leaders again, with growing pauses.

Source: PersisterStateManager#REQUEST_BACKOFF_MAX_MS (4.3.1).
"""
OF_SHARE_GROUP_OFFSETS: Final = (
    ApiDescriptor(
        name="DescribeShareGroupOffsets",
        key=90,
        subject=Subject.OTHER_GROUPS,
        groups=("groups[].group_id",),
        unordered=(
            Unordered(path="groups[].topics", key=("topic_name",), reason=HASH_OF_IDS),
            Unordered(
                path="groups[].topics[].partitions", key=("partition_index",), reason="a set of partitions"
            ),
        ),
        answered_within_ms=_ASKS_AGAIN_MS,
        access=Access.READS,
    ),
    ApiDescriptor(
        name="AlterShareGroupOffsets",
        key=91,
        subject=Subject.SHARE_GROUPS,
        groups=("group_id",),
        unordered=(Unordered(path="responses", key=("topic_name",), reason="refused topics come first"),),
        answered_within_ms=_ASKS_AGAIN_MS,
        access=Access.CHANGES,
    ),
    ApiDescriptor(
        name="DeleteShareGroupOffsets",
        key=92,
        subject=Subject.SHARE_GROUPS,
        groups=("group_id",),
        unordered=(Unordered(path="responses", key=("topic_name",), reason=HASH_OF_IDS),),
        answered_within_ms=_ASKS_AGAIN_MS,
        access=Access.CHANGES,
    ),
)
"""The APIs of share groups' offsets, which come after streams groups in the order of keys."""
