"""Links from what a scenario names as its source."""

import pytest

from harness.report.model.phrases import source_parts
from harness.tests.completed_runs import catalogue

GITHUB = "https://github.com/apache/kafka/blob"
COORDINATOR = "group-coordinator/src/main/java/org/apache/kafka/coordinator/group"
RUNTIME = "coordinator-common/src/main/java/org/apache/kafka/coordinator/common/runtime"


@pytest.mark.parametrize(
    ("source", "hrefs"),
    [
        (
            "GroupMetadataManager#validateSyncGroup",
            [f"{GITHUB}/4.3.1/{COORDINATOR}/GroupMetadataManager.java"],
        ),
        (
            "GroupMetadataManager#storeOffsets, KAFKA-9752 and KIP-848",
            [
                f"{GITHUB}/3.9.2/core/src/main/scala/kafka/coordinator/group/GroupMetadataManager.scala",
                "",
                "https://issues.apache.org/jira/browse/KAFKA-9752",
                "",
                "https://cwiki.apache.org/confluence/dosearchsite.action?queryString=KIP-848",
            ],
        ),
        (
            "CoordinatorRuntime.CoordinatorContext#unload",
            [f"{GITHUB}/4.3.1/{RUNTIME}/CoordinatorRuntime.java"],
        ),
        ("NoSuchClass#method <b>", ["", ""]),
    ],
)
def test_what_can_be_read_elsewhere_is_a_link(source: str, hrefs: list[str]) -> None:
    parts = list(source_parts(source))
    assert [part.href for part in parts] == hrefs
    assert "".join(part.text for part in parts) == source


def test_most_scenarios_lead_to_their_source() -> None:
    sources = {script.source for script in catalogue().values()}
    linked = {source for source in sources if any(part.href for part in source_parts(source))}
    assert len(linked) > 0.9 * len(sources), sorted(sources - linked)
