"""The matrix of scenarios and targets."""

from harness.report.model.matrix import laid_out
from harness.tests.report_run import SCALA, judgement


def test_scenarios_of_a_group_are_adjacent() -> None:
    ids = ("admin/describe/empty", "admin/describe/low-version/v0", "admin/describe/pending")
    groups = laid_out([judgement(each, SCALA) for each in ids], [SCALA])
    assert [(group.name, [row.name for row in group.rows]) for group in groups] == [
        ("admin/describe", ["empty", "pending"]),
        ("admin/describe/low-version", ["v0"]),
    ]
