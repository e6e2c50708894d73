"""One judgement, of a scenario or of a client script, as an Allure result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allure_commons.model2 import Label, Link, Parameter, StatusDetails, TestResult
from allure_commons.types import LabelType

from harness.diff.model import Difference, Judgement
from harness.report.allure.terms import STATUS, case_id, grade, history_id, message, severity, stable
from harness.report.model.phrases import link_address, links_in
from harness.results.status import ResultStatus, shown, status_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What Allure shows of a result in addition to its judgement."""

    target: str
    """The target's name, without a library."""
    features: Sequence[str]
    suite: str
    parameters: Sequence[Parameter]
    start_ms: int
    """When the run began, in milliseconds since 1970."""
    reproduction: str
    """A command line that runs the scenario or script again."""
    reason: str
    """The first departure from what was expected."""
    trace: str
    """The first departure in detail."""
    finding: Difference | None = None
    links: Sequence[Link] = ()
    """Links in addition to those to what the judgement cites."""
    is_flaky: bool = False
    is_virtual: bool = False
    """Whether the duration is virtual time, which took no real time."""


def result_of(judgement: Judgement, of: Described) -> TestResult:
    """Return an Allure result without its steps and attachments."""
    how = status_of(judgement)
    full_name = f"{judgement.target}: {judgement.scenario_id}"
    difference_class = of.finding.difference_class if of.finding else None
    virtual = f"It took {judgement.duration_ms / 1000:.1f} s of virtual time, in which nobody waited."
    return TestResult(
        uuid=stable(judgement.run_id, full_name),
        name=judgement.title,
        fullName=full_name,
        historyId=history_id(judgement.target, judgement.scenario_id),
        testCaseId=case_id(judgement.scenario_id),
        titlePath=[judgement.target, *judgement.scenario_id.split("/")[:-1]],
        # This is Markdown, so it must not contain text from a target.
        description="\n\n".join(
            (
                judgement.title,
                f"Source: `{judgement.source}`",
                f"Repeat it: `{of.reproduction}`",
                *([virtual] if of.is_virtual else []),
            )
        ),
        status=STATUS[how],
        statusDetails=StatusDetails(
            known=how is ResultStatus.KNOWN,
            flaky=of.is_flaky,
            message=message(how, difference_class, of.reason),
            trace=of.trace,
        ),
        stage="finished",
        start=of.start_ms,
        stop=of.start_ms + (0 if of.is_virtual else round(judgement.duration_ms)),
        labels=list(_labels(judgement, of)),
        parameters=list(of.parameters),
        links=[
            *of.links,
            *(_link(name) for name in dict.fromkeys(_link_names(judgement)) if link_address(name)),
        ],
    )


def _labels(judgement: Judgement, of: Described) -> Iterator[Label]:
    how = status_of(judgement)
    folders = judgement.scenario_id.split("/")[:-1]
    values = (
        (LabelType.EPIC, of.target),
        *((LabelType.FEATURE, each) for each in of.features),
        (LabelType.STORY, "/".join(folders)),
        (LabelType.PARENT_SUITE, of.target),
        (LabelType.SUITE, of.suite),
        (LabelType.SUB_SUITE, "/".join(folders[1:])),
        ("package", ".".join((judgement.target.replace(".", "_"), *folders))),
        (LabelType.SEVERITY, severity(how, of.finding).value),
        (LabelType.FRAMEWORK, "kafka-conformance"),
        (LabelType.LANGUAGE, "python"),
        ("conformance_outcome", judgement.outcome),
        ("conformance_expectation", judgement.expectation),
        ("conformance_shown", shown(judgement)),
        ("conformance_grade", grade(of.finding) if of.finding else ""),
        ("signature", judgement.signature or ""),
        *((LabelType.TAG, "known-difference") for _ in range(how is ResultStatus.KNOWN)),
    )
    yield from (Label(name=name, value=value) for name, value in values if value)


def _link_names(judgement: Judgement) -> tuple[str, ...]:
    return (*links_in(judgement.source), *((judgement.link,) if judgement.link else ()))


def _link(name: str) -> Link:
    kind = "issue" if name.startswith("KAFKA-") else "link"
    return Link(type=kind, url=link_address(name), name=name)
