"""`pytest suites/ --target …`: the same run as `kafka-conformance run`, one item per scenario and target.

Items are collected without starting any target. When all are selected, the whole run is executed at once, so
that scenarios run side by side. An item then only reports its judgement.
"""

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console
from typing_extensions import override

from harness.clients.collect import known_ids
from harness.diff.expectations import ExpectationError
from harness.diff.model import Judgement
from harness.orchestration.external import announcement
from harness.orchestration.plan import PlanError, RunPlan, expectation_files, new_run_id, parse_targets
from harness.orchestration.run import CompletedRun, orchestrate, report
from harness.report.allure.pages import AllureLevel
from harness.report.model.phrases import repetition
from harness.results.status import ENDED_INTERRUPTED, ResultStatus, shown, status_of
from harness.results.stored_data import AddedProperties, ReportError, added_properties
from harness.runner.drive import Limits
from harness.scenario.clauses import load_clauses
from harness.scenario.registry import record_each, scenario_functions
from harness.scenario.script import Script
from harness.spark.master import LOCAL_MASTER
from harness.targets.base.interface import Target
from harness.targets.secured.properties import CommandConfigError
from harness.terminal import ProgressDisplay, Writer
from harness.verdict import Expectation, Outcome
from harness.workers import collect_rarely


@dataclass(slots=True)
class _State:
    """The plug-in's state for one pytest session."""

    targets: tuple[Target, ...]
    completed: CompletedRun | None = None
    judgements: Mapping[tuple[str, str], Judgement] = field(default_factory=dict)
    added: AddedProperties = field(default_factory=dict)

    def repetition(self, judgement: Judgement) -> str:
        """Return a command line that repeats a result under the same conditions."""
        assert self.completed is not None
        return repetition(
            self.completed.folder.read_headers(judgement.target)[:1],
            judgement.scenario_id,
            command=_command(),
            added=[self.added.get((judgement.target, judgement.scenario_id), {})],
        )


_STATE: Final = pytest.StashKey[_State]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose targets."""
    group = parser.getgroup("kafka-conformance")
    group.addoption(
        "--target",
        action="append",
        default=None,
        help="what to run scenarios on, e.g. reference, kafka:3.9.2, external:HOST:PORT; may be repeated",
    )
    group.addoption("--target-profile", default=None, help="compare targets with this profile")
    group.addoption(
        "--conformance-expect",
        action="append",
        default=[],
        help="a further expectation file; may be repeated",
    )
    group.addoption("--conformance-out", default="reports", help="where run folders are made")
    group.addoption(
        "--no-conformance-confirm",
        action="store_true",
        default=False,
        help="do not run unexpected results again",
    )
    group.addoption(
        "--no-conformance-report", action="store_true", default=False, help="make no report at the end"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Parse the targets, so that a wrong one ends the session before anything is collected."""
    try:
        targets = parse_targets(
            config.getoption("target") or ["reference"],
            profile=config.getoption("target_profile"),
            guards_external=True,
        )
    except (PlanError, CommandConfigError) as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[_STATE] = _State(targets)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ScenarioFile | None":
    """Collect scenarios from the modules of the suites package."""
    root = parent.config.rootpath / "suites"
    if file_path.suffix != ".py" or not file_path.is_relative_to(root) or file_path.stem.startswith("__"):
        return None
    collected: ScenarioFile = ScenarioFile.from_parent(parent, path=file_path)
    return collected


class ScenarioFile(pytest.File):
    """A module of scenarios."""

    @override
    def collect(self) -> Iterable["ScenarioItem"]:
        relative = self.path.relative_to(self.config.rootpath).with_suffix("")
        functions = scenario_functions(import_module(".".join(relative.parts)))
        scripts = [script for function in functions for script in record_each(function)]
        for script in scripts:
            for target in self.config.stash[_STATE].targets:
                item: ScenarioItem = ScenarioItem.from_parent(
                    self, name=f"{script.id}[{target.name}]", script=script, target=target.name
                )
                yield item


class ScenarioItem(pytest.Item):
    """One scenario with one target."""

    def __init__(self, *, script: Script, target: str, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type] # pytest's own construction arguments
        self.script = script
        self.target = target
        self.user_properties.append(("scenario", script.id))
        self.user_properties.append(("target", target))

    @override
    def runtest(self) -> None:
        judgement = self.config.stash[_STATE].judgements.get((self.script.id, self.target))
        if judgement is None:
            raise ScenarioFailed("nothing was recorded of it")
        self.user_properties.extend(
            [
                ("outcome", judgement.outcome),
                ("expectation", judgement.expectation),
                ("signature", judgement.signature or ""),
                ("confirmation", judgement.confirmation),
                ("shown", shown(judgement)),
            ]
        )
        report_judgement(judgement, self.config.stash[_STATE].repetition(judgement))

    @override
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    @override
    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.script.id} [{self.target}]"


class ScenarioFailed(Exception):  # noqa: N818 - what pytest shows for a judgement, not a fault of ours
    """A judgement that is not as expected; the message describes it."""


def report_judgement(judgement: Judgement, again: str) -> None:
    """Report a judgement to pytest: return, skip, or fail, as expected or not.

    Args:
        judgement: the judgement of the scenario.
        again: a command line that repeats the scenario.

    Raises:
        ScenarioFailed: the result is not as expected, and occurred again or could not be repeated.
    """
    if judgement.outcome == Outcome.NOT_APPLICABLE:
        pytest.skip(judgement.reason)
    if judgement.expectation == Expectation.EXPECTED:
        if judgement.outcome not in (Outcome.CONFORMS, Outcome.LENIENT):
            pytest.xfail(judgement.reason)
        return
    if status_of(judgement) is ResultStatus.FLAKY:
        pytest.xfail(f"flaky: {judgement.reason}")
    raise ScenarioFailed(
        f"{judgement.outcome} ({judgement.expectation}): {judgement.reason}\n"
        f"signature {judgement.signature}\n"
        f"again: {again}"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Execute the whole run before the first item reports."""
    chosen = [item for item in session.items if isinstance(item, ScenarioItem)]
    if chosen and not session.config.option.collectonly:
        _orchestrate(session.config, chosen)
    return (yield)


def _command() -> str:
    return shlex.join(["pytest", *sys.argv[1:]])


def _orchestrate(config: pytest.Config, chosen: list[ScenarioItem]) -> None:
    state = config.stash[_STATE]
    wanted = {item.target for item in chosen}
    further: list[str] = config.getoption("conformance_expect")
    try:
        files = expectation_files("suites", [Path(each) for each in further])
    except ReportError as error:
        raise pytest.UsageError(str(error)) from error
    plan = RunPlan(
        run_id=new_run_id(),
        scripts={item.script.id: item.script for item in chosen},
        catalogue=known_ids("suites"),
        clauses=tuple(load_clauses("suites").values()),
        targets=tuple(target for target in state.targets if target.name in wanted),
        reports=Path(config.getoption("conformance_out")),
        command=_command(),
        limits=Limits(),
        expectation_files=files,
        confirms=not config.getoption("no_conformance_confirm"),
    )
    for target in plan.targets:
        if target.is_external:
            config.get_terminal_writer().line(f"\n{announcement(target)}")
    collect_rarely()
    try:
        with ProgressDisplay(Writer(Console(stderr=True, quiet=config.option.verbose < 1))) as display:
            state.completed = orchestrate(plan, display)
    except ExpectationError as error:
        raise pytest.UsageError(str(error)) from error
    except OSError as error:
        if plan.reports.is_dir():
            raise
        why = f"--conformance-out {plan.reports}: {error.strerror}: choose another place"
        raise pytest.UsageError(why) from error
    state.judgements = {
        (judgement.scenario_id, judgement.target): judgement
        for judgement in state.completed.checked.judgements
    }
    state.added = added_properties(state.completed.folder)
    if state.completed.footer.ended == ENDED_INTERRUPTED:
        raise KeyboardInterrupt


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Write the report, as `kafka-conformance run` does, and print its path."""
    del exitstatus
    completed = config.stash[_STATE].completed
    if completed is None or config.getoption("no_conformance_report"):
        return
    rendered = report(
        completed.folder, allure=AllureLevel.LOOK, spark_master=LOCAL_MASTER, progress=lambda _: None
    )
    terminalreporter.write_line(f"conformance report: {rendered.index}")
