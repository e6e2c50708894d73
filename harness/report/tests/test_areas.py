"""Claims by area of the protocol: every scenario has an area, and only what was tried counts."""

from harness.diff.judge import CLAIM_IS_TRUE
from harness.report.model.matrix import AREAS, area_of, claims_by_area
from harness.tests.completed_runs import catalogue
from harness.tests.report_run import JAVA, judgement


def test_every_scenario_is_in_an_area_and_no_area_is_empty() -> None:
    assert {area_of(name) for name in catalogue()} == set(AREAS)


def test_a_claim_that_is_true_counts_whatever_else_differs() -> None:
    counted = claims_by_area(
        [
            judgement("classic/sync/a", JAVA, "conforms"),
            judgement("classic/sync/b", JAVA, "lenient"),
            judgement(
                "classic/sync/c", JAVA, "diverges", reason=f"step 3: generation_id is 2{CLAIM_IS_TRUE}"
            ),
            judgement("classic/sync/d", JAVA, "diverges", reason="step 3: error_code is NONE"),
            judgement("classic/sync/e", JAVA, "indeterminate"),
            judgement("classic/join/f", JAVA, "not applicable"),
            judgement("mine/g", JAVA, "conforms"),
        ]
    )
    assert counted == {"sync": "3/4", "others": "1/1"}
