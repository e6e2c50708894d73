"""Recordings of a share group of the reference, as a tap would have kept them."""

from harness.tests.replayed import GROUP, TOPIC, Fields
from harness.tests.replayed_epochs import EpochRecording
from harness.trace.canonical import FieldValue

SHARES = {"group.share.enable": "true", "group.share.assignment.interval.ms": "0"}
IN_FLIGHT = "of ShareFetch and ShareAcknowledge, which depend on records in flight"
OFFSETS = "about offsets of share groups, which depend on what was acknowledged"


class Sharers(EpochRecording):
    """Members of a share group, who know their epochs."""

    def __init__(self, profile: str = "4.4") -> None:
        super().__init__(profile, **SHARES)
        self.looks_up()

    def joins(self, member: str, *topics: str) -> None:
        """Come to the group."""
        self.beats(member, member_epoch=0, subscribed_topic_names=topics or (TOPIC,))

    def beats(self, member: str, **fields: FieldValue) -> None:
        """Heartbeat, and take over the epoch that comes with the answer."""
        given: Fields = {
            "group_id": GROUP,
            "member_id": member,
            "member_epoch": self.epochs.get(member, 0),
            "subscribed_topic_names": None,
            **fields,
        }
        self.sends(member, "ShareGroupHeartbeat", 1, given)
        self.takes_over("ShareGroupHeartbeat", member)

    def describes(self) -> None:
        """Ask as an administrator how the group is."""
        self.sends("admin", "ListGroups", 5, {"states_filter": (), "types_filter": ()})
        self.sends("admin", "ShareGroupDescribe", 1, {"group_ids": (GROUP,)})

    def rewinds(self) -> None:
        """Ask for an offset, alter it, and delete it."""
        asked: Fields = {"group_id": GROUP, "topics": ({"topic_name": TOPIC, "partitions": (0,)},)}
        self.sends("admin", "DescribeShareGroupOffsets", 0, {"groups": (asked,)})
        partition: Fields = {"partition_index": 0, "start_offset": 0}
        topic: Fields = {"topic_name": TOPIC, "partitions": (partition,)}
        self.sends("admin", "AlterShareGroupOffsets", 0, {"group_id": GROUP, "topics": (topic,)})
        deleted: Fields = {"group_id": GROUP, "topics": ({"topic_name": TOPIC},)}
        self.sends("admin", "DeleteShareGroupOffsets", 0, deleted)


def shared(profile: str = "4.4") -> Sharers:
    """Ana has all partitions, bob comes, his session ends, and an empty group is rewound and deleted."""
    group = Sharers(profile)
    group.passes(30_000)
    group.joins("ana")
    group.beats("ana")
    group.describes()
    group.joins("bob")
    group.beats("ana")
    group.beats("bob")
    group.describes()
    for _ in range(12):
        group.passes(4_000)
        group.beats("ana")
    group.beats("bob")
    group.rewinds()
    group.beats("ana", member_epoch=-1)
    group.rewinds()
    group.describes()
    group.sends("admin", "DeleteGroups", 2, {"groups_names": (GROUP,)})
    group.describes()
    return group
