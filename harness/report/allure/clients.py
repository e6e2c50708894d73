"""Client scripts as Allure results: a result is one script with one library on one target."""

from collections.abc import Callable, Iterator

from allure_commons.model2 import Attachment, Parameter, Status, TestResult, TestStepResult

from harness.report.allure.one_result import Described, result_of
from harness.report.exports.clients import account
from harness.report.model.clients_page import client_reproduction
from harness.report.model.clients_script import client_sections
from harness.results.client_judgements import client_judgements, first_remark
from harness.results.client_results import ClientResult, ClientsRun
from harness.results.status import ResultStatus

Attach = Callable[[str, str, str], Attachment]
"""Stores a text, with its name and content type, beside the results."""


def client_results(run: ClientsRun, *, start: int, attach: Attach) -> Iterator[TestResult]:
    """Yield a result for each script, library and target.

    Args:
        run: the client scripts.
        start: the start of the run, in milliseconds since 1970.
        attach: stores what is too long for a step.
    """
    for result, judgement in zip(run.results, client_judgements(run), strict=True):
        name = run.name_of(result)
        place, says = first_remark(result)
        described = Described(
            target=name,
            features=(f"clients, {result.library}",),
            suite=f"{judgement.suite}, {result.library}",
            parameters=(
                Parameter(name="target", value=name),
                Parameter(name="library", value=result.library),
            ),
            start_ms=start,
            reproduction=client_reproduction(run, result),
            reason=result.foreseen or says,
            trace=f"{place}: {says}" if place else "",
            is_flaky=result.status is ResultStatus.FLAKY,
        )
        made = result_of(judgement, described)
        made.steps = list(_steps(run, result, start))
        if result.status is not ResultStatus.PASSED:
            made.attachments.append(attach("What was found", "\n".join(account(run, result)), "text/plain"))
        yield made


def _steps(run: ClientsRun, result: ClientResult, start: int) -> Iterator[TestStepResult]:
    """Yield an Allure step for each step that was reached, with its observations as parameters."""
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
