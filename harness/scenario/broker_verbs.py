"""The steps of a conversation that concern its broker, and the broker's log."""

from collections.abc import Mapping

from harness.scenario.errors import ScenarioError
from harness.scenario.log_records import LogRecord
from harness.scenario.script import Append, DoToBroker, PauseAt, Placement, ResumeFrom, Step
from harness.scenario.values import GroupRef
from harness.targets.base.interface import Breakpoint, BrokerAction


class BrokerVerbs:
    """The part of a conversation that is not sent to the coordinator."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.placements: dict[str, Placement] = {}
        self.known_topics: set[str | GroupRef] = set()
        """Topics whose ids an actor has learnt."""

    def group(
        self,
        name: str,
        *,
        partition: int | None = None,
        beside: GroupRef | None = None,
        apart_from: GroupRef | None = None,
    ) -> GroupRef:
        """Name another group of this scenario; every actor's own is `main`.

        Args:
            name: the symbolic name.
            partition: the partition of `__consumer_offsets` that it has to be in; by default, any.
            beside: a group whose partition it has to be in.
            apart_from: a group whose partition it must not be in.
        """
        wanted = {
            "partition": partition,
            "beside": None if beside is None else beside.name,
            "apart_from": None if apart_from is None else apart_from.name,
        }
        if any(value is not None for value in wanted.values()):
            self._place(Placement(group=name, **wanted))  # type: ignore[arg-type] # each by its name
        return GroupRef(name)

    def _place(self, placement: Placement) -> None:
        if self.placements.setdefault(placement.group, placement) != placement:
            raise ScenarioError(f"group {placement.group!r} is placed twice")
        placed_by_it = [each.group for each in self.placements.values() if placement.group in each.others]
        if placed_by_it:
            raise ScenarioError(
                f"group {placement.group!r} is placed after {placed_by_it[0]!r}, which is by it"
            )

    def restarts_coordinator(self, broker_config: Mapping[str, str | int] | None = None) -> None:
        """Stop the coordinator's broker and start it with its log; every connection is cut, actors reconnect.

        Answers of a broker that shuts down can be received afterwards: a connection with a request
        whose answer a later step awaits is not cut from the client's side.

        Args:
            broker_config: Kafka properties that change with the restart.
        """
        properties = {name: str(value) for name, value in (broker_config or {}).items()}
        self.steps.append(DoToBroker(lever=BrokerAction.RESTART.value, broker_config=properties))

    def kills_coordinator(self) -> None:
        """Kill the coordinator's broker; another takes over, or else it is started again."""
        self.steps.append(DoToBroker(lever=BrokerAction.KILL.value))

    def moves_coordinator(self) -> None:
        """Make another broker the coordinator; a connection stays with the former one until it is closed."""
        self.steps.append(DoToBroker(lever=BrokerAction.MOVE.value))

    def pauses_coordinator(self) -> None:
        """Pause the process of the coordinator's broker."""
        self.steps.append(DoToBroker(lever=BrokerAction.PAUSE.value))

    def resumes_coordinator(self) -> None:
        """Resume the paused process of the broker."""
        self.steps.append(DoToBroker(lever=BrokerAction.RESUME.value))

    def disconnects_coordinator(self) -> None:
        """Disconnect the coordinator's broker, which keeps running, from its network; another takes over."""
        self.steps.append(DoToBroker(lever=BrokerAction.DISCONNECT.value))

    def reconnects_coordinator(self) -> None:
        """Reconnect the broker that lost its network; it learns that another coordinates."""
        self.steps.append(DoToBroker(lever=BrokerAction.RECONNECT.value))

    def lengthens_log(self) -> None:
        """Make the coordinator's log so long that the next load takes a second or more."""
        self.steps.append(DoToBroker(lever=BrokerAction.LENGTHEN.value))

    def appends(self, *records: LogRecord, to: GroupRef | None = None, spoils: bool = False) -> None:
        """Write records into the log without the coordinator, which reads them when it loads the log.

        Args:
            records: written as one batch.
            to: the group whose partition they are written to; by default, `main`.
            spoils: whether some release can no longer load the partition, so that no other scenario's groups
                should be in it. If the partition is stated, scenarios that spoil other partitions may share
                the broker; then all groups of the scenario should have a stated partition.
        """
        group = GroupRef("main") if to is None else to
        self.steps.append(Append(group=group, records=records, spoils=spoils))

    def pauses_at(self, point: Breakpoint, *, of: GroupRef | tuple[GroupRef, ...] = ()) -> None:
        """Pause the coordinator when it next comes to a point of its code.

        Args:
            point: the breakpoint.
            of: the groups in whose partitions to pause it; in every partition if none is named.
        """
        self.steps.append(PauseAt(point=point.value, of=(of,) if isinstance(of, GroupRef) else of))

    def resumes_from(self, point: Breakpoint) -> None:
        """Resume the coordinator that is paused at a breakpoint."""
        self.steps.append(ResumeFrom(point=point.value))
