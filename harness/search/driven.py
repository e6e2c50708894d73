"""One side of a comparison in real time: a target that runs hundreds of conversations at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.runner.admission import Admission
from harness.runner.broker_actions import acts_on_broker
from harness.runner.drive import Drive, DriveSinks, Limits
from harness.runner.sharing import BrokerGroup, broker_groups
from harness.scenario.script import Script
from harness.search.moves import ALL_SHEETS
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.dialogue import NotYet
from harness.targets.base.interface import BrokerDescription, Target, TargetError, closing
from harness.targets.base.kept import KeptTarget
from harness.targets.base.prepare import ask_once, find_topic_ids
from harness.trace.events import Event

_SCENARIO_S = 30.0
_KEPT_FOR_MAX = 4_000
"""The most conversations with one broker: it lists the groups of all to each that asks for them."""
_ASKED_BETWEEN = "search/between"


class DrivenTarget:
    """A target that is driven as in a run, batch after batch, on brokers that stay up between batches.

    Attributes:
        target: the target as it was given.
        lost: why the target cannot be used any more; None while it can.
    """

    def __init__(self, target: Target, *, run_id: str, logs: Path, jobs: int) -> None:
        self.target = target
        self.lost: str | None = None
        self._kept = KeptTarget(target)
        self._acted_on = KeptTarget(target)
        self._run_id = run_id
        self._logs = logs
        self._limits = Limits(scenario_s=_SCENARIO_S, jobs=jobs)
        self._drives = 0
        self._kept_for = 0
        """How many conversations the kept brokers have had."""
        self._description: BrokerDescription | None = None

    async def begin(self, progress: Callable[[str], None]) -> BrokerDescription:
        """Start the broker with the usual configuration, and return its description.

        Raises:
            TargetError: the target cannot be started.
        """
        self.target.for_run(self._run_id)
        await self.target.fetch(progress)
        self._logs.mkdir(parents=True, exist_ok=True)
        broker = await self._kept.start(broker_config={}, directory=self._logs.absolute(), progress=progress)
        return broker.description

    async def run(self, scripts: Sequence[Script]) -> Mapping[str, Sequence[Event]]:
        """Run scripts at once; return the recorded events of each, in sequence.

        If the target is lost, the events up to then are returned, and `lost` is set to the reason.
        """
        heard: dict[str, Sequence[Event]] = {}
        ended = self._kept.failure() or self._acted_on.failure()
        if ended is not None:
            self.lost = _first_line(ended)
            return {each.id: () for each in scripts}
        for together in broker_groups(scripts, self.target.capabilities):
            await self._renew_brokers_for(together)
            heard |= await self._drive(self._of(together.scripts[0]), together.scripts)
        return heard

    async def _renew_brokers_for(self, together: BrokerGroup) -> None:
        """Stop the brokers that scripts would use if new ones serve them better."""
        if together.does_something:
            # What others have written before would be loaded, too.
            await self._acted_on.stop()
            return
        if self._kept_for + len(together.scripts) > _KEPT_FOR_MAX and not self.target.is_external:
            await self._kept.stop()
            self._kept_for = 0
        self._kept_for += len(together.scripts)

    def _of(self, script: Script) -> KeptTarget:
        """Return where a script runs: one that acts on its broker has no part in the broker of the others."""
        return self._acted_on if acts_on_broker(script) else self._kept

    async def _drive(self, target: KeptTarget, scripts: Sequence[Script]) -> Mapping[str, Sequence[Event]]:
        self._drives += 1
        # Each drive needs groups of its own. On an external broker, only the script's id names them.
        suffix = f"/{self._drives}" if self.target.is_external else ""
        recorded: dict[str, list[Event]] = {f"{each.id}{suffix}": [] for each in scripts}
        drive = Drive(
            run_id=f"{self._run_id}.{self._drives}",
            target=target,
            target_name=self.target.name,
            # The reference runs the conversation unchanged, so the target must too.
            fits=False,
            # Only digests are compared here. What is found is run again, with this check.
            is_written_again=False,
            # Most conversations have requests that stay parked, and nobody knows which.
            awaits_late=False,
            limits=self._limits,
            sinks=DriveSinks(
                write=lambda event: recorded[event.scenario_id].append(event),
                broker_ready=lambda *_: None,
                logs=self._logs / f"drive-{self._drives}",
            ),
            watcher=_Nobody(),
            admission=Admission(frozenset(), jobs=self._limits.jobs),
        )
        try:
            # All actors of the cast, so that ids get the same names as where the conversation was made.
            result = await drive.run(
                [replace(each, id=f"{each.id}{suffix}", actors=ALL_SHEETS) for each in scripts]
            )
            self.lost = result.lost
        except TargetError as error:
            self.lost = _first_line(str(error))
        return {each.id: recorded[f"{each.id}{suffix}"] for each in scripts}

    async def topic_ids(self, script: Script) -> Mapping[str, str]:
        """Return the topic ids of the broker that a script ran on; empty if they cannot be found."""
        if self.lost is not None:
            # A broker that is gone is not started again only to be asked.
            return {}
        try:
            broker = await self._of(script).start(
                broker_config=script.broker_config, directory=self._logs.absolute(), progress=lambda _: None
            )
            run_namespace = broker.run_namespace
            real = {
                name: name if run_namespace is None else run_namespace.namespace.topic(name)
                for name in CONFORMANCE_TOPICS
            }
            async with closing(broker.open_session(_ASKED_BETWEEN)) as session:
                found = await ask_once(session, lambda dialogue: find_topic_ids(dialogue, [*real.values()]))
        except (TargetError, NotYet):
            return {}
        return {name: found[each] for name, each in real.items() if each in found}

    async def stop(self) -> None:
        """Stop the target's brokers."""
        try:
            await self._kept.stop()
        finally:
            await self._acted_on.stop()


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


class _Nobody:
    """A watcher that ignores what happens in a drive."""

    def target_says(self, target: str, text: str) -> None:
        pass

    def drive_begins(self, target: str, scenario_count: int) -> None:
        pass

    def scenario_ended(self, target: str, scenario_id: str) -> None:
        pass
