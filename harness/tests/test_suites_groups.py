"""Scenarios that run at once on one broker keep out of each other's groups."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from harness.apis.descriptor import Access
from harness.apis.table import apis_where, fields_of
from harness.scenario.script import Append, Repeat, Script, Send
from harness.tests.completed_runs import catalogue

_WRITES: Final = apis_where(lambda api: api.access in (Access.CHANGES, Access.CLEANS))
_NAMES_A_GROUP: Final = fields_of(lambda api: api.groups if api.name in _WRITES else ())


def _groups_written(script: Script) -> Iterator[str]:
    """Return the groups that a script changes by a name that is the same in every run."""
    if any(isinstance(step, Append) for step in script.steps):
        return  # the records that it appends name the group, and it has the log to itself
    for step in script.steps:
        if isinstance(step, Send | Repeat) and step.api in _WRITES:
            yield from (name for name in _named(step.fields) if name.strip())


def _named(value: object, field: str = "") -> Iterator[str]:
    """Return the texts in fields that name groups; a name that a run makes up is no text yet."""
    if isinstance(value, Mapping):
        for name, content in value.items():
            yield from _named(content, str(name))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _named(each, field)
    elif isinstance(value, str) and field in _NAMES_A_GROUP:
        yield value


def test_no_two_scenarios_write_to_a_group_of_the_same_name() -> None:
    scenarios: dict[str, set[str]] = defaultdict(set)
    for script in catalogue().values():
        for group in _groups_written(script):
            scenarios[group].add(script.id)

    assert "held-up-offsets" in scenarios
    assert {group: ids for group, ids in scenarios.items() if len(ids) > 1} == {}
