"""One scenario at a time, run on the reference in this process."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from harness.diff.judge import TargetInfo
from harness.mutants.patch import forget_answers
from harness.runner.drive import Drive, DriveSinks, Limits, Unwatched
from harness.scenario.script import Script
from harness.targets.base.kept import KeptTarget
from harness.targets.reference.target import ReferenceTarget
from harness.trace.events import Event

RUN_ID: Final = "mutants"
"""The same in every dry run, so that group ids are the same."""
UNMUTATED: Final = "unmutated reference"
_IDLE_FACTOR: Final = 20
"""How many times longer than its CPU time limit a conversation may last."""


class Hung(Exception):  # noqa: N818 - an observation
    """A conversation did not end."""


class DryRun:
    """Runs scenarios, keeping the brokers that they need.

    Attributes:
        limit_s: how much CPU time one conversation may take, in seconds.
        modules: the reference's modules whose caches are emptied before each run.
    """

    def __init__(self, directory: Path, *, limit_s: float, modules: Sequence[str] = ()) -> None:
        self.limit_s = limit_s
        self.modules = modules
        self._directory = directory
        self._targets: dict[str, KeptTarget] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_late = False

    def run(self, script: Script, profile: str) -> tuple[Event, ...]:
        """Run a scenario and return the recorded events.

        Raises:
            Hung: it took longer than the limit.
        """
        forget_answers(self.modules)
        target = self._targets.setdefault(profile, KeptTarget(ReferenceTarget(profile)))
        events: list[Event] = []
        drive = Drive(
            run_id=RUN_ID,
            target=target,
            target_name="mutant",
            limits=Limits(),
            sinks=DriveSinks(write=events.append, broker_ready=lambda _, __: None, logs=self._directory),
            watcher=Unwatched(),
        )
        self._loop = self._loop or asyncio.new_event_loop()
        try:
            with self._alarm():
                self._loop.run_until_complete(drive.run((script,)))
        except BaseException:
            self.close()
            if self._is_late:
                raise Hung from None
            raise
        if self._is_late:
            self.close()
            raise Hung
        return tuple(events)

    def close(self) -> None:
        """Close the event loop, so that nothing a mutant left in it affects the next one. Idempotent."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    @contextlib.contextmanager
    def _alarm(self) -> Iterator[None]:
        """Interrupt a run that takes too long, even in an endless loop."""
        self._is_late = False

        def interrupt(_: int, __: FrameType | None) -> None:
            self._is_late = True
            raise Hung

        before = {each: signal.signal(each, interrupt) for each in (signal.SIGPROF, signal.SIGALRM)}
        # CPU time, so that other jobs cannot make a run exceed its limit; and real time, since a waiting run
        # uses none. Repeated, since the interrupted code may catch the first.
        signal.setitimer(signal.ITIMER_PROF, self.limit_s, self.limit_s)
        idle_s = self.limit_s * _IDLE_FACTOR
        signal.setitimer(signal.ITIMER_REAL, idle_s, idle_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            for each, handler in before.items():
                signal.signal(each, handler)


def mutant_info(profile: str) -> TargetInfo:
    """Return the description of a mutant for the checker: it is compared with the unmutated reference."""
    return TargetInfo(run_id=RUN_ID, target="mutant", spec="reference", profile=profile, oracle=UNMUTATED)
