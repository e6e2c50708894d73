"""Recordings of groups whose members heartbeat with an epoch, and lies about them."""

from harness.tests.replayed import GROUP, TOPIC, Fields, Json, Recording


class EpochRecording(Recording):
    """Members who know their epochs."""

    def __init__(self, profile: str, **config: str) -> None:
        super().__init__(profile, **config)
        self.epochs: dict[str, int] = {}

    def looks_up(self, *names: str) -> None:
        """Ask for the ids and partitions of topics."""
        topics: tuple[Fields, ...] = tuple({"name": name} for name in names or (TOPIC,))
        self.sends("admin", "Metadata", 12, {"topics": topics, "allow_auto_topic_creation": False})

    def takes_over(self, api: str, member: str) -> Json:
        """Take over the epoch in the last answer to a heartbeat, and return the answer."""
        answer = self.last(api, member)
        if answer["error_code"] == "NONE":
            self.epochs[member] = int(str(answer["member_epoch"]))
        return answer

    def commits(self, member: str, epoch: int, offset: int) -> None:
        """Commit one offset with a member epoch."""
        partition: Fields = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        fields: Fields = {
            "group_id": GROUP,
            "generation_id_or_member_epoch": epoch,
            "member_id": member,
            "topics": ({"name": TOPIC, "partitions": (partition,)},),
        }
        self.sends(member, "OffsetCommit", 9, fields)

    def fetches(self, member: str, epoch: int) -> None:
        """Fetch that offset with a member epoch."""
        topics: tuple[Fields, ...] = ({"name": TOPIC, "partition_indexes": (0,)},)
        group: Fields = {"group_id": GROUP, "member_id": member, "member_epoch": epoch, "topics": topics}
        self.sends(member, "OffsetFetch", 9, {"groups": (group,)})


def one_epoch_further(fields: Json) -> None:
    """Change an answer to a heartbeat."""
    fields["member_epoch"] = int(str(fields["member_epoch"])) + 1


def described_as_empty(fields: Json) -> None:
    """Change a description."""
    groups = fields["groups"]
    assert isinstance(groups, list)
    groups[0]["group_state"] = "Empty"
