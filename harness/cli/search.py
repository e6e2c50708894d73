"""`search`: make conversations, and compare references in virtual time or targets in real time."""

import asyncio
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.cli.errors import ends_with_exit_code
from harness.cli.options import list_only
from harness.cli.run import ReportOptions, carry_out
from harness.orchestration.external import announcement, outline
from harness.orchestration.on_cluster import cluster_of, refuse_unfit
from harness.orchestration.plan import PlanError, RunPlan, new_run_id, parse_targets, refusing
from harness.report.allure.pages import AllureLevel
from harness.report.model.phrases import comparison_line
from harness.results.status import ExitCode, worst
from harness.scenario.errors import ScenarioError
from harness.scenario.script import Script, script_to_json
from harness.search.comparison import Heard
from harness.search.corpus import Corpus
from harness.search.hunt import Cluster, Harvest, Hunt, Order
from harness.search.on_cluster import ClusterSearch, share_count, shares_of
from harness.search.outcome import print_cluster, print_losses, print_outcome
from harness.search.outcome_file import SearchOutcome
from harness.search.target_hunt import BrokerOrder, Losses, TargetHunt
from harness.search.written import claim_of, notes_of, scenario_of, source_of, write
from harness.targets.base.interface import Target, TargetError
from harness.targets.reference.target import ReferenceTarget
from harness.targets.reference.variants import VariantTarget, flipped, reference_of
from harness.targets.spec import parse_target
from harness.terminal import ProgressDisplay, Writer
from harness.trace.beside import scripts_text
from harness.trace.files import write_records, write_whole

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
        names = ("target", "against", "mutant", "profile")
        options = [f"--{name} {value}" for name in names if (value := getattr(self, name))]
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
        with refusing(ScenarioError):
            return Corpus(self.corpus_folder)


_KEPT: Final = 40
"""Rows that clusters leave to what is printed at the end."""
_LAST: Final = 8
"""Rows for what follows the outcome, such as where the scenarios are."""


@dataclass(frozen=True, slots=True)
class Found:
    """Prints what a search finds, as long as there is room, and its end; everything is in its folders."""

    _writer: Writer
    _display: ProgressDisplay
    _names: tuple[str, str]

    def tell(self, harvest: Harvest, found: Cluster | None) -> None:
        """Show how far a search is, and a new cluster."""
        rate = f"{harvest.steps_a_second:.0f} steps a second"
        so_far = f"{harvest.steps} steps, {len(harvest.clusters)} clusters, {rate}"
        self._display.target_says("search", so_far)
        if found is not None and not found.is_mixture and self._writer.rows_left > _KEPT:
            printing = partial(print_cluster, cluster=found, names=self._names)
            self._writer.say_beginning(printing, rest="its scenario has them all", keep=_KEPT)

    def say_end(
        self, harvest: Harvest, losses: Losses | None = None, *, of_time: str = "of a processor's time"
    ) -> None:
        """Print the clusters, how much was compared, and what was lost."""

        def printing(console: Console) -> None:
            print_outcome(harvest, console, of_time=of_time)
            if losses is not None:
                print_losses(losses, console)

        rest = "--write FOLDER writes a scenario of each cluster"
        self._writer.say_beginning(printing, rest=rest, keep=_LAST)


def search_on(plan: SearchPlan, master: str, order: Order | BrokerOrder, writer: Writer) -> SearchOutcome:
    """Search on the executors of a cluster, each with a seed of its own; print and write the findings.

    Raises:
        SparkError: there is no cluster.
        PlanError: the cluster, or a target, is of an unsuitable kind.
    """
    refuse_unfit(master, order.targets if isinstance(order, BrokerOrder) else ())
    with ProgressDisplay(writer) as display, cluster_of(master, plan.out, writer.say) as cluster:
        found = Found(writer, display, plan.names)
        assert cluster is not None, "there is a master"
        folder = cluster.folder / "search"
        folder.mkdir()
        count = share_count(plan.tasks, cluster.executors.core_count, order)
        shares = shares_of(order, count, names=plan.names, reproduced=plan.reproduced, folder=folder)
        searching = ClusterSearch(
            cluster, shares, kept=plan.corpus_folder, logs=plan.logs, say=display.teller("search")
        )
        try:
            # Python's development mode would debug every loop, which makes it late.
            asyncio.run(searching.run(), debug=False)
        finally:
            outcome = searching.outcome
            written_to = plan.write_to if plan.is_virtual else plan.found_folder
            if written_to is not None:
                for each in outcome.findings:
                    write(written_to, each.written)
            of_time = "of a processor's time" if plan.is_virtual else "of a broker's time"
            found.say_end(outcome.harvest, outcome.losses, of_time=of_time)
    return outcome


def dry_run_of_search(plan: SearchPlan) -> ExitCode:
    """List what a search would do to external brokers."""

    def listed(target: Target) -> Iterator[str]:
        yield announcement(target)
        yield from outline(plan.run_id)
        yield f"requests: some {plan.steps}, in conversations of groups of their own, {plan.jobs} at once"

    return list_only(plan.parsed(), listed)


def search_target(plan: SearchPlan) -> ExitCode:
    """Search, then run the findings as an ordinary run, with pages and traces."""
    writer = Writer()
    targets = plan.parsed()
    for each in targets:
        if each.is_external:
            writer.say(announcement(each))
    if plan.on is None:
        losses, scripts = _searched(plan, targets, writer)
    else:
        outcome = search_on(plan, plan.on, plan.order(targets), writer)
        losses = outcome.losses
        scripts = {
            each.written.id: _as_scenario(each.cluster, each.written.id, plan) for each in outcome.findings
        }
    if scripts:
        return _run_found(plan, scripts, writer)
    return ExitCode.EXPECTED if losses.lost is None else ExitCode.UNAVAILABLE


def _searched(
    plan: SearchPlan, targets: tuple[Target, ...], writer: Writer
) -> tuple[Losses, dict[str, Script]]:
    found_folder = FoundFolder(plan)
    display = ProgressDisplay(writer)
    printed = Found(writer, display, plan.names)

    def tell(harvest: Harvest, found: Cluster | None) -> None:
        printed.tell(harvest, found)
        if found is not None:
            found_folder.write(found, hunt.traces(found))

    order = plan.order(targets).on_brokers(plan.logs, plan.kept_corpus())
    hunt = TargetHunt(order, tell, display.teller("search"), found_folder.keep_flaky)
    try:
        with display:
            # Python's development mode would debug every loop, which makes it late.
            asyncio.run(hunt.run(), debug=False)
    except KeyboardInterrupt:
        writer.say("interrupted; what was found until now is written")
        raise
    finally:
        printed.say_end(hunt.harvest, hunt.losses, of_time="of real time")
        for line in found_folder.places():
            writer.say(line)
    return hunt.losses, found_folder.scripts


@dataclass(frozen=True, slots=True)
class FoundFolder:
    """Writes the scenarios of findings to disk as soon as there are any."""

    _plan: SearchPlan
    _written: dict[int, tuple[Path, str, Cluster]] = field(default_factory=dict, init=False)

    def write(self, found: Cluster, traces: Heard) -> None:
        """Write a cluster's scenario, in place of an earlier one of the same cluster."""
        plan = self._plan
        one = scenario_of(found, names=plan.names, traces=traces, reproduction=plan.reproduction)
        if (former := self._written.get(id(found))) is not None:
            former[0].unlink(missing_ok=True)
        path = write(plan.found_folder, one)
        self._written[id(found)] = path, one.id, found

    def keep_flaky(self, seed: str, script: Script, traces: Heard) -> None:
        """Write the script and the events of a conversation whose difference could not be reproduced."""
        folder = self._plan.flaky_folder
        folder.mkdir(parents=True, exist_ok=True)
        name = seed.replace("/", "-")
        for side, events in zip(("target", "other"), traces, strict=True):
            write_records(folder / f"{name}.{side}.jsonl", events)
        write_whole(folder / f"{name}.script.json", scripts_text({script.id: script_to_json(script)}))

    def places(self) -> Iterator[str]:
        """Yield where the scenarios are, and what did not show again."""
        if self._written:
            yield f"{len(self._written)} scenarios: {self._plan.found_folder}"
        if self._plan.flaky_folder.is_dir():
            yield f"did not show again: {self._plan.flaky_folder}"

    @property
    def scripts(self) -> dict[str, Script]:
        """The scripts of all scenarios, by id."""
        return {name: _as_scenario(found, name, self._plan) for _, name, found in self._written.values()}


def _as_scenario(found: Cluster, name: str, plan: SearchPlan) -> Script:
    """Return the script with the texts of its scenario, so that its page shows the same."""
    notes = "\n".join(notes_of(found, plan.names, plan.reproduction))
    return replace(found.script, id=name, title=claim_of(found), source=source_of(found), notes=notes)


def _run_found(plan: SearchPlan, scripts: dict[str, Script], writer: Writer) -> ExitCode:
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
    return carry_out(run, ReportOptions(wanted=plan.wants_report, allure=AllureLevel.OFF, on=plan.on), writer)


@ends_with_exit_code
def search(
    *,
    target: str = "reference",
    against: str | None = None,
    mutant: str | None = None,
    profile: str | None = None,
    steps: int = 10_000,
    seed: int = 0,
    write_to: Path | None = None,
    corpus: Path | None = None,
    batch: int = BATCH,
    jobs: int = JOBS,
    out: Path = Path("reports"),
    run_id: str | None = None,
    only_drive: bool = False,
    on: str | None = None,
    tasks: int | None = None,
    dry_run: bool = False,
) -> ExitCode:
    """Make conversations that nobody wrote, and explain what two sides answer differently.

    Exit code 0: every difference has a named behaviour, or the mutant was found. 1: not so.
    """
    plan = SearchPlan(
        target=target,
        against=against,
        mutant=mutant,
        profile=profile,
        steps=steps,
        seed=seed,
        batch=batch,
        jobs=jobs,
        out=out,
        run_id=run_id or new_run_id(),
        write_to=write_to,
        corpus=corpus,
        wants_report=not only_drive,
        on=on,
        tasks=tasks,
    )
    if not plan.is_virtual:
        return dry_run_of_search(plan) if dry_run else search_target(plan)
    order = _order(plan)
    if on is None:
        return _search_here(order, plan)
    outcome = search_on(plan, on, order, Writer())
    lost = ExitCode.EXPECTED if outcome.losses.lost is None else ExitCode.UNAVAILABLE
    return worst((lost, _exit_code(outcome.harvest, is_mutant=order.stops_at_first)))


def _search_here(made: Order, plan: SearchPlan) -> ExitCode:
    order = replace(made, corpus=plan.kept_corpus())
    writer = Writer()
    with ProgressDisplay(writer) as display:
        found = Found(writer, display, plan.names)
        with refusing(TargetError):
            hunt = Hunt(order, found.tell)
        harvest = asyncio.run(hunt.run())
    found.say_end(harvest)
    if plan.write_to is not None:
        asyncio.run(_write(hunt, harvest, plan.write_to, plan))
        writer.say(f"{len(harvest.clusters)} scenarios: {plan.write_to}")
    # A search stops at the first difference only if it is for a planted fault.
    return _exit_code(harvest, is_mutant=order.stops_at_first)


def _exit_code(harvest: Harvest, *, is_mutant: bool) -> ExitCode:
    if is_mutant:
        return ExitCode.EXPECTED if harvest.clusters else ExitCode.UNEXPECTED
    is_explained = all(each.is_explained for each in harvest.clusters)
    return ExitCode.EXPECTED if is_explained else ExitCode.UNEXPECTED


def _order(plan: SearchPlan) -> Order:
    if plan.profile is not None:
        raise PlanError("--profile is for a target that is no reference; write reference:PROFILE")
    one = _reference(plan.target)
    order = Order(target=one, against=one, steps=plan.steps, seed=plan.seed)
    match plan.against, plan.mutant:
        case str(against), None:
            return replace(order, against=_reference(against))
        case None, str(mutant) if ":" in mutant:
            return replace(order, mutant=mutant, stops_at_first=True)
        case None, str(mutant):
            with refusing(TargetError):
                return replace(order, against=flipped(one, mutant), stops_at_first=True)
        case _:
            raise PlanError("say either --against or --mutant: a search compares two references")


def _reference(spec: str) -> VariantTarget:
    with refusing(TargetError):
        target = parse_target(spec)
    if not isinstance(target, ReferenceTarget) or target.foreseen_profile is None:
        raise PlanError(f"{spec!r} is no reference in virtual time; write reference:PROFILE")
    return reference_of(target.foreseen_profile)


async def _write(hunt: Hunt, harvest: Harvest, folder: Path, plan: SearchPlan) -> None:
    for cluster in harvest.clusters:
        traces = await hunt.traces(cluster)
        write(folder, scenario_of(cluster, names=plan.names, traces=traces, reproduction=plan.reproduction))
