"""The scenarios run on each faulty reference, in virtual time, and are judged as a broker's would be."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from faults.corpus import Fault
from faults.replacing import Reach, replaced
from harness.diff.judge import is_claim_true, judge
from harness.diff.raw_difference import Against
from harness.mutants.dry_run import DryRun, Hung, mutant_info
from harness.mutants.pool import Work, WorkerPool
from harness.mutants.source import behaviour_sources
from harness.scenario.script import Script
from harness.trace.events import Event
from harness.verdict import COMPARABLE, Outcome

_CONVERSATION_S: Final = 10.0
_JOB_S: Final = 1_800.0

Scripts = Mapping[str, Script]
Key = tuple[str, str]
"""A profile and a scenario's id."""
Tell = Callable[[str, int, int], None]
"""Called with the current activity, how much of it is done, and how much there is in all."""


class NotJudgedError(Exception):
    """A fault kept a conversation from being judged; the message says why."""


class ProcessEndedError(Exception):
    """A process that tried faults ended; the message names what it was trying."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A conversation with the healthy reference."""

    events: tuple[Event, ...]
    reached: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Red:
    """A scenario that does not conform on the faulty reference."""

    profile: str
    scenario: str
    reason: str
    is_claimed: bool
    """Whether what the scenario itself claims is not as it says."""
    is_headed: bool
    """Whether that is also the finding, which stands first."""
    is_of_release: bool = False
    """Whether it is said to show the switched behaviour, in which releases differ: its claim by release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The scenarios that a fault turned red, and those that could not be judged."""

    fault: str
    """The fault's id."""
    run_count: int
    """How many conversations reach the fault."""
    reds: tuple[Red, ...]
    broken: tuple[str, ...]
    """Why a conversation did not come to its end."""

    @property
    def claimed(self) -> tuple[Red, ...]:
        """The red scenarios whose own claim says it, or else their claim by release."""
        own = tuple(each for each in self.reds if each.is_claimed)
        return own or tuple(each for each in self.reds if each.is_of_release)


@dataclass(slots=True)
class Bench:
    """Runs conversations in this process; the healthy ones are kept."""

    scripts: Scripts
    dry_run: DryRun
    reach: Reach
    samples: dict[Key, Sample] = field(default_factory=dict)

    def sample(self, key: Key) -> Sample:
        """Return the conversation with the healthy reference."""
        if key not in self.samples:
            profile, scenario = key
            with self.reach.watching() as reached:
                events = self.dry_run.run(self.scripts[scenario], profile)
            self.samples[key] = Sample(events=events, reached=frozenset(reached))
        return self.samples[key]

    def try_fault(self, fault: Fault, scenarios: Sequence[str]) -> Trial:
        """Run the scenarios that reach a fault."""
        keys = [(profile, each) for profile in fault.profiles for each in scenarios]
        reaching = [key for key in keys if fault.reached_by in self.sample(key).reached]
        reds: list[Red] = []
        broken: list[str] = []
        with replaced(fault.replaces, fault.replacement):
            for key in reaching:
                try:
                    red = self._red(key, fault)
                except Hung:
                    broken.append(f"{key[1]}: it did not come to its end")
                except Exception as error:  # noqa: BLE001 - however a fault ends the reference
                    broken.append(f"{key[1]}: {error!r}")
                else:
                    reds += () if red is None else (red,)
        return Trial(fault=fault.id, run_count=len(reaching), reds=tuple(reds), broken=tuple(broken))

    def _red(self, key: Key, fault: Fault) -> Red | None:
        profile, scenario = key
        script, healthy = self.scripts[scenario], self.samples[key].events
        judged = judge(script, mutant_info(profile), self.dry_run.run(script, profile), healthy)
        outcome = judged.judgement.outcome
        if outcome != Outcome.DIVERGES:
            if outcome not in COMPARABLE | {Outcome.NOT_APPLICABLE}:
                raise NotJudgedError(judged.judgement.reason)
            return None
        return Red(
            profile=profile,
            scenario=scenario,
            reason=judged.judgement.reason,
            is_claimed=not is_claim_true(judged.differences),
            is_headed=judged.differences[0].against == Against.EXPECTATION,
            is_of_release=fault.behaviour is not None and scenario in fault.red,
        )


def bench(scripts: Scripts, faults: Sequence[Fault], directory: Path) -> Bench:
    """Return a bench on which faults can be tried."""
    modules = [each.name for each in behaviour_sources()]
    return Bench(scripts, DryRun(directory, limit_s=_CONVERSATION_S, modules=modules), Reach(faults))


def campaign(scripts: Scripts, faults: Sequence[Fault], *, jobs: int, tell: Tell) -> Iterator[Trial]:
    """Run all scenarios on each fault, in several processes, and yield the results as they come.

    Raises:
        ProcessEndedError: a conversation ended its process, or did not come to its end.
    """
    with tempfile.TemporaryDirectory() as directory:
        one = bench(scripts, faults, Path(directory))
        keys = [(each, script) for each in dict.fromkeys(_profiles(faults)) for script in scripts]

        def measure() -> Work[tuple[Key, Sample]]:
            return lambda job: (keys[job], one.sample(keys[job]))

        def attempt() -> Work[Trial]:
            return lambda job: one.try_fault(faults[job], tuple(scripts))

        pool = WorkerPool(prepare=measure, given_up=lambda job: _ended(keys[job]), size=jobs, limit_s=_JOB_S)
        for through, (key, sample) in enumerate(pool.results(len(keys)), start=1):
            one.samples[key] = sample
            tell("healthy conversations", through, len(keys))
        trials = WorkerPool(
            prepare=attempt, given_up=lambda job: _ended(faults[job].id), size=jobs, limit_s=_JOB_S
        )
        for through, trial in enumerate(trials.results(len(faults)), start=1):
            tell("faults", through, len(faults))
            yield trial


def _profiles(faults: Sequence[Fault]) -> Iterator[str]:
    return (profile for each in faults for profile in each.profiles)


def _ended(what: object) -> NoReturn:
    raise ProcessEndedError(f"{what} ended its process, or did not come to its end")
