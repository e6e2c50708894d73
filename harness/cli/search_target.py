"""`search` on targets that take real time: rounds of conversations, then a run of the findings."""

import asyncio
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.cli.dry_run import list_only
from harness.cli.run import ReportOptions, carry_out
from harness.cli.search_beside import BesideRun, write_beside
from harness.cli.search_on import ClusterPlan, search_on
from harness.orchestration.external import announcement, outline
from harness.orchestration.plan import PlanError, RunPlan, parse_targets
from harness.orchestration.progress import plainly
from harness.report.model.phrases import comparison_line
from harness.results.exit_code import ExitCode
from harness.scenario.errors import ScenarioError
from harness.scenario.script import Script, script_to_json
from harness.search.comparison import Heard
from harness.search.corpus import Corpus
from harness.search.driven import DrivenTarget
from harness.search.hunt import Cluster, Harvest
from harness.search.on_cluster import BrokerOrder
from harness.search.outcome import print_cluster, print_losses, print_outcome
from harness.search.target_hunt import TargetHunt, TargetOrder
from harness.search.written import claim_of, notes_of, scenario_of, source_of, write
from harness.spark.master import LOCAL_MASTER
from harness.targets.base.interface import Target
from harness.trace.beside import scripts_text
from harness.trace.files import write_records, write_whole

BATCH: Final = 1_600
"""The default number of conversations in a round."""
JOBS: Final = 128
"""The default number of concurrent conversations; each one mostly waits."""
_PROGRESS_STEPS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPlan:
    """The parameters of a search on a target."""

    target: str
    against: str | None
    profile: str | None
    """The profile that is given for the targets, instead of the one that they report."""
    steps: int
    seed: int
    batch: int
    jobs: int
    out: Path
    run_id: str
    write_to: Path | None
    corpus: Path | None
    wants_report: bool
    on: str | None = None
    """The master of the cluster whose executors search."""
    tasks: int | None = None
    """The number of tasks of a search on a cluster."""
    beside: BesideRun | None = None
    """A run whose scenarios the search is shown beside."""

    def parsed(self) -> tuple[Target, ...]:
        """Return new targets: the one to search, and the one that it is compared with, if any.

        Raises:
            PlanError: a spec does not name a target.
        """
        specs = [self.target, *([self.against] if self.against else [])]
        return parse_targets(specs, profile=self.profile, guards_external=True)

    @property
    def names(self) -> tuple[str, str]:
        """The names of both sides."""
        return self.target, self.against or "the reference"

    @property
    def reproduction(self) -> str:
        """The command that reproduces the findings."""
        return self.reproduced(self.seed, self.steps)

    def reproduced(self, seed: int, steps: int) -> str:
        """Return the command that reproduces findings, with another seed and number of steps."""
        against = f" --against {self.against}" if self.against else ""
        profile = f" --profile {self.profile}" if self.profile else ""
        counts = f"--seed {seed} --steps {steps} --batch {self.batch}"
        return f"kafka-conformance search --target {self.target}{against}{profile} {counts}"

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
        """The folder into which findings are written as they come."""
        return self.write_to or self.out / f"{self.run_id}-found"

    @property
    def flaky_folder(self) -> Path:
        """The folder for the events of conversations whose differences could not be reproduced."""
        return self.out / f"{self.run_id}-flaky"

    @property
    def corpus_folder(self) -> Path:
        """The folder of the conversations that reached something new."""
        return self.corpus or self.out / f"{self.run_id}-corpus"


def kept_corpus(folder: Path | None) -> Corpus:
    """Return the corpus of a folder.

    Raises:
        PlanError: a file in it is not part of a corpus.
    """
    try:
        return Corpus(folder)
    except ScenarioError as error:
        raise PlanError(str(error)) from error


def dry_run_of_search(plan: TargetPlan, console: Console) -> ExitCode:
    """List what a search would do to external brokers."""

    def listed(target: Target) -> Iterator[str]:
        yield announcement(target)
        yield from outline(plan.run_id)
        yield f"requests: some {plan.steps}, in conversations of groups of their own, {plan.jobs} at once"

    return list_only(plan.parsed(), console, listed)


def search_target(plan: TargetPlan, console: Console) -> ExitCode:
    """Search, then run the findings as an ordinary run, with pages and traces."""
    targets = plan.parsed()
    for each in targets:
        if each.is_external:
            plainly(console)(announcement(each))
    if plan.on is not None:
        return _search_on_cluster(plan, plan.on, targets, console)
    driven = [
        DrivenTarget(
            each, run_id=plan.run_id, logs=plan.out / f"{plan.run_id}-logs" / each.name, jobs=plan.jobs
        )
        for each in targets
    ]
    order = TargetOrder(
        target=driven[0],
        against=driven[1] if plan.against else None,
        steps=plan.steps,
        seed=plan.seed,
        batch=plan.batch,
        corpus=kept_corpus(plan.corpus_folder),
    )
    display = Display(console, plan.names)
    found_folder = FoundFolder(plan, console)

    def tell(harvest: Harvest, found: Cluster | None) -> None:
        display.tell(harvest, found)
        if found is not None:
            found_folder.write(found, hunt.traces(found))

    hunt = TargetHunt(order, tell, plainly(console), found_folder.keep_flaky)
    try:
        # Python's development mode would debug every loop, which makes it late.
        asyncio.run(hunt.run(), debug=False)
    except KeyboardInterrupt:
        _print_end(hunt, plan, console)
        console.print("interrupted; what was found until now is written", highlight=False)
        raise
    _print_end(hunt, plan, console)
    codes = ExitCode.EXPECTED if hunt.losses.lost is None else ExitCode.UNAVAILABLE
    scripts = found_folder.scripts
    return _run_found(plan, scripts, console) if scripts else codes


def _search_on_cluster(
    plan: TargetPlan, master: str, targets: tuple[Target, ...], console: Console
) -> ExitCode:
    """Search on executors, then run the findings, also with brokers on executors."""
    cluster = ClusterPlan(
        on=master,
        tasks=plan.tasks,
        out=plan.out,
        corpus=plan.corpus_folder,
        write_to=plan.found_folder,
        names=plan.names,
        reproduced=plan.reproduced,
        logs=plan.out / f"{plan.run_id}-logs",
        beside=plan.beside,
    )
    order = BrokerOrder(
        targets=targets,
        run_id=plan.run_id,
        steps=plan.steps,
        seed=plan.seed,
        batch=plan.batch,
        jobs=plan.jobs,
    )
    outcome = search_on(cluster, order, console)
    codes = ExitCode.EXPECTED if outcome.losses.lost is None else ExitCode.UNAVAILABLE
    scripts = {
        each.written.id: _as_scenario(each.cluster, each.written.id, plan) for each in outcome.findings
    }
    return _run_found(plan, scripts, console) if scripts else codes


class FoundFolder:
    """Writes the scenarios of findings to disk as soon as there are any."""

    def __init__(self, plan: TargetPlan, console: Console) -> None:
        self._plan = plan
        self._console = console
        self._written: dict[int, tuple[Path, str, Cluster]] = {}

    def write(self, found: Cluster, traces: Heard) -> None:
        """Write a cluster's scenario, in place of an earlier one of the same cluster."""
        plan = self._plan
        one = scenario_of(found, names=plan.names, traces=traces, reproduction=plan.reproduction)
        if (former := self._written.get(id(found))) is not None:
            former[0].unlink(missing_ok=True)
        path = write(plan.found_folder, one)
        self._written[id(found)] = path, one.id, found
        self._console.print(f"{one.id}: {path}", soft_wrap=True, highlight=False)

    def keep_flaky(self, seed: str, script: Script, traces: Heard) -> None:
        """Write the script and the events of a conversation whose difference could not be reproduced."""
        folder = self._plan.flaky_folder
        folder.mkdir(parents=True, exist_ok=True)
        name = seed.replace("/", "-")
        for side, events in zip(("target", "other"), traces, strict=True):
            write_records(folder / f"{name}.{side}.jsonl", events)
        write_whole(folder / f"{name}.script.json", scripts_text({script.id: script_to_json(script)}))
        self._console.print(f"did not show again: {folder}/{name}.*", soft_wrap=True, highlight=False)

    @property
    def scripts(self) -> dict[str, Script]:
        """The scripts of all scenarios, by id."""
        return {name: _as_scenario(found, name, self._plan) for _, name, found in self._written.values()}


def _print_end(hunt: TargetHunt, plan: TargetPlan, console: Console) -> None:
    print_outcome(hunt.harvest, console, of_time="of real time")
    print_losses(hunt.losses, console)
    write_beside(plan.beside, hunt.harvest, plan.names, console)


def _as_scenario(found: Cluster, name: str, plan: TargetPlan) -> Script:
    """Return the script with the texts of its scenario, so that its page shows the same."""
    notes = "\n".join(notes_of(found, plan.names, plan.reproduction))
    return replace(found.script, id=name, title=claim_of(found), source=source_of(found), notes=notes)


def _run_found(plan: TargetPlan, scripts: dict[str, Script], console: Console) -> ExitCode:
    """Run the findings on fresh brokers, as often as confirming them needs, and report them."""
    targets = plan.parsed()
    run = RunPlan(
        run_id=plan.run_id,
        scripts=scripts,
        catalogue=frozenset(scripts),
        targets=targets,
        reports=plan.out,
        command=plan.command_of_run,
        merges_configs=False,
        against=targets[1].name if plan.against else None,
    )
    options = ReportOptions(
        wanted=plan.wants_report, allure=False, spark_master=LOCAL_MASTER, archive=None, on=plan.on
    )
    return carry_out(run, options, None, console)


class Display:
    """Prints new clusters, and the progress of a search every few thousand steps."""

    def __init__(self, console: Console, names: tuple[str, str]) -> None:
        self._console = console
        self._names = names
        self._due = _PROGRESS_STEPS

    def tell(self, harvest: Harvest, found: Cluster | None) -> None:
        """Print a new cluster, and the progress if it is due."""
        if found is not None and not found.is_mixture:
            print_cluster(found, self._console, names=self._names)
        if harvest.steps >= self._due:
            self._due += _PROGRESS_STEPS
            self._console.print(
                f"[dim]{harvest.steps} steps, {len(harvest.clusters)} clusters, "
                f"{harvest.steps_a_second:.0f} steps a second[/]",
                highlight=False,
            )
