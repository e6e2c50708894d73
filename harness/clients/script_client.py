"""The topics of a client script, and the clients that it tells what to do."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.clients.steps import ClientStep, Command, Fact, FindCoordinator, Kill, Notice, Verb
from harness.scenario.errors import ScenarioError


@dataclass(slots=True, kw_only=True, eq=False)
class Topic:
    """A topic of the script, and what it had written to it."""

    name: str
    partition_count: int
    _written: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def partitions(self) -> tuple[str, ...]:
        """Its partitions as texts, in order."""
        return tuple(f"{self.name}-{number}" for number in range(self.partition_count))

    def values(self, *, since: int = 0, until: int | None = None) -> dict[str, tuple[str, ...]]:
        """Return what was written to each partition that has any, from one position to another."""
        sliced = {partition: tuple(self._written[partition][since:until]) for partition in self.partitions}
        return {partition: values for partition, values in sliced.items() if values}

    def write(self, count: int) -> dict[str, Fact]:
        """Make so many further values for each partition."""
        made: dict[str, Fact] = {}
        for partition in self.partitions:
            first = len(self._written[partition])
            values = [f"{partition}#{number}" for number in range(first, first + count)]
            self._written[partition] += values
            made[partition] = list(values)
        return made


class TestClient:
    """A client that the script tells what to do; each method is one step."""

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
        """Look at a group until it is as it must be."""
        named: dict[str, Fact] = {"group": group}
        self._add(Command(client=self.name, verb=verb, arguments=named, answers=answers, eventually=True))

    def subscribes(
        self,
        *topics: Topic,
        polls: bool = True,
        refused_as: Sequence[str] = (),
        may_be_told: Sequence[str] = (),
    ) -> None:
        """Subscribe to topics, and poll from now on or wait until told to take records.

        Args:
            topics: all that it is to be delivered records of.
            polls: whether it polls from now on.
            refused_as: names of errors, one of which must refuse it.
            may_be_told: names of errors that it may be told of later, as of topics that are not there yet.
        """
        names = [topic.name for topic in topics]
        arguments: dict[str, Fact] = {"topics": list(names), "polls": polls}
        self._tell(Verb.SUBSCRIBE, refused_as=refused_as, may_be_told=may_be_told, **arguments)

    def subscribes_to_pattern(self, pattern: str) -> None:
        """Subscribe to whatever topics of the script match a regular expression from their first letter."""
        self._tell(Verb.SUBSCRIBE_PATTERN, pattern=pattern)

    def unsubscribes(self) -> None:
        """Give up the subscription, and with it the membership."""
        self._tell(Verb.UNSUBSCRIBE)

    def assigns(self, *partitions: str, refused_as: Sequence[str] = ()) -> None:
        """Take partitions without a group's leave, and poll from now on."""
        self._tell(Verb.ASSIGN, refused_as=refused_as, partitions=list(partitions))

    def takes(self, count: int, *, refused_as: Sequence[str] = ()) -> None:
        """Poll until so many records are there, not one more, and poll no more."""
        self._tell(Verb.TAKE, count=count, answers=count, refused_as=refused_as)

    def works(self, *topics: Topic, may_be_told: Sequence[str] = ()) -> None:
        """Subscribe, and commit after each poll from now on; commits may meet errors of these names."""
        self._tell(Verb.WORK, may_be_told=may_be_told, topics=[topic.name for topic in topics])

    def has_lost_no_commit(self) -> None:
        """Ask the group for what it has; no commit that was acknowledged while it worked must be missing."""
        self._tell(Verb.LOST_COMMITS, answers=[])

    def stands_still(self) -> None:
        """Poll no more."""
        self._tell(Verb.STAND_STILL)

    def goes_on(self) -> None:
        """Poll again."""
        self._tell(Verb.GO_ON)

    def processes(self) -> None:
        """Process what was taken and not yet processed."""
        self._tell(Verb.PROCESS)

    def commits(self, *, refused_as: Sequence[str] = ()) -> None:
        """Commit the position in each partition that it owns and had records of, and wait for it."""
        self._tell(Verb.COMMIT, refused_as=refused_as)

    def seeks(self, partition: str, offset: int) -> None:
        """Go to an offset."""
        self._tell(Verb.SEEK, partition=partition, offset=offset)

    def pauses(self, *partitions: str) -> None:
        """Ask for no more records of partitions."""
        self._tell(Verb.PAUSE, partitions=list(partitions))

    def resumes(self, *partitions: str) -> None:
        """Ask for records of partitions again."""
        self._tell(Verb.RESUME, partitions=list(partitions))

    def is_at(self, positions: Mapping[str, int]) -> None:
        """Tell the positions, which must be these."""
        answers: dict[str, Fact] = dict(positions)
        self._tell(Verb.POSITIONS, answers=answers, partitions=sorted(positions))

    def sees_committed(self, offsets: Mapping[str, int | None]) -> None:
        """Tell the group's committed offsets, which must be these; None is none."""
        answers: dict[str, Fact] = dict(offsets)
        self._tell(Verb.COMMITTED, answers=answers, partitions=sorted(offsets))

    def produces(self, topic: Topic, each: int) -> None:
        """Write so many records to each partition, and wait until they are acknowledged."""
        self._tell(Verb.PRODUCE, records=topic.write(each))

    def begins_transaction(self) -> None:
        """Begin a transaction; the first time, fence whoever had the transactional id before."""
        self._tell(Verb.BEGIN)

    def forwards(self, to: Topic) -> None:
        """Write what was taken to partition 0 of another topic, and wait until it is acknowledged."""
        self._tell(Verb.FORWARD, topic=to.name)

    def sends_offsets(self, *, refused_as: Sequence[str] = ()) -> None:
        """Make the commit of its positions a part of the transaction."""
        self._tell(Verb.SEND_OFFSETS, refused_as=refused_as)

    def commits_transaction(self, *, refused_as: Sequence[str] = ()) -> None:
        """End the transaction, so that it happened."""
        self._tell(Verb.COMMIT_TRANSACTION, refused_as=refused_as)

    def aborts_transaction(self) -> None:
        """End the transaction, so that it never happened."""
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
        """Describe a group as an administrator, which must be like this.

        Args:
            group: its name.
            state: in Kafka's letters, all capitals.
            assignor: the protocol that was chosen; empty where the group has no members.
            members: clients to their partitions.
            offsets: partitions to what is committed and where the log ends; those without a commit are not.
        """
        answers: dict[str, Fact] = {
            "state": state,
            "assignor": assignor,
            "members": {client.name: sorted(partitions) for client, partitions in members.items()},
            "offsets": {partition: list(reported) for partition, reported in offsets.items()},
        }
        self._tell(Verb.DESCRIBE, answers=answers, group=group)

    def acknowledges(self, as_: str, *values: str) -> None:
        """Say what became of records that a share group had delivered to it; a commit or a poll sends it.

        Args:
            as_: `accept`, `release` or `reject`.
            values: of the records; all that were not acknowledged yet if none is named.
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
        """Describe a share group as an administrator until it is like this.

        Args:
            group: its name.
            state: in Kafka's letters, all capitals.
            members: clients to their partitions.
            offsets: partitions to their start offsets; None where none is written.
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
        """Have a share group start again at an offset."""
        where = list(partitions)
        self._tell(Verb.REWIND_SHARE, refused_as=refused_as, group=group, partitions=where, offset=offset)

    def deletes_share_group(self, group: str, *, refused_as: Sequence[str] = ()) -> None:
        """Delete a share group."""
        self._tell(Verb.DELETE_SHARE, refused_as=refused_as, group=group)

    def streams(self, *topics: Topic, to: Topic, regroups: bool = False) -> None:
        """Run a topology that numbers the records of each partition, in a store with a changelog.

        Args:
            topics: its sources.
            to: its sink; `orders-0#7`, the eighth, is written there as `orders-0#7=8`.
            regroups: whether the records go through a repartition topic before.
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
        """Describe a streams group as an administrator until it is like this.

        Args:
            group: its name.
            state: in Kafka's letters, all capitals.
            tasks: clients to how many active, standby and warm-up tasks they have.
            offsets: partitions to what is committed.
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
        """Say goodbye: a dynamic member leaves, a static one does not. Its process ends."""
        self._tell(Verb.CLOSE)

    def crashes(self) -> None:
        """Be killed."""
        self._add(Kill(client=self.name))

    def notices(self, *names: str) -> None:
        """Be told an error, of partitions, or be delivered records, of one of these names, by itself."""
        self._add(Notice(client=self.name, names=names))

    def finds_its_commits(self) -> None:
        """Look up the partition of `__consumer_offsets` in which its group's commits lie."""
        if "group_id" not in self.settings:
            raise ScenarioError(f"{self.name} has no group")
        self._add(FindCoordinator(client=self.name, group=str(self.settings["group_id"])))
