"""A package of three scenarios for tests of the doors to a run: one is right, one is wrong, one is new."""

from pathlib import Path
from typing import Final

RIGHT: Final = "small/heartbeat/right"
WRONG: Final = "small/heartbeat/wrong"
"""Expects what no coordinator answers."""
NEW: Final = "small/describe/new"
"""Speaks a version that Kafka has since 4.0."""

_SCENARIOS: Final = f'''
"""Scenarios."""

from harness.scenario import Conversation, ask, expect, scenario


@scenario("{RIGHT}", source="GroupCoordinatorService#heartbeat")
def right(conversation: Conversation) -> None:
    """A Heartbeat with an empty group id is told INVALID_GROUP_ID."""
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(group_id="", member_id="m", generation_id=1))
    ana.receives(expect.heartbeat(error_code="INVALID_GROUP_ID"))


@scenario("{WRONG}", source="GroupCoordinatorService#heartbeat")
def wrong(conversation: Conversation) -> None:
    """A Heartbeat with an empty group id is welcome."""
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(group_id="", member_id="m", generation_id=1))
    ana.receives(expect.heartbeat(error_code="NONE"))


@scenario("{NEW}", source="GroupCoordinatorService#describeGroups")
def new(conversation: Conversation) -> None:
    """A group that never was is described."""
    ana = conversation.actor("ana")
    ana.sends(ask.describe_groups(version=6))
    ana.receives(expect.describe_groups(error_code="GROUP_ID_NOT_FOUND"))
'''


def entry(scenario: str, outcome: str = "diverges") -> str:
    """Return an expectation of whatever target."""
    return f"""
[[expect]]
scenario = "{scenario}"
targets = ["*"]
outcome = "{outcome}"
reason = "as the test wants it"
link = "KAFKA-1"
"""


def write_suite(directory: Path, name: str, *entries: str) -> Path:
    """Write the package, with its own expectations, and return its folder."""
    package = directory / name
    (package / "expectations").mkdir(parents=True)
    (package / "__init__.py").write_text('"""Suites."""\n')
    (package / "small.py").write_text(_SCENARIOS)
    (package / "expectations" / "known.toml").write_text("".join(entries))
    return package
