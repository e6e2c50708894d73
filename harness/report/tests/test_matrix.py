"""The matrix of scenarios and targets."""

from harness.report.model.matrix import laid_out
from harness.tests.report_run import SCALA, judgement


def test_scenarios_of_a_group_are_adjacent() -> None:
    ids = ("admin/describe/empty", "admin/describe/low-version/v0", "admin/describe/pending")
    groups = laid_out([judgement(each, SCALA) for each in ids], [SCALA])
    assert [(name, [row.scenario_id for row in rows]) for name, _, rows in groups] == [
        ("admin/describe", [ids[0], ids[2]]),
        ("admin/describe/low-version", [ids[1]]),
    ]
