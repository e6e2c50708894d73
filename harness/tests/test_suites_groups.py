"""Scenarios that run at once on one broker keep out of each other's groups."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from harness.scenario.script import Append, Repeat, Script, Send
from harness.tests.completed_runs import catalogue

_WRITES: Final = frozenset(
    {
        "ConsumerGroupHeartbeat",
        "DeleteGroups",
        "JoinGroup",
        "OffsetCommit",
        "OffsetDelete",
        "ShareGroupHeartbeat",
        "StreamsGroupHeartbeat",
        "SyncGroup",
        "TxnOffsetCommit",
    }
)


def _groups_written(script: Script) -> Iterator[str]:
    """Return the groups that a script changes by a name that is the same in every run."""
    if any(isinstance(step, Append) for step in script.steps):
        return  # the records that it appends name the group, and it has the log to itself
    for step in script.steps:
        if isinstance(step, Send | Repeat) and step.api in _WRITES:
            named = (step.fields.get("group_id"), *(step.fields.get("groups_names") or ()))  # type: ignore[misc] # a list
            yield from (name for name in named if isinstance(name, str) and name.strip())


def test_no_two_scenarios_write_to_a_group_of_the_same_name() -> None:
    scenarios: dict[str, set[str]] = defaultdict(set)
    for script in catalogue().values():
        for group in _groups_written(script):
            scenarios[group].add(script.id)

    assert "held-up-offsets" in scenarios
    assert {group: ids for group, ids in scenarios.items() if len(ids) > 1} == {}
