"""The page of races: it is one of the site's, and says what to look at."""

from pathlib import Path

from harness.races.folder import RunRecord
from harness.races.judge import Counterexample, Verdict
from harness.races.report import write_report
from harness.tests.site_reading import view_of

RUN = RunRecord(
    run_id="races-1", seed=7, round_count=20, races=("delete-and-commit",), command="kafka-conformance race"
)
HOSTILE = "<img src=x onerror=alert(1)>"


def verdict(**findings: int) -> Verdict:
    example = Counterexample(
        race="delete-and-commit",
        round_number=3,
        finding="unexplained",
        timeline=("* 0.00 ms ├──┤ bob OffsetDelete: NONE", HOSTILE),
        meaning="",
    )
    return Verdict(
        race="delete-and-commit",
        title="A group is deleted while a member commits.",
        target="kafka-3.9.2",
        rounds=20,
        findings=findings,
        outcomes={"OffsetCommit of bob": {"NONE": 19, HOSTILE: 1}},
        counterexamples=(example,) if "unexplained" in findings else (),
    )


def test_a_race_that_no_order_explains_is_open_with_its_rounds_and_a_line_that_repeats_it(
    tmp_path: Path,
) -> None:
    write_report(tmp_path, RUN, [verdict(explained=20), verdict(explained=19, unexplained=1)])
    page = view_of(tmp_path, "races")
    assert "No order explains some answers in 1 race</h1>" in page
    assert page.count('<details class="target differs" id="race-2" open>') == 1
    assert "kafka-conformance race delete-and-commit --target kafka-3.9.2 --seed 7 --rounds 20" in page
    assert "<img" not in page
    write_report(tmp_path, RUN, [verdict(explained=20)])
    page = view_of(tmp_path, "races")
    assert "An order explains the answers of every race" in page
    assert " open>" not in page
