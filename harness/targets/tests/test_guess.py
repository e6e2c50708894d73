"""ApiVersions to profiles."""

from collections.abc import Mapping

import pytest

from harness.targets.base.guess import guess_in_words, guess_profile
from harness.targets.base.interface import ApiRange
from harness.wire.schema import api_key
from reference_coordinator.profile.api_versions import served_ranges
from reference_coordinator.profile.profiles import profile_for

_APIS = (
    *("OffsetCommit", "FindCoordinator", "JoinGroup", "DescribeGroups"),
    *("ListGroups", "AddOffsetsToTxn", "DeleteGroups"),
)
_PROTOCOLS = "group.coordinator.rebalance.protocols"


def _range(api: str, newest: int, *, oldest: int = 0) -> ApiRange:
    return ApiRange(api_key=api_key(api), min_version=oldest, max_version=newest)


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
        ((), "2.4"),
    ],
)
def test_a_release_is_known_by_the_newest_versions_that_it_advertises(
    newest: tuple[int, ...], profile: str
) -> None:
    assert guess_profile([*map(_range, _APIS, newest)]) == profile


@pytest.mark.parametrize(
    ("advertised", "config", "profile"),
    [
        (_range("FindCoordinator", 6), {_PROTOCOLS: "classic,consumer"}, "3.9-java"),
        (_range("FindCoordinator", 6), {_PROTOCOLS: "classic"}, "3.9"),
        (_range("OffsetCommit", 10, oldest=2), {_PROTOCOLS: "classic,consumer"}, "4.2"),
        (_range("OffsetCommit", 10, oldest=2), {"group.consumer.assignment.interval.ms": "1000"}, "4.3"),
        (_range("OffsetCommit", 10, oldest=2), {"group.consumer.session.timeout.ms": "45000"}, "4.2"),
    ],
)
def test_the_configuration_tells_coordinators_and_releases_apart_that_advertise_the_same(
    advertised: ApiRange, config: Mapping[str, str], profile: str
) -> None:
    assert guess_profile([advertised], config) == profile


MIXED = (
    *(_range("OffsetFetch", 8), _range("FindCoordinator", 4), _range("JoinGroup", 7)),
    *(_range("LeaveGroup", 5), _range("ListGroups", 4), _range("ListTransactions", 1)),
)


def test_a_single_new_version_does_not_outweigh_all_others() -> None:
    assert guess_profile(MIXED) == "3.5"
    old = [_range(api, newest) for api, newest in zip(_APIS, (8, 3, 6, 5, 3, 1, 3), strict=True)]
    assert guess_profile(old) == "2.4"


def test_a_guess_names_what_contradicts_it() -> None:
    assert guess_in_words("3.5", MIXED) == (
        "profile 3.5 is a guess from the advertised ApiVersions; it contradicts JoinGroup v7 (before 3.2), "
        "ListTransactions v1 (from 3.8); --profile states another"
    )
    assert "contradicts" not in guess_in_words("3.9-java", [_range("FindCoordinator", 6)])


@pytest.mark.parametrize("release", ["2.4", "2.8", "3.0", "3.2", "3.5", "3.7", "3.9", "4.0", "4.1", "4.2"])
def test_a_release_is_guessed_from_all_that_it_advertises(release: str) -> None:
    ranges = served_ranges(profile_for(release))
    own = [
        ApiRange(api_key=int(key), min_version=each.min_version, max_version=each.max_version)
        for key, each in ranges.items()
    ]
    assert guess_profile(own) == release
    assert "contradicts" not in guess_in_words(release, own)


def test_the_one_release_that_refused_old_joins_is_known_by_that() -> None:
    assert guess_profile([_range("JoinGroup", 9, oldest=2), _range("DescribeGroups", 6)]) == "4.0.0"
