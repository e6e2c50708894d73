"""Allure results: the report's facts for readers of Allure; a result is one scenario on one target.

Allure only has passed, failed, broken and skipped, so its status is derived from `ResultStatus`; outcome and
expectation are added as labels. A known difference passes and is marked as known: it is explained, and
nobody reads a report that is red every day.
"""

import json
import shutil
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path

import attrs
from allure_commons.model2 import (
    Attachment,
    Link,
    Parameter,
    Status,
    TestResult,
    TestStepResult,
)

from harness.diff.model import Difference, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.allure.clients import client_results
from harness.report.allure.history import (
    HISTORY,
    earlier_runs,
    epoch_ms,
    flaky_places,
    is_listed,
    of_listed_targets,
    this_run,
    write_history,
)
from harness.report.allure.one_result import Described, result_of
from harness.report.allure.terms import (
    allure_categories,
)
from harness.report.model.hexdump import hexdump
from harness.report.model.names import scenario_page, target_anchor
from harness.report.model.phrases import place, shortened
from harness.report.model.run_data import Run
from harness.report.model.tables import AlignedAnswer, oracle_side, target_side
from harness.results.status import NEEDS_ATTENTION, ResultStatus, status_of
from harness.spark.rows import AlignedStep
from harness.trace.schema import TraceError, parsed_json


class _Results:
    """The folder of results, written like Allure's own writer does, but with the fast encoder of `json`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self._directory = directory

    def add(self, result: TestResult) -> None:
        path = self._directory / result.file_pattern.format(prefix=uuid.uuid4())
        content = attrs.asdict(result, filter=lambda _, value: value or value is False)
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")

    def attach(self, name: str, text: str, kind: str) -> Attachment:
        extension = "json" if kind == "application/json" else "txt"
        source = f"{uuid.uuid4()}-attachment.{extension}"
        (self._directory / source).write_bytes(text.encode(errors="backslashreplace"))
        return Attachment(name=name, source=source, type=kind)


def write_allure_results(run_dir: Path, archive: Path | None = None) -> Path:
    """Write a run's results for Allure, and return their folder, which contains nothing else.

    Args:
        run_dir: the run's folder.
        archive: the archive of earlier runs; `runs` beside the run's folder if not given.
    """
    run = Run.load(run_dir)
    directory = run_dir / "allure-results"
    shutil.rmtree(directory, ignore_errors=True)
    results = _Results(directory)
    earlier, this = earlier_runs(run, archive), of_listed_targets(this_run(run), run)
    flaky = flaky_places((this, *earlier))
    for scenario_id, judgements in groupby(run.judgements, key=lambda each: each.scenario_id):
        steps = run.steps.of_scenario(scenario_id)
        for judgement in filter(partial(_is_listed, run), judgements):
            made = _result(run, judgement, steps.get(judgement.target, ()), results)
            made.statusDetails.flaky = (judgement.target, scenario_id) in flaky
            results.add(made)
    if run.clients is not None:
        start = epoch_ms(run.header.started_at)
        for client_result in client_results(run.clients, start=start, attach=results.attach):
            results.add(client_result)
    write_history(directory / HISTORY, earlier, this.results)
    _write_json(directory / "categories.json", allure_categories())
    _write_json(directory / "executor.json", _executor(run, len(earlier) + 1))
    (directory / "environment.properties").write_text(_environment(run), encoding="utf-8")
    return directory


def _is_listed(run: Run, judgement: Judgement) -> bool:
    """Return whether a result is listed; a reference's result is only if it needs attention."""
    return is_listed(run, judgement.target) or status_of(judgement) in NEEDS_ATTENTION


def _executor(run: Run, order: int) -> dict[str, object]:
    """Return Allure's description of this run; Allure 2 sorts trends by its order."""
    return {"name": "kafka-conformance", "buildName": run.header.run_id, "buildOrder": order}


def _result(run: Run, judgement: Judgement, steps: Sequence[AlignedStep], results: _Results) -> TestResult:
    differences = run.differences.get((judgement.target, judgement.scenario_id), ())
    described = Described(
        target=judgement.target,
        features=judgement.apis or ("no API",),
        suite=judgement.suite,
        parameters=(
            Parameter(name="target", value=judgement.target),
            Parameter(name="profile", value=run.target(judgement.target).profile, excluded=True),
        ),
        start_ms=epoch_ms(run.header.started_at),
        reproduction=run.repetition(judgement),
        reason=judgement.reason,
        trace=_difference_text(run, differences[0]) if differences else "",
        finding=differences[0] if differences else None,
        links=(_page_link(judgement),),
        is_virtual=is_reference(judgement.target),
    )
    result = result_of(judgement, described)
    result.steps = list(_steps(run, judgement, steps, results))
    if steps and not differences:
        result.attachments.append(results.attach("Conversation", _transcript(steps), "text/plain"))
    if differences:
        text = "\n\n".join(_difference_text(run, each) for each in differences)
        result.attachments.append(results.attach("Differences", text, "text/plain"))
    return result


def _difference_text(run: Run, difference: Difference) -> str:
    manner = "follows from it" if difference.is_consequence else "first difference"
    return (
        f"{manner} ({difference.difference_class}, against the {difference.against})\n"
        f"{place(difference)}\n{run.contrast(difference)}"
    )


def _page_link(judgement: Judgement) -> Link:
    """Return a link to the scenario's page in the run's own report, which is beside Allure's pages."""
    page = f"{scenario_page(judgement.scenario_id)}#{target_anchor(judgement.target)}"
    return Link(type="link", url=f"../{page}", name=f"Conversation: {page}")


def _steps(
    run: Run, judgement: Judgement, rows: Iterable[AlignedStep], results: _Results
) -> Iterator[TestStepResult]:
    """Yield an Allure step for each script step, with events as parameters, and bytes if results differ."""
    script = run.scripts.get(judgement.scenario_id)
    texts = [step.text for step in script.steps] if script else []
    start, pace = epoch_ms(run.header.started_at), 0 if is_reference(judgement.target) else 1
    for index, events in groupby(rows, key=lambda row: row.step):
        members = tuple(events)
        times = [row.target_at_ms for row in members if row.target_at_ms is not None] or [0.0]
        is_first_difference = judgement.first_step == index and status_of(judgement) is ResultStatus.FAILED
        step = TestStepResult(
            name=f"[{index}] {texts[index]}" if 0 <= index < len(texts) else "outside the script",
            status=Status.FAILED if is_first_difference else Status.PASSED,
            stage="finished",
            start=start + pace * round(min(times)),
            stop=start + pace * round(max(times)),
            parameters=[parameter for row in members for parameter in _parameters(row)],
        )
        if judgement.difference_count:
            step.attachments = [each for row in members for each in _attachments(row, results)]
        yield step


def _sides(row: AlignedStep) -> Iterator[tuple[str, AlignedAnswer]]:
    """Yield the target's event, and the oracle's event if it is different."""
    if (target := target_side(row)) is not None:
        yield f"{row.target}: {_title(row, target)}", target
    if row.is_different and (oracle := oracle_side(row)) is not None:
        yield f"{row.oracle}: {_title(row, oracle)}", oracle


def _title(row: AlignedStep, side: AlignedAnswer) -> str:
    api = f"{row.api} v{row.api_version}" if row.api else None
    return " ".join(part for part in (row.actor, api, side.kind) if part)


def _parameters(row: AlignedStep) -> Iterator[Parameter]:
    for title, side in _sides(row):
        yield Parameter(name=title, value=shortened(side.canonical or side.note or ""))


def _attachments(row: AlignedStep, results: _Results) -> Iterator[Attachment]:
    for title, side in _sides(row):
        if side.fields:
            yield results.attach(f"{title}, fields", _pretty(side.fields), "application/json")
        if text := _wire_text(side):
            yield results.attach(f"{title}, bytes", text, "text/plain")


def _transcript(rows: Iterable[AlignedStep]) -> str:
    """Return a whole conversation as text, each event with its fields and bytes."""
    events = (
        f"[{row.step}] {title}\n{side.fields or ''}\n{_wire_text(side)}"
        for row in rows
        for title, side in _sides(row)
    )
    return "\n\n".join(events)


def _wire_text(side: AlignedAnswer) -> str:
    return "\n".join(part for part in (side.note, hexdump(side.raw or "")) if part)


def _pretty(text: str) -> str:
    try:
        return json.dumps(parsed_json(text, where="fields"), indent=2)
    except TraceError:
        return text


def _environment(run: Run) -> str:
    values = asdict(run.header) | {"ended": run.footer.ended if run.footer else "cut short"}
    targets = {
        f"target.{each.target}": f"{each.implementation}, profile {each.profile}" for each in run.targets
    }
    reported = {key: value for key, value in values.items() if key != "targets" and value not in (None, ())}
    listed_no_more = {name for name in run.references if not is_listed(run, name)}
    apart = {"references": f"{', '.join(sorted(listed_no_more))}: listed only where they need a look"}
    lines = reported | targets | (apart if listed_no_more else {})
    return "".join(f"{_property(key)}={' '.join(str(value).split())}\n" for key, value in lines.items())


def _property(key: str) -> str:
    """Return a name as a key of a properties file, which cannot contain separators or white space."""
    return "".join("-" if each in ":= \t\r\n" else each for each in key)


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
