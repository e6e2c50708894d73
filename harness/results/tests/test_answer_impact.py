"""What a client would notice of a difference, as a scenario's page says it."""

from pathlib import Path

import pytest

from harness.diff.alignment import kind_words
from harness.results.client_impact import impact_of
from harness.tests.report_run import HEARTBEAT, SCALA, difference, small_run
from harness.tests.site_reading import rendered, view_of
from harness.trace.events import EventKind

LIVENESS = "liveness"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"expected": '"NONE"', "actual": '"UNKNOWN_MEMBER_ID"'},
            "joins as a new member (UNKNOWN_MEMBER_ID)",
        ),
        ({"api": "SyncGroup", "field": "assignment"}, "works on other partitions than the leader gave it"),
        ({"api": "JoinGroup", "field": "members[1].member_id"}, "a member with another id gets none"),
        ({"api": "JoinGroup", "field": "member_id"}, "goes by this one from then on"),
        ({"field": None, "difference_class": LIVENESS}, "counts the heartbeat as failed"),
        (
            {"field": None, "difference_class": LIVENESS, "actual": kind_words(EventKind.CLOSED)},
            "loses its coordinator with each heartbeat",
        ),
        ({"field": None, "difference_class": "encoding"}, "cannot read the answer"),
        (
            {"api": "SyncGroup", "field": None, "difference_class": "ordering or barrier"},
            "goes on before the leader has assigned anything",
        ),
    ],
)
def test_a_difference_is_reported_by_what_clients_do(changes: dict[str, object], says: str) -> None:
    assert says in impact_of(difference(HEARTBEAT, SCALA, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"field": None, "difference_class": "timing"},
        {"field": "error_message", "is_lenient": True},
        {"api": None},
    ],
)
def test_where_nothing_can_be_said_nothing_is(changes: dict[str, object]) -> None:
    assert not impact_of(difference(HEARTBEAT, SCALA, **changes))


def test_the_page_of_a_scenario_says_it_beneath_the_first_difference(tmp_path: Path) -> None:
    made = small_run()
    rendered(made.write(tmp_path))
    page = view_of(tmp_path, HEARTBEAT)
    assert page.count("What a client notices") == 2
    assert "it now joins again and keeps its member id (REBALANCE_IN_PROGRESS)" in page
