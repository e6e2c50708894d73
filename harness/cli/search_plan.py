"""The parameters of `search`: what the command line says, and what follows from it."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.orchestration.plan import PlanError, parse_targets
from harness.report.model.phrases import comparison_line
from harness.scenario.errors import ScenarioError
from harness.search.corpus import Corpus
from harness.search.target_hunt import BrokerOrder
from harness.targets.base.interface import Target

BATCH: Final = 1_600
"""The default number of conversations in a round."""
JOBS: Final = 128
"""The default number of concurrent conversations; each one mostly waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """The parameters of a search, between two references or on a target that takes real time."""

    target: str
    against: str | None = None
    mutant: str | None = None
    """A fault in a reference that is compared with itself."""
    profile: str | None = None
    """The profile that is given for the targets, instead of the one that they report."""
    steps: int
    seed: int
    batch: int = BATCH
    jobs: int = JOBS
    out: Path
    """The folder that driver and executors share."""
    run_id: str
    write_to: Path | None = None
    corpus: Path | None = None
    wants_report: bool = True
    on: str | None = None
    """The master of the cluster whose executors search; None to search on this machine."""
    tasks: int | None = None
    """The number of tasks of a search on a cluster."""

    @property
    def is_virtual(self) -> bool:
        """Whether both sides are references in this process, where no time passes."""
        sides = (self.target, self.against or self.target)
        return self.mutant is not None or all(each.partition(":")[0] == "reference" for each in sides)

    def parsed(self) -> tuple[Target, ...]:
        """Return new targets: the one to search, and the one that it is compared with, if any.

        Raises:
            PlanError: a spec does not name a target.
        """
        specs = [self.target, *([self.against] if self.against else [])]
        return parse_targets(specs, profile=self.profile, guards_external=True)

    def order(self, targets: tuple[Target, ...]) -> BrokerOrder:
        """Return the parameters of a search on targets, as data."""
        return BrokerOrder(
            targets=targets,
            run_id=self.run_id,
            steps=self.steps,
            seed=self.seed,
            batch=self.batch,
            jobs=self.jobs,
        )

    @property
    def names(self) -> tuple[str, str]:
        """The names of both sides."""
        fault = f"{self.target} with {self.mutant}" if self.mutant else "the reference"
        return self.target, self.against or fault

    def reproduced(self, seed: int, steps: int) -> str:
        """Return the command that reproduces findings on one machine, for a seed and a number of steps."""
        given = {
            "target": self.target,
            "against": self.against,
            "mutant": self.mutant,
            "profile": self.profile,
        }
        options = [f"--{name} {value}" for name, value in given.items() if value]
        batch = [] if self.is_virtual else [f"--batch {self.batch}"]
        return " ".join(["kafka-conformance search", *options, f"--seed {seed} --steps {steps}", *batch])

    @property
    def reproduction(self) -> str:
        """The command that reproduces the findings."""
        return self.reproduced(self.seed, self.steps)

    @property
    def command_of_run(self) -> str:
        """The command that runs the findings."""
        profile = ["--profile", self.profile] if self.profile else []
        suites = ["--suites", f"{self.found_folder}"]
        if self.against:
            return comparison_line([self.target], against=self.against, given=suites)
        return shlex.join(["kafka-conformance", "run", "--target", self.target, *profile, *suites])

    @property
    def found_folder(self) -> Path:
        """The folder into which findings on a target are written as they come."""
        return self.write_to or self.out / f"{self.run_id}-found"

    @property
    def corpus_folder(self) -> Path | None:
        """The folder of the conversations that reached something new; None to keep none."""
        return self.corpus or (None if self.is_virtual else self.out / f"{self.run_id}-corpus")

    @property
    def flaky_folder(self) -> Path:
        """The folder for the events of conversations whose differences could not be reproduced."""
        return self.out / f"{self.run_id}-flaky"

    @property
    def logs(self) -> Path:
        """The folder of the brokers' logs."""
        return self.out / f"{self.run_id}-logs"

    def kept_corpus(self) -> Corpus:
        """Return the corpus of its folder.

        Raises:
            PlanError: a file in it is not part of a corpus.
        """
        try:
            return Corpus(self.corpus_folder)
        except ScenarioError as error:
            raise PlanError(str(error)) from error
