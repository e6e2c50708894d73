"""The language of client scripts: topics, clients that are told what to do, and what must be seen of them.

A script is a function that is run once, without any client, and recorded. It cannot branch on what a client
sees, so every client on every target is told the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.clients.sheet import client_script
from harness.clients.steps import (
    Account,
    Callback,
    ClientStep,
    Command,
    Deliver,
    DoToBroker,
    Elapse,
    Fact,
    Feature,
    FindCoordinator,
    GrowTopic,
    Kill,
    Launch,
    MakeTopic,
    Notice,
    Ownership,
    Settle,
    Verb,
)
from harness.scenario.errors import ScenarioError
from harness.targets.base.interface import BrokerAction

__all__ = [
    "COOPERATIVE",
    "RANGE",
    "ROUND_ROBIN",
    "STICKY",
    "Feature",
    "Ownership",
    "Play",
    "TestClient",
    "Topic",
    "assigned",
    "client_script",
    "lost",
    "revoked",
]
RANGE: Final = "range"
ROUND_ROBIN: Final = "roundrobin"
STICKY: Final = "sticky"
COOPERATIVE: Final = "cooperative-sticky"
_HEARTBEAT_MS: Final = 500
"""Members learn of a rebalance from a heartbeat, so the default of 3 s would make every one last as long."""
_BY_ASSIGNOR: Final = {
    RANGE: Feature.RANGE,
    ROUND_ROBIN: Feature.ROUND_ROBIN,
    STICKY: Feature.STICKY,
    COOPERATIVE: Feature.COOPERATIVE,
}
ExpectedCallback = tuple[Callback, int]


def assigned(count: int) -> ExpectedCallback:
    """Return the callback that so many partitions are assigned."""
    return (Callback.ASSIGNED, count)


def revoked(count: int) -> ExpectedCallback:
    """Return the callback that so many partitions are revoked."""
    return (Callback.REVOKED, count)


def lost(count: int) -> ExpectedCallback:
    """Return the callback that so many partitions are lost."""
    return (Callback.LOST, count)


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

    def __init__(self, play: "Play", name: str, group: str | None) -> None:
        self._play = play
        self.name = name
        self._group = group

    def _tell(
        self,
        verb: Verb,
        *,
        answers: Fact = None,
        refused_as: Sequence[str] = (),
        may_be_told: Sequence[str] = (),
        **arguments: Fact,
    ) -> None:
        names = {"refused_as": tuple(refused_as), "may_be_told": tuple(may_be_told)}
        self._play.add(Command(client=self.name, verb=verb, arguments=arguments, answers=answers, **names))

    def subscribes(self, *topics: Topic, polls: bool = True, refused_as: Sequence[str] = ()) -> None:
        """Subscribe to topics, and poll from now on or wait until told to take records."""
        names = [topic.name for topic in topics]
        self._tell(Verb.SUBSCRIBE, refused_as=refused_as, topics=names, polls=polls)

    def subscribes_to_pattern(self, pattern: str) -> None:
        """Subscribe to whatever topics of the script match a regular expression from their first letter."""
        self._tell(Verb.SUBSCRIBE_PATTERN, pattern=pattern)

    def unsubscribes(self) -> None:
        """Give up the subscription, and with it the membership."""
        self._tell(Verb.UNSUBSCRIBE)

    def assigns(self, *partitions: str, refused_as: Sequence[str] = ()) -> None:
        """Take partitions without a group's leave, and poll from now on."""
        self._tell(Verb.ASSIGN, refused_as=refused_as, partitions=list(partitions))

    def takes(self, count: int) -> None:
        """Poll until so many records are there, not one more, and poll no more."""
        self._tell(Verb.TAKE, count=count, answers=count)

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

    def closes(self) -> None:
        """Say goodbye: a dynamic member leaves, a static one does not. Its process ends."""
        self._tell(Verb.CLOSE)

    def crashes(self) -> None:
        """Be killed."""
        self._play.add(Kill(client=self.name))

    def notices(self, *names: str) -> None:
        """Be told an error, or of partitions, of one of these names, on its own account."""
        self._play.add(Notice(client=self.name, names=names))

    def finds_its_commits(self) -> None:
        """Look up the partition of `__consumer_offsets` in which its group's commits lie."""
        if self._group is None:
            raise ScenarioError(f"{self.name} has no group")
        self._play.add(FindCoordinator(client=self.name, group=self._group))


class Play:
    """What a script function speaks to."""

    def __init__(self) -> None:
        self.steps: list[ClientStep] = []
        self.features: set[Feature] = set()
        self.two_owners_allowed = ""
        self.extra_callbacks_allowed = ""
        self._names: set[str] = set()

    def add(self, step: ClientStep) -> None:
        """Take a step down."""
        self.steps.append(step)

    def topic(self, name: str, *, partitions: int) -> Topic:
        """Make a topic."""
        self.add(MakeTopic(topic=name, partition_count=partitions))
        return Topic(name=name, partition_count=partitions)

    def grows(self, topic: Topic, *, partitions: int) -> None:
        """Give a topic more partitions."""
        topic.partition_count = partitions
        self.add(GrowTopic(topic=topic.name, partition_count=partitions))

    def client(self, name: str, *, group: str | None = "group", **settings: str | int | bool) -> TestClient:
        """Start a client; its name is new, and it is the client's id too.

        Members are sorted by their ids, which begin with this name, so that who comes first is no chance.
        """
        if name in self._names:
            raise ScenarioError(f"there is a client {name} already; name another, or give it an instance id")
        self._names.add(name)
        if group is not None:
            settings = {"heartbeat_interval_ms": _HEARTBEAT_MS, **settings, "group_id": group}
        if "group_instance_id" in settings:
            self.features.add(Feature.STATIC)
        if "transactional_id" in settings:
            self.features.add(Feature.TRANSACTIONS)
        assignor = settings.get("assignor")
        if assignor is not None:
            self.features.add(_BY_ASSIGNOR[str(assignor)])
        self.add(Launch(client=name, settings=dict(settings)))
        return TestClient(self, name, group)

    def settles(
        self,
        owns: Mapping[TestClient, Iterable[str]],
        *,
        callbacks: Mapping[TestClient, Sequence[ExpectedCallback]] | None = None,
    ) -> None:
        """Wait until each member owns what it must."""
        exact = {client.name: tuple(sorted(partitions)) for client, partitions in owns.items()}
        self.add(
            Settle(
                clients=tuple(exact),
                partitions=tuple(sorted(partition for part in exact.values() for partition in part)),
                owns=exact,
                callbacks=_by_name(callbacks),
            )
        )

    def settles_evenly(
        self,
        clients: Sequence[TestClient],
        *topics: Topic,
        because: str,
        moved: int | None = None,
        callbacks: Mapping[TestClient, Sequence[ExpectedCallback]] | None = None,
    ) -> None:
        """Wait until members own all partitions of topics, as evenly as can be; who owns which is free.

        Args:
            clients: the members.
            topics: all that they subscribe to.
            because: why it is free.
            moved: how many partitions must have come from one member to another.
            callbacks: what clients must have been told since the last step that looked.
        """
        partitions = tuple(sorted(partition for topic in topics for partition in topic.partitions))
        least, rest = divmod(len(partitions), len(clients))
        self.add(
            Settle(
                clients=tuple(client.name for client in clients),
                partitions=partitions,
                sizes=tuple(least + (1 if place < rest else 0) for place in range(len(clients))),
                because=because,
                moved=moved,
                callbacks=_by_name(callbacks),
            )
        )

    def delivers(self, to: Sequence[TestClient], values: Mapping[str, Sequence[str]]) -> None:
        """Wait until records came to those who poll: these, each once, in order within each partition."""
        reported = {partition: tuple(each) for partition, each in values.items()}
        self.add(Deliver(clients=tuple(client.name for client in to), values=reported))

    def accounts(self, topic: Topic, processed: Mapping[str, int]) -> None:
        """Count how often each record was processed."""
        self.add(Account(topic=topic.name, processed=dict(processed)))

    def restarts_broker(self) -> None:
        """Stop the coordinator's broker and start it again."""
        self.add(DoToBroker(lever=BrokerAction.RESTART))

    def kills_broker(self) -> None:
        """End the coordinator's broker by force; it starts again, or another one takes over."""
        self.add(DoToBroker(lever=BrokerAction.KILL))

    def moves_coordinator(self) -> None:
        """Make another broker the coordinator; the former one lives on."""
        self.add(DoToBroker(lever=BrokerAction.MOVE))

    def elapses(self, duration_ms: int) -> None:
        """Let time pass, where nothing that could be waited for is to happen."""
        self.add(Elapse(duration_ms=duration_ms))

    def allows_two_owners(self, because: str) -> None:
        """Say why two clients may think at once that they own a partition."""
        self.two_owners_allowed = because

    def allows_extra_callbacks(self, because: str) -> None:
        """Say why clients may be told of partitions after the last step that looked."""
        self.extra_callbacks_allowed = because


def _by_name(
    callbacks: Mapping[TestClient, Sequence[ExpectedCallback]] | None,
) -> dict[str, tuple[ExpectedCallback, ...]]:
    return {client.name: tuple(reported) for client, reported in (callbacks or {}).items()}
