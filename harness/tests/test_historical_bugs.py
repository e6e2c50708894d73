"""Kafka's known faults: the releases on their two sides are told apart, and what tells them apart is known.

Each row has brokers of both releases driven with the same scenarios, and with the controls, which all of them
answer alike. `pytest -m history` runs them; they are left out otherwise, for they boot forty brokers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from harness.diff.model import Attribution, Judgement
from harness.orchestration.attributing import attribute_changes
from harness.orchestration.judging import Given, judge_run
from harness.orchestration.run import CompletedRun
from harness.tests.completed_runs import CHECKOUT, catalogue, completed_run
from harness.trace.files import RunFolder, read_records, write_records
from harness.verdict import Outcome

CONTROLS: Final = "regressions/control/*"
CONTROL_COUNT: Final = 7
OLDEST: Final = "2.4.1"
"""Has no SyncGroup v5, and so one control less."""
PAGE: Final = CHECKOUT / "docs/historical-bugs.md"


@dataclass(frozen=True, slots=True)
class Bug:
    """A fault that a release had and the next one had not, and the scenario that shows it."""

    number: str
    """Under which it was mended, as it stands in the reference's table of behaviours."""
    scenario: str
    affected: str
    fixed: str
    is_of_a_version: bool = False
    """Whether it is a version of an API that the one release serves and the other does not."""

    def __str__(self) -> str:
        return f"{self.scenario.rpartition('/')[2]}-{self.affected}-{self.fixed}"


HISTORY: Final = (
    Bug("KAFKA-10239", "regressions/kafka-10239/static-member-described-before-v4", "2.5.0", "2.5.1"),
    Bug("pull request 8485", "offsets/delete/two-partitions", "2.5.1", "2.6.0"),
    Bug("KAFKA-9885", "regressions/kafka-9885/room-for-an-id-given-before", "2.5.1", "2.6.0"),
    Bug("KAFKA-10284", "static_membership/restart/changed-protocol", "2.6.0", "2.6.1"),
    Bug("KAFKA-12890", "classic/sync/follower-never-syncs", "2.8.0", "2.8.1"),
    Bug("pull request 9958", "regressions/pr-9958/pending-id-leaves-with-an-instance-id", "2.8.2", "3.0.2"),
    Bug("pull request 9958", "transactions/member/half-named", "2.8.2", "3.0.2"),
    Bug(
        "KIP-814", "static_membership/restart/leader-skips-assignment", "3.1.2", "3.2.3", is_of_a_version=True
    ),
    Bug("KAFKA-14422", "regressions/kafka-14422/leader-before-v5-of-a-static-member", "3.3.1", "3.3.2"),
    Bug("KAFKA-15755", "regressions/kafka-15755/refused-leave-before-v3", "3.5.1", "3.5.2"),
    Bug("KAFKA-15755", "regressions/kafka-15755/refused-leave-before-v3", "3.6.0", "3.6.1"),
    Bug("KAFKA-19163", "transactions/expiry/pending-only", "4.0.0", "4.0.1"),
    Bug("KAFKA-19274", "regressions/kafka-19274/groups-go-with-their-log", "4.0.0", "4.0.1"),
    Bug("pull request 20030", "consumer_groups/describe/empty-id", "4.0.0", "4.0.1"),
    Bug("KAFKA-19147", "access/consumer-groups/regex", "4.0.0", "4.0.1"),
    Bug("KAFKA-18687", "migration/replace/by-consumer", "4.0.0", "4.0.1"),
    Bug("KAFKA-19546", "migration/replace/other-subscription", "4.1.0", "4.1.1"),
    Bug("KAFKA-19720", "regressions/kafka-19720/classic-successor-of-a-regex", "4.1.1", "4.1.2"),
    Bug("KAFKA-19899", "consumer_groups/regex/cleared-alone", "4.1.1", "4.1.2"),
    Bug("KAFKA-19862", "loading/unreadable/partition-handed-over", "4.1.1", "4.1.2"),
    Bug("KAFKA-19449", "consumer_groups/given-up/own-again", "4.1.1", "4.1.2"),
    Bug("KAFKA-19431", "consumer_groups/regex/changed", "4.1.2", "4.2.0"),
    Bug("KAFKA-19233", "consumer_groups/membership/joins-again-later", "4.1.2", "4.2.0"),
    Bug("KAFKA-20066", "consumer_groups/offsets/earlier-epoch", "4.2.1", "4.3.0"),
    Bug("KAFKA-20431", "consumer_groups/reconciliation/described-on-the-way", "4.2.1", "4.3.0"),
    Bug("KAFKA-20640", "migration/policy/disabled-join", "4.3.0", "4.3.1"),
    Bug("KAFKA-20434", "regressions/kafka-20434/successor-with-another-assignor", "4.3.1", "4.4.0"),
    Bug("KAFKA-20442", "consumer_groups/membership/last-leaves", "4.3.1", "4.4.0"),
    Bug("KAFKA-20601", "consumer_groups/membership/full-of-instances", "4.3.1", "4.4.0"),
    Bug("KAFKA-20662", "migration/joins/unreadable-subscription", "4.3.1", "4.4.0"),
    Bug("KAFKA-20747", "consumer_groups/static/renamed", "4.3.1", "4.4.0"),
)
ANSWERED: Final = tuple(bug for bug in HISTORY if not bug.is_of_a_version)
SERVED: Final = tuple(bug for bug in HISTORY if bug.is_of_a_version)
PAIRS: Final = (*dict.fromkeys((bug.affected, bug.fixed) for bug in HISTORY), (OLDEST, "4.4.0"))


@cache
def _run(reports: Path, affected: str, fixed: str) -> tuple[CompletedRun, Mapping[str, tuple[str, ...]]]:
    """Run the two releases; return the run and, by scenario, the sources of the behaviours that differ."""
    scenarios = [bug.scenario for bug in HISTORY if (bug.affected, bug.fixed) == (affected, fixed)]
    run = completed_run(
        reports / f"{affected}-{fixed}", [f"kafka:{affected}", f"kafka:{fixed}"], CONTROLS, *scenarios
    )
    return run, _sources(run.folder)


@cache
def _run_of_references(reports: Path, affected: str, fixed: str) -> Mapping[str, tuple[str, ...]]:
    """Run the two references; return, by scenario, the sources of the behaviours in which they differ."""
    scenarios = [bug.scenario for bug in ANSWERED if (bug.affected, bug.fixed) == (affected, fixed)]
    targets = [f"reference:{affected}", f"reference:{fixed}"]
    run = completed_run(reports / f"references-{affected}-{fixed}", targets, *scenarios)
    write_records(
        run.folder.judgements, [replace(each, oracle=each.target) for each in run.checked.judgements]
    )
    return _sources(run.folder)


def _sources(folder: RunFolder) -> Mapping[str, tuple[str, ...]]:
    attribute_changes(folder, lambda _: None)
    found: dict[str, tuple[str, ...]] = {}
    for each in read_records(Attribution, folder.attributions):
        found[each.scenario_id] = (*found.get(each.scenario_id, ()), *each.sources)
    return found


@cache
def _blindly(reports: Path, affected: str, fixed: str) -> Mapping[str, Judgement]:
    """Hold the newer release against the older one, and against no reference, and give what is told of it."""
    run, _ = _run(reports, affected, fixed)
    name = f"kafka-{fixed}"
    headers = run.folder.read_headers(name)
    run.folder.write_headers(name, [replace(each, oracle=f"kafka-{affected}") for each in headers])
    checked = judge_run(run.folder, Given(catalogue=frozenset(catalogue())))
    return {each.scenario_id: each for each in checked.judgements if each.target == name}


@pytest.fixture(scope="module", name="reports")
def _reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("history")


def _outcomes(run: CompletedRun, scenario: str) -> list[str]:
    """What became of a scenario on the older and the newer of two releases."""
    brokers = run.folder.read_run().targets
    of = {each.target: each.outcome for each in run.checked.judgements if each.scenario_id == scenario}
    return [of[name] for name in brokers]


@pytest.mark.history
@pytest.mark.parametrize("bug", ANSWERED, ids=str)
def test_a_fault_tells_the_release_that_has_it_from_the_one_that_has_it_not(bug: Bug, reports: Path) -> None:
    assert _blindly(reports, bug.affected, bug.fixed)[bug.scenario].outcome == Outcome.DIVERGES


@pytest.mark.slow
@pytest.mark.parametrize("bug", ANSWERED, ids=str)
def test_the_reference_has_a_fault_by_its_number(bug: Bug, reports: Path) -> None:
    sources = _run_of_references(reports, bug.affected, bug.fixed)

    assert any(bug.number in source for source in sources[bug.scenario])


@pytest.mark.history
@pytest.mark.parametrize("bug", ANSWERED, ids=str)
def test_a_fault_is_explained_by_its_number(bug: Bug, reports: Path) -> None:
    run, sources = _run(reports, bug.affected, bug.fixed)

    assert _outcomes(run, bug.scenario) == [Outcome.CONFORMS, Outcome.CONFORMS]
    assert any(bug.number in source for source in sources[bug.scenario])


@pytest.mark.history
@pytest.mark.parametrize("bug", SERVED, ids=str)
def test_a_version_of_an_api_is_served_by_the_newer_release_alone(bug: Bug, reports: Path) -> None:
    run, _ = _run(reports, bug.affected, bug.fixed)

    assert _outcomes(run, bug.scenario) == [Outcome.NOT_APPLICABLE, Outcome.CONFORMS]
    assert catalogue()[bug.scenario].source == bug.number


@pytest.mark.history
@pytest.mark.parametrize(("affected", "fixed"), PAIRS)
def test_what_never_went_wrong_tells_no_releases_apart(affected: str, fixed: str, reports: Path) -> None:
    run, _ = _run(reports, affected, fixed)
    reported = {
        scenario_id: judgement.outcome
        for scenario_id, judgement in _blindly(reports, affected, fixed).items()
        if scenario_id.startswith(CONTROLS.removesuffix("*"))
        and Outcome.NOT_APPLICABLE not in _outcomes(run, scenario_id)
    }

    assert len(reported) == (CONTROL_COUNT if affected != OLDEST else CONTROL_COUNT - 1)
    assert set(reported.values()) == {Outcome.CONFORMS}, reported


def test_the_page_has_every_fault() -> None:
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    reported = {tuple(cell.strip(" `") for cell in row[1:5]) for row in rows}

    assert {(bug.number, bug.scenario, bug.affected, bug.fixed) for bug in HISTORY} <= reported
