"""A campaign of all mutants against all scenarios: measure the baseline first, then try the mutants."""

import fnmatch
import importlib
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.mutants.baseline import (
    Baseline,
    BaselineResult,
    Witness,
    measured,
    measured_baseline,
    no_measure,
)
from harness.mutants.derive import derive_mutants
from harness.mutants.dry_run import DryRun
from harness.mutants.equivalents import Equivalent, known, unknown
from harness.mutants.model import Fate, Mutant, Trial, trial_of
from harness.mutants.pool import Work, WorkerPool
from harness.mutants.source import PACKAGE, Source, behaviour_sources, source_of
from harness.mutants.trial import Court
from harness.scenario.script import Script
from harness.verdict import Outcome

DEFAULT_PROFILES: Final = (
    "4.4",
    "3.9",
    "2.4",
    "2.8",
    "3.2",
    "3.5.0",
    "2.5.0",
    "4.0.0",
    "4.2.0",
    "3.7-java",
    "3.9-java",
)
"""Both coordinators in their latest release, and releases with and without each named behaviour."""

_CONVERSATION_S: Final = 3.0
_TRIAL_S: Final = 1_800.0
_MEASURE_S: Final = 60.0

Tell = Callable[[str, int, int], None]
"""Called with the current activity, how much of it is done, and how much there is in all."""
Keep = Callable[[Trial], None]
"""Called with each result as soon as it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The parameters of a campaign."""

    scripts: Mapping[str, Script]
    profiles: tuple[str, ...] = DEFAULT_PROFILES
    only: tuple[str, ...] = ()
    """Globs of which a mutant's id must match one; without any, all mutants are tried."""
    sample: int | None = None
    """The number of mutants to try, drawn by the seed."""
    seed: int = 0
    jobs: int = 1
    equivalents: tuple[Equivalent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """The results of a campaign."""

    trials: tuple[Trial, ...]
    """In the order of derivation."""
    unknown_equivalents: tuple[str, ...]
    """Messages about entries of the equivalents that no longer match a mutant."""
    unfit: tuple[str, ...]
    """Conversations that cannot be used, each with the reason: the reference itself does not conform."""


def chosen_mutants(order: Order) -> tuple[Mutant, ...]:
    """Derive the mutants that an order selects, including named behaviours that decide nothing."""
    return _chosen(order, derive_mutants(order.profiles))


def _chosen(order: Order, mutants: Sequence[Mutant]) -> tuple[Mutant, ...]:
    if order.only:
        mutants = [each for each in mutants if any(fnmatch.fnmatchcase(each.id, glob) for glob in order.only)]
    if order.sample is not None and order.sample < len(mutants):
        drawn = random.Random(order.seed).sample(range(len(mutants)), order.sample)  # noqa: S311 - no secret
        mutants = [mutants[index] for index in sorted(drawn)]
    return tuple(mutants)


def campaign(order: Order, tell: Tell, keep: Keep = lambda _: None) -> Campaign:
    """Try the mutants that an order selects.

    Args:
        order: what to try.
        tell: is told how far a part of the campaign is.
        keep: is given each result at once, in the order of completion.
    """
    sources = (*behaviour_sources(), source_of("profile.profiles"))
    for source in sources:
        # A module that is imported only after the fork would be read again, and could have changed.
        importlib.import_module(f"{PACKAGE}.{source.name}")
    every = derive_mutants(order.profiles)
    reasons = known(order.equivalents, every)
    with tempfile.TemporaryDirectory() as directory:
        work = _Workplace(order=order, sources=sources, directory=Path(directory), tell=tell)
        measures = tuple(work.measures())
        stick = measured_baseline(measures)
        mutants = _chosen(order, [each for each in every if not stick.decides_nothing(each)])
        trials = {}
        for trial in work.trials(mutants, stick, reasons):
            keep(trial)
            trials[trial.mutant] = trial
    return Campaign(
        trials=tuple(trials[mutant.id] for mutant in mutants),
        # An entry may be about a profile that the order left out.
        unknown_equivalents=unknown(
            order.equivalents, derive_mutants(tuple({*DEFAULT_PROFILES, *order.profiles}))
        ),
        unfit=tuple(
            f"{each.profile} {each.scenario}: {each.reason}"
            for each in measures
            if each.outcome not in {Outcome.CONFORMS, Outcome.NOT_APPLICABLE}
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workplace:
    """The data that both parts of a campaign need."""

    order: Order
    sources: Sequence[Source]
    directory: Path
    tell: Tell

    def _dry_run(self, limit_s: float) -> DryRun:
        modules = [source.name for source in self.sources]
        return DryRun(self.directory, limit_s=limit_s, modules=modules)

    def measures(self) -> Iterator[BaselineResult]:
        """Run every scenario in every profile on the unmutated reference."""
        order = self.order
        wanted = [(profile, script) for profile in order.profiles for script in order.scripts.values()]

        def prepare() -> Work[BaselineResult]:
            dry_run = self._dry_run(_MEASURE_S)
            witness = Witness(self.sources)
            return lambda job: measured(wanted[job][1], wanted[job][0], dry_run, witness)

        def given_up(job: int) -> BaselineResult:
            profile, script = wanted[job]
            return no_measure(profile, script, "it did not come to its end")

        pool = WorkerPool(prepare=prepare, given_up=given_up, size=order.jobs, limit_s=2 * _MEASURE_S)
        for through, measure in enumerate(pool.results(len(wanted)), start=1):
            self.tell("measured", through, len(wanted))
            yield measure

    def trials(
        self, mutants: Sequence[Mutant], stick: Baseline, reasons: Mapping[str, str]
    ) -> Iterator[Trial]:
        """Try mutants, and yield the results in the order of completion."""

        def prepare() -> Work[Trial]:
            court = Court(
                scripts=self.order.scripts,
                baseline=stick,
                dry_run=self._dry_run(_CONVERSATION_S),
            )
            return lambda job: court.try_mutant(mutants[job], reasons.get(mutants[job].id))

        def given_up(job: int) -> Trial:
            how = "it ended the process that ran it"
            return trial_of(mutants[job], Fate.KILLED, equivalent=reasons.get(mutants[job].id), how=how)

        pool = WorkerPool(prepare=prepare, given_up=given_up, size=self.order.jobs, limit_s=_TRIAL_S)
        for through, trial in enumerate(pool.results(len(mutants)), start=1):
            self.tell("tried", through, len(mutants))
            yield trial
