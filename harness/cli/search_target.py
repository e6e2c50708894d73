"""`search` on targets that take real time: rounds of conversations, then a run of the findings."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.cli.options import list_only
from harness.cli.run import ReportOptions, carry_out
from harness.cli.search_beside import BesideRun, Found, search_on
from harness.cli.search_plan import SearchPlan
from harness.orchestration.external import announcement, outline
from harness.orchestration.plan import RunPlan
from harness.report.allure.terms import AllureLevel
from harness.results.exit_code import ExitCode
from harness.scenario.script import Script, script_to_json
from harness.search.comparison import Heard
from harness.search.hunt import Cluster, Harvest
from harness.search.target_hunt import Losses, TargetHunt
from harness.search.written import claim_of, notes_of, scenario_of, source_of, write
from harness.targets.base.interface import Target
from harness.terminal import ProgressDisplay, Writer
from harness.trace.beside import scripts_text
from harness.trace.files import write_records, write_whole


def dry_run_of_search(plan: SearchPlan) -> ExitCode:
    """List what a search would do to external brokers."""

    def listed(target: Target) -> Iterator[str]:
        yield announcement(target)
        yield from outline(plan.run_id)
        yield f"requests: some {plan.steps}, in conversations of groups of their own, {plan.jobs} at once"

    return list_only(plan.parsed(), listed)


def search_target(plan: SearchPlan, beside: BesideRun | None = None) -> ExitCode:
    """Search, then run the findings as an ordinary run, with pages and traces.

    Args:
        plan: the parameters of the search.
        beside: a run whose scenarios the search is shown beside.
    """
    writer = Writer()
    targets = plan.parsed()
    for each in targets:
        if each.is_external:
            writer.say(announcement(each))
    if plan.on is None:
        losses, scripts = _searched(plan, targets, beside, writer)
    else:
        outcome = search_on(plan, plan.on, plan.order(targets), beside, writer)
        losses = outcome.losses
        scripts = {
            each.written.id: _as_scenario(each.cluster, each.written.id, plan) for each in outcome.findings
        }
    if scripts:
        return _run_found(plan, scripts, writer)
    return ExitCode.EXPECTED if losses.lost is None else ExitCode.UNAVAILABLE


def _searched(
    plan: SearchPlan, targets: tuple[Target, ...], beside: BesideRun | None, writer: Writer
) -> tuple[Losses, dict[str, Script]]:
    """Search on this machine; return what was lost, and the scenarios of the findings."""
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
        printed.say_end(hunt.harvest, beside, hunt.losses, of_time="of real time")
        for line in found_folder.places():
            writer.say(line)
    return hunt.losses, found_folder.scripts


class FoundFolder:
    """Writes the scenarios of findings to disk as soon as there are any."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._written: dict[int, tuple[Path, str, Cluster]] = {}

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
