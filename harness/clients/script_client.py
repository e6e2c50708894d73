"""The topics of a client script, and the clients that it commands."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.clients.steps import ClientStep, Command, Fact, FindCoordinator, Kill, Notice, Verb
from harness.scenario.errors import ScenarioError


@dataclass(slots=True, kw_only=True, eq=False)
class Topic:
    """A topic of the script, with the values that the script has written to it."""

    name: str
    partition_count: int
    _written: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def partitions(self) -> tuple[str, ...]:
        """The topic's partitions as texts, in order."""
        return tuple(f"{self.name}-{number}" for number in range(self.partition_count))

    def values(self, *, since: int = 0, until: int | None = None) -> dict[str, tuple[str, ...]]:
        """Return the values written to each partition between two positions; omit empty partitions."""
        sliced = {partition: tuple(self._written[partition][since:until]) for partition in self.partitions}
        return {partition: values for partition, values in sliced.items() if values}

    def write(self, count: int) -> dict[str, Fact]:
        """Make `count` further values for each partition."""
        made: dict[str, Fact] = {}
        for partition in self.partitions:
            first = len(self._written[partition])
            values = [f"{partition}#{number}" for number in range(first, first + count)]
            self._written[partition] += values
            made[partition] = list(values)
        return made


class TestClient:
    """A client that the script commands; each method records one step."""

    __test__ = False

    def __init__(
        self, add: Callable[[ClientStep], None], name: str, settings: Mapping[str, str | int | bool]
    ) -> None:
        self._add = add
        self.name = name
        self.settings = settings

    def _tell(
        self,
        verb: Verb,
        *,
        answers: Fact = None,
        refused_as: Sequence[str] = (),
        may_be_told: Sequence[str] = (),
        **arguments: Fact,
    ) -> None:
        self._add(
            Command(
                client=self.name,
                verb=verb,
                arguments=arguments,
                answers=answers,
                refused_as=tuple(refused_as),
                may_be_told=tuple(may_be_told),
            )
        )

    def _sees(self, verb: Verb, group: str, answers: Fact) -> None:
        """Describe a group repeatedly until it is as expected."""
        named: dict[str, Fact] = {"group": group}
        self._add(Command(client=self.name, verb=verb, arguments=named, answers=answers, eventually=True))

    def subscribes(
        self,
        *topics: Topic,
        polls: bool = True,
        refused_as: Sequence[str] = (),
        may_be_told: Sequence[str] = (),
    ) -> None:
        """Subscribe to topics; then poll from now on, or wait for a command to take records.

        Args:
            topics: all topics whose records it is to be delivered.
            polls: whether it polls from now on.
            refused_as: names of errors; one of them must refuse it.
            may_be_told: names of errors that it may get later, such as for topics that do not exist yet.
        """
        names = [topic.name for topic in topics]
        arguments: dict[str, Fact] = {"topics": list(names), "polls": polls}
        self._tell(Verb.SUBSCRIBE, refused_as=refused_as, may_be_told=may_be_told, **arguments)

    def subscribes_to_pattern(self, pattern: str) -> None:
        """Subscribe to all topics of the script that match a regular expression from their first letter."""
        self._tell(Verb.SUBSCRIBE_PATTERN, pattern=pattern)

    def unsubscribes(self) -> None:
        """Give up the subscription, and with it the membership."""
        self._tell(Verb.UNSUBSCRIBE)

    def assigns(self, *partitions: str, refused_as: Sequence[str] = ()) -> None:
        """Assign partitions manually, without a group, and poll from now on."""
        self._tell(Verb.ASSIGN, refused_as=refused_as, partitions=list(partitions))

    def takes(self, count: int, *, refused_as: Sequence[str] = ()) -> None:
        """Poll until exactly this many records were delivered, then stop polling."""
        self._tell(Verb.TAKE, count=count, answers=count, refused_as=refused_as)

    def works(self, *topics: Topic, may_be_told: Sequence[str] = ()) -> None:
        """Subscribe, and commit after each poll from now on; commits may fail with errors of these names."""
        self._tell(Verb.WORK, may_be_told=may_be_told, topics=[topic.name for topic in topics])

    def has_lost_no_commit(self) -> None:
        """Fetch the group's offsets; no commit that was acknowledged during its work may be missing."""
        self._tell(Verb.LOST_COMMITS, answers=[])

    def stands_still(self) -> None:
        """Stop polling."""
        self._tell(Verb.STAND_STILL)

    def goes_on(self) -> None:
        """Poll again."""
        self._tell(Verb.GO_ON)

    def processes(self) -> None:
        """Process the records that were taken and not yet processed."""
        self._tell(Verb.PROCESS)

    def commits(self, *, refused_as: Sequence[str] = ()) -> None:
        """Commit the position in each owned partition that records came from, and wait for the answer."""
        self._tell(Verb.COMMIT, refused_as=refused_as)

    def seeks(self, partition: str, offset: int) -> None:
        """Seek to an offset."""
        self._tell(Verb.SEEK, partition=partition, offset=offset)

    def pauses(self, *partitions: str) -> None:
        """Stop fetching records from partitions."""
        self._tell(Verb.PAUSE, partitions=list(partitions))

    def resumes(self, *partitions: str) -> None:
        """Fetch records from partitions again."""
        self._tell(Verb.RESUME, partitions=list(partitions))

    def is_at(self, positions: Mapping[str, int]) -> None:
        """Report the positions, which must be these."""
        answers: dict[str, Fact] = dict(positions)
        self._tell(Verb.POSITIONS, answers=answers, partitions=sorted(positions))

    def sees_committed(self, offsets: Mapping[str, int | None]) -> None:
        """Report the group's committed offsets, which must be these; None for no commit."""
        answers: dict[str, Fact] = dict(offsets)
        self._tell(Verb.COMMITTED, answers=answers, partitions=sorted(offsets))

    def produces(self, topic: Topic, each: int) -> None:
        """Write `each` records to each partition, and wait until they are acknowledged."""
        self._tell(Verb.PRODUCE, records=topic.write(each))

    def begins_transaction(self) -> None:
        """Begin a transaction; the first time, fence the former producer of the transactional id."""
        self._tell(Verb.BEGIN)

    def forwards(self, to: Topic) -> None:
        """Write the taken records to partition 0 of another topic, and wait until they are acknowledged."""
        self._tell(Verb.FORWARD, topic=to.name)

    def sends_offsets(self, *, refused_as: Sequence[str] = ()) -> None:
        """Add the client's positions as offsets to the transaction."""
        self._tell(Verb.SEND_OFFSETS, refused_as=refused_as)

    def commits_transaction(self, *, refused_as: Sequence[str] = ()) -> None:
        """Commit the transaction."""
        self._tell(Verb.COMMIT_TRANSACTION, refused_as=refused_as)

    def aborts_transaction(self) -> None:
        """Abort the transaction."""
        self._tell(Verb.ABORT_TRANSACTION)

    def sees_group(
        self,
        group: str,
        *,
        state: str,
        assignor: str,
        members: "Mapping[TestClient, Iterable[str]]",
        offsets: Mapping[str, tuple[int, int]],
    ) -> None:
        """Describe a group with an admin client; the description must be this.

        Args:
            group: the name of the group.
            state: Kafka's name for the state, in capitals.
            assignor: the protocol that was chosen; empty if the group has no members.
            members: the partitions of each client.
            offsets: committed offset and log end offset by partition; without partitions that have no commit.
        """
        answers: dict[str, Fact] = {
            "state": state,
            "assignor": assignor,
            "members": {client.name: sorted(partitions) for client, partitions in members.items()},
            "offsets": {partition: list(reported) for partition, reported in offsets.items()},
        }
        self._tell(Verb.DESCRIBE, answers=answers, group=group)

    def acknowledges(self, as_: str, *values: str) -> None:
        """Acknowledge records that a share group delivered; the next commit or poll sends this.

        Args:
            as_: `accept`, `release` or `reject`.
            values: the values of the records; if there are none, all records that are not acknowledged yet.
        """
        self._tell(Verb.ACKNOWLEDGE, type=as_, values=list(values))

    def sees_share_group(
        self,
        group: str,
        *,
        state: str,
        members: "Mapping[TestClient, Iterable[str]]",
        offsets: Mapping[str, int | None],
    ) -> None:
        """Describe a share group with an admin client until the description is this.

        Args:
            group: the name of the group.
            state: Kafka's name for the state, in capitals.
            members: the partitions of each client.
            offsets: the start offset of each partition; None if none is written.
        """
        answers: dict[str, Fact] = {
            "state": state,
            "members": {client.name: sorted(partitions) for client, partitions in members.items()},
            "offsets": dict(offsets),
        }
        self._sees(Verb.DESCRIBE_SHARE, group, answers)

    def rewinds_share_group(
        self, group: str, *partitions: str, offset: int, refused_as: Sequence[str] = ()
    ) -> None:
        """Reset a share group to an offset."""
        where = list(partitions)
        self._tell(Verb.REWIND_SHARE, refused_as=refused_as, group=group, partitions=where, offset=offset)

    def deletes_share_group(self, group: str, *, refused_as: Sequence[str] = ()) -> None:
        """Delete a share group."""
        self._tell(Verb.DELETE_SHARE, refused_as=refused_as, group=group)

    def streams(self, *topics: Topic, to: Topic, regroups: bool = False) -> None:
        """Run a topology that numbers the records of each partition, in a store with a changelog.

        Args:
            topics: the sources of the topology.
            to: the sink; `orders-0#7`, the eighth, is written there as `orders-0#7=8`.
            regroups: whether the records go through a repartition topic first.
        """
        names: list[Fact] = [topic.name for topic in topics]
        self._tell(Verb.STREAM, topics=names, topic=to.name, regroups=regroups)

    def sees_streams_group(
        self,
        group: str,
        *,
        state: str,
        tasks: "Mapping[TestClient, tuple[int, int, int]]",
        offsets: Mapping[str, int],
    ) -> None:
        """Describe a streams group with an admin client until the description is this.

        Args:
            group: the name of the group.
            state: Kafka's name for the state, in capitals.
            tasks: the numbers of active, standby and warm-up tasks of each client.
            offsets: the committed offset of each partition.
        """
        answers: dict[str, Fact] = {
            "state": state,
            "tasks": {client.name: list(each) for client, each in tasks.items()},
            "offsets": dict(offsets),
        }
        self._sees(Verb.DESCRIBE_STREAMS, group, answers)

    def deletes_streams_group(self, group: str, *, refused_as: Sequence[str] = ()) -> None:
        """Delete a streams group."""
        self._tell(Verb.DELETE_STREAMS, refused_as=refused_as, group=group)

    def closes(self) -> None:
        """Close the client: a dynamic member leaves, a static one does not. The process ends."""
        self._tell(Verb.CLOSE)

    def crashes(self) -> None:
        """Kill the client's process."""
        self._add(Kill(client=self.name))

    def notices(self, *names: str) -> None:
        """Wait until the client itself reports an error, a callback or a delivery with one of these names."""
        self._add(Notice(client=self.name, names=names))

    def finds_its_commits(self) -> None:
        """Look up the partition of `__consumer_offsets` that contains its group's commits."""
        if "group_id" not in self.settings:
            raise ScenarioError(f"{self.name} has no group")
        self._add(FindCoordinator(client=self.name, group=str(self.settings["group_id"])))
