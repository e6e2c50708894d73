"""That every version of every API of the group coordinator is spoken by some scenario, to both ends."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

import pytest

from harness.scenario.script import Receive, Repeat
from harness.scenario.values import Json, to_json
from harness.tests.completed_runs import catalogue
from harness.wire.schema import has_version

LOWEST_AND_HIGHEST: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "JoinGroup": (0, 9),
        "SyncGroup": (0, 5),
        "Heartbeat": (0, 4),
        "LeaveGroup": (0, 5),
        "OffsetCommit": (0, 10),
        "OffsetFetch": (0, 10),
        "OffsetDelete": (0, 0),
        "DescribeGroups": (0, 6),
        "ListGroups": (0, 5),
        "DeleteGroups": (0, 3),
        "FindCoordinator": (0, 6),
        "TxnOffsetCommit": (0, 6),
        "AddOffsetsToTxn": (0, 4),
        "EndTxn": (0, 5),
        "ConsumerGroupHeartbeat": (0, 1),
        "ConsumerGroupDescribe": (0, 1),
    }
)
"""What can be spoken of what any Kafka from 2.4 on serves."""
NEVER_REFUSED: Mapping[str, tuple[range, str]] = MappingProxyType(
    {
        "OffsetFetch": (range(1, 7), "a missing group has no offsets, which is no error"),
        "DescribeGroups": (range(6), "a missing group is Dead, which is no error; v6 says so"),
        "ListGroups": (range(6), "it asks for nothing that might be missing"),
        "FindCoordinator": (range(1), "every text is a group's key, and v0 has no other type of keys"),
    }
)
"""Versions that a coordinator with its log at hand refuses to nobody, and why."""
EACH = [
    (api, version)
    for api, (lowest, highest) in LOWEST_AND_HIGHEST.items()
    for version in range(lowest, highest + 1)
]


@cache
def pinned_errors() -> Mapping[tuple[str, int], frozenset[str]]:
    """Return, by API and version, the errors that some scenario expects of an answer."""
    errors: dict[tuple[str, int], set[str]] = {}
    for script in catalogue().values():
        for step in script.steps:
            if isinstance(step, Receive | Repeat):
                expected = to_json(step.fields if isinstance(step, Receive) else step.until)
                errors.setdefault((step.api, step.api_version), set()).update(_errors_in(expected))
    return {spoken: frozenset(reported) for spoken, reported in errors.items()}


def _errors_in(value: Json, *, is_error: bool = False) -> Iterator[str]:
    if isinstance(value, str):
        if is_error:
            yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _errors_in(item, is_error=name == "error_code" or (is_error and name == "$one_of"))
    elif isinstance(value, list):
        for item in value:
            yield from _errors_in(item, is_error=is_error)


@pytest.mark.slow
@pytest.mark.parametrize(("api", "version"), EACH)
def test_a_scenario_is_granted_what_it_asks_in_every_version(api: str, version: int) -> None:
    assert "NONE" in pinned_errors().get((api, version), frozenset())


@pytest.mark.parametrize(
    ("api", "version"),
    [(api, version) for api, version in EACH if version not in NEVER_REFUSED.get(api, (range(0), ""))[0]],
)
def test_a_scenario_is_refused_what_it_asks_in_every_version(api: str, version: int) -> None:
    assert pinned_errors().get((api, version), frozenset()) - {"NONE"}


@pytest.mark.parametrize("api", LOWEST_AND_HIGHEST)
def test_no_version_that_the_codec_knows_is_left_out(api: str) -> None:
    known = [version for version in range(20) if has_version(api, version)]
    assert (known[0], known[-1]) == LOWEST_AND_HIGHEST[api]
