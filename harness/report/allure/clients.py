"""Client scripts as Allure results: a result is one script with one library on one target."""

from collections.abc import Callable, Iterator

from allure_commons.model2 import (
    Attachment,
    Label,
    Parameter,
    Status,
    StatusDetails,
    TestResult,
    TestStepResult,
)
from allure_commons.types import LabelType

from harness.report.allure.terms import STATUS, case_id, history_id, message, severity, stable
from harness.report.exports.clients import account
from harness.report.model.clients_page import client_reproduction
from harness.report.model.clients_script import client_sections
from harness.results.client_judgements import first_remark
from harness.results.client_results import ClientResult, ClientsRun
from harness.results.status import ResultStatus

Attach = Callable[[str, str, str], Attachment]
"""Keeps a text of a name and kind beside the results."""


def client_results(run: ClientsRun, *, start: int, attach: Attach) -> Iterator[TestResult]:
    """Yield a result for each script, library and target.

    Args:
        run: the client scripts.
        start: of the run, in milliseconds since 1970.
        attach: keeps what is too long for a step.
    """
    for result in run.results:
        yield _result(run, result, start=start, attach=attach)


def _result(run: ClientsRun, result: ClientResult, *, start: int, attach: Attach) -> TestResult:
    script = run.scripts[result.script_id]
    where = f"{run.name_of(result)}, {result.library}"
    place, says = first_remark(result)
    how = result.status
    made = TestResult(
        uuid=stable(run.run_id, where, result.script_id),
        name=script.title,
        fullName=f"{where}: {result.script_id}",
        historyId=history_id(where, result.script_id),
        testCaseId=case_id(result.script_id),
        titlePath=[where, *result.script_id.split("/")[:-1]],
        description="\n\n".join(
            (
                script.title,
                f"Source: `{script.source}`",
                f"Repeat it: `{client_reproduction(run, result)}`",
            )
        ),
        status=STATUS[how],
        statusDetails=StatusDetails(
            known=how is ResultStatus.KNOWN,
            flaky=how is ResultStatus.FLAKY,
            message=message(how, None, result.foreseen or says),
            trace=f"{place}: {says}" if place else "",
        ),
        stage="finished",
        start=start,
        stop=start + round(result.duration_s * 1000),
        labels=list(_labels(run, result)),
        parameters=[
            Parameter(name="target", value=run.name_of(result)),
            Parameter(name="library", value=result.library),
        ],
        links=[],
    )
    made.steps = list(_steps(run, result, start))
    if how is not ResultStatus.PASSED:
        made.attachments.append(attach("What was found", "\n".join(account(run, result)), "text/plain"))
    return made


def _labels(run: ClientsRun, result: ClientResult) -> Iterator[Label]:
    suite, _, rest = result.script_id.partition("/")
    values = (
        (LabelType.EPIC, run.name_of(result)),
        (LabelType.FEATURE, f"clients, {result.library}"),
        (LabelType.STORY, result.script_id.rpartition("/")[0]),
        (LabelType.PARENT_SUITE, run.name_of(result)),
        (LabelType.SUITE, f"{suite}, {result.library}"),
        (LabelType.SUB_SUITE, rest.rpartition("/")[0]),
        (LabelType.SEVERITY, severity(result.status, None).value),
        (LabelType.FRAMEWORK, "kafka-conformance"),
        (LabelType.LANGUAGE, "python"),
        ("conformance_outcome", result.outcome),
        ("conformance_expectation", result.expectation),
    )
    yield from (Label(name=name, value=value) for name, value in values if value)


def _steps(run: ClientsRun, result: ClientResult, start: int) -> Iterator[TestStepResult]:
    """Make a step of each that was come to, told by what was seen of it."""
    section = next(each for each in client_sections(run, result.script_id) if each.result == result)
    for step in section.steps:
        if step.is_reached:
            yield TestStepResult(
                name=step.text,
                status=Status.FAILED if step.remarks else Status.PASSED,
                stage="finished",
                start=start,
                stop=start,
                parameters=[
                    *(Parameter(name=name, value=text) for name, text in step.seen),
                    *(
                        Parameter(name=f"against the {each.against}", value=each.says)
                        for each in step.remarks
                    ),
                ],
            )
