"""ApiVersions to profiles."""

from collections.abc import Mapping

import pytest

from harness.targets.base.guess import guess_profile
from harness.targets.base.interface import ApiRange

_OFFSET_COMMIT, _OFFSET_FETCH, _FIND_COORDINATOR, _JOIN_GROUP = 8, 9, 10, 11
_DESCRIBE_GROUPS, _LIST_GROUPS, _ADD_OFFSETS_TO_TXN, _DELETE_GROUPS = 15, 16, 25, 42


def test_the_configuration_tells_which_coordinator_a_release_with_a_choice_has() -> None:
    ranges = [ApiRange(api_key=10, min_version=0, max_version=6)]
    consumer = {"group.coordinator.rebalance.protocols": "classic,consumer"}

    assert guess_profile(ranges, consumer) == "3.9-java"
    assert guess_profile(ranges, {"group.coordinator.rebalance.protocols": "classic"}) == "3.9"
    assert guess_profile([ApiRange(api_key=8, min_version=2, max_version=10)], consumer) == "4.2"


def _ranges(newest: Mapping[int, int]) -> tuple[ApiRange, ...]:
    return tuple(ApiRange(api_key=key, min_version=0, max_version=version) for key, version in newest.items())


def _advertised(*newest: int) -> tuple[ApiRange, ...]:
    keys = (
        _OFFSET_COMMIT,
        _FIND_COORDINATOR,
        _JOIN_GROUP,
        _DESCRIBE_GROUPS,
        _LIST_GROUPS,
        _ADD_OFFSETS_TO_TXN,
        _DELETE_GROUPS,
    )
    return _ranges(dict(zip(keys, newest, strict=True)))


@pytest.mark.parametrize(
    ("newest", "profile"),
    [
        ((8, 3, 6, 5, 3, 1, 2), "2.4"),
        ((8, 3, 7, 5, 3, 1, 2), "2.5"),
        ((8, 3, 7, 5, 4, 1, 2), "2.6"),
        ((8, 3, 7, 5, 4, 2, 2), "2.7"),
        ((8, 3, 7, 5, 4, 3, 2), "2.8"),
        ((8, 4, 7, 5, 4, 3, 2), "3.0"),
        ((8, 4, 9, 5, 4, 3, 2), "3.2"),
        ((9, 4, 9, 5, 4, 3, 2), "3.7"),
        ((9, 5, 9, 5, 5, 4, 2), "3.8"),
        ((9, 6, 9, 5, 5, 4, 2), "3.9"),
        ((9, 6, 9, 6, 5, 4, 2), "4.0"),
        ((10, 6, 9, 6, 5, 4, 2), "4.2"),
        ((10, 6, 9, 6, 5, 4, 3), "4.4"),
    ],
)
def test_a_release_is_known_by_the_newest_versions_that_it_advertises(
    newest: tuple[int, ...], profile: str
) -> None:
    assert guess_profile(_advertised(*newest)) == profile


def test_the_one_release_that_refused_old_joins_is_known_by_that() -> None:
    ranges = [ApiRange(api_key=_JOIN_GROUP, min_version=2, max_version=9), *_ranges({_DESCRIBE_GROUPS: 6})]

    assert guess_profile(ranges) == "4.0.0"


def test_a_broker_that_advertises_nothing_of_groups_is_taken_for_the_oldest() -> None:
    assert guess_profile([]) == "2.4"


def test_a_configuration_tells_4_3_from_4_2() -> None:
    ranges = [ApiRange(api_key=8, min_version=2, max_version=10)]
    assert guess_profile(ranges, {"group.consumer.assignment.interval.ms": "1000"}) == "4.3"
    assert guess_profile(ranges, {"group.consumer.session.timeout.ms": "45000"}) == "4.2"
