"""Recordings of a streams group of the reference, as a tap would have kept them."""

from harness.tests.replayed import GROUP, TOPIC, Fields
from harness.tests.replayed_epochs import EpochRecording
from harness.trace.canonical import FieldValue

CHANGELOG = f"{GROUP}-numbers-changelog"
QUICK = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}
LATER_MS = 30_000
UNCHANGED = (
    *("topology", "active_tasks", "standby_tasks", "warmup_tasks"),
    *("client_tags", "task_offsets", "task_end_offsets"),
)
SUBTOPOLOGY: Fields = {
    "subtopology_id": "0",
    "source_topics": (TOPIC,),
    "source_topic_regex": (),
    "state_changelog_topics": (
        {"name": CHANGELOG, "partitions": 0, "replication_factor": -1, "topic_configs": ()},
    ),
    "repartition_sink_topics": (),
    "repartition_source_topics": (),
    "copartition_groups": (),
}


class Streams(EpochRecording):
    """Members of a streams group, who know their epochs and their tasks."""

    def __init__(self, profile: str = "4.4", **config: str) -> None:
        super().__init__(profile, **{**QUICK, **config})
        self.tasks: dict[str, FieldValue] = {}
        self.looks_up()

    def joins(self, member: str) -> None:
        """Come to the group with a topology that has a changelog."""
        nothing: Fields = dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks"), ())
        self.beats(
            member,
            member_epoch=0,
            rebalance_timeout_ms=10_000,
            process_id=f"process of {member}",
            topology={"epoch": 0, "subtopologies": (SUBTOPOLOGY,)},
            **nothing,
        )

    def beats(self, member: str, **fields: FieldValue) -> None:
        """Heartbeat, and take over the epoch and the tasks that come with the answer."""
        given: Fields = {
            "group_id": GROUP,
            "member_id": member,
            "member_epoch": self.epochs.get(member, 0),
            "endpoint_information_epoch": 0,
            **dict.fromkeys(UNCHANGED),
            **fields,
        }
        self.sends(member, "StreamsGroupHeartbeat", 0, given)
        answer = self.takes_over("StreamsGroupHeartbeat", member)
        if answer["active_tasks"] is not None:
            self.tasks[member] = answer["active_tasks"]  # type: ignore[assignment] # as it came

    def says_what_it_has(self, member: str) -> None:
        """Heartbeat with the tasks that it was given last."""
        self.beats(member, active_tasks=self.tasks[member], standby_tasks=(), warmup_tasks=())

    def describes(self) -> None:
        """Ask as an administrator how the group is."""
        self.sends("admin", "ListGroups", 5, {"states_filter": (), "types_filter": ()})
        self.sends("admin", "StreamsGroupDescribe", 0, {"group_ids": (GROUP,)})


def alone(profile: str = "4.4", **config: str) -> Streams:
    """Ana begins, and has all tasks once the changelog is there."""
    group = Streams(profile, **config)
    group.passes(LATER_MS)
    group.joins("ana")
    group.passes(LATER_MS)
    group.beats("ana")
    group.looks_up(CHANGELOG)
    group.says_what_it_has("ana")
    group.describes()
    return group


def handed_over(profile: str = "4.4") -> Streams:
    """Ana has all tasks, bob comes and gets half of them, both commit, and bob's session ends."""
    group = alone(profile)
    group.joins("bob")
    group.beats("ana")
    group.says_what_it_has("ana")
    group.beats("bob")
    group.says_what_it_has("bob")
    group.describes()
    group.commits("ana", group.epochs["ana"], 42)
    group.commits("bob", 0, 42)
    group.fetches("ana", group.epochs["ana"])
    for _ in range(12):
        group.passes(4_000)
        group.beats("ana")
    group.says_what_it_has("ana")
    group.beats("bob")
    group.beats("ana", member_epoch=-1)
    group.describes()
    return group
