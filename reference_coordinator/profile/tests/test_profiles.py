import pytest

from reference_coordinator.profile.behaviours import TABLE
from reference_coordinator.profile.profiles import (
    Behaviour,
    CoordinatorFamily,
    UnknownProfileError,
    profile_for,
)


def test_the_table_has_every_behaviour_once() -> None:
    assert sorted(row.behaviour.name for row in TABLE) == sorted(each.name for each in Behaviour)


def test_every_row_has_one_sentence_and_a_source() -> None:
    for row in TABLE:
        assert row.meaning.endswith(".")
        assert "#" in row.source or row.source.startswith("KAFKA-"), row.source


@pytest.mark.parametrize(
    ("version", "family"),
    [
        ("2.4", CoordinatorFamily.SCALA),
        ("3.9.2", CoordinatorFamily.SCALA),
        ("3.9-java", CoordinatorFamily.JAVA),
        ("3.7.1-java", CoordinatorFamily.JAVA),
        ("4.0.0", CoordinatorFamily.JAVA),
        ("4.4", CoordinatorFamily.JAVA),
        ("5.0", CoordinatorFamily.JAVA),
    ],
)
def test_a_version_has_its_coordinator(version: str, family: CoordinatorFamily) -> None:
    assert profile_for(version).coordinator is family


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((name, "is no profile") for name in ("", "3", "latest", "3.9-scala", "3.9.2.1", "v3.9")),
        ("2.3", "too old"),
        ("3.6-java", "no Java coordinator"),
    ],
)
def test_what_is_no_release_with_such_a_coordinator_is_refused(name: str, why: str) -> None:
    with pytest.raises(UnknownProfileError, match=why):
        profile_for(name)


@pytest.mark.parametrize(
    ("behaviour", "releases", "have"),
    [
        (Behaviour.REJOIN_UPDATES_TIMEOUTS, ["3.3.1", "3.3"], ["3.3"]),
        (
            Behaviour.ONLY_STABLE_GROUPS_EXPIRE_OFFSETS,
            ["2.8.1", "2.8.2", "3.0.0", "3.0.1", "3.1.0", "3.1.1", "3.2.0"],
            ["2.8.2", "3.0.1", "3.1.1", "3.2.0"],
        ),
        (Behaviour.HEARTBEAT_IN_COMPLETING_REBALANCE_IS_FINE, ["2.6.0", "2.6.1"], ["2.6.1"]),
        (
            Behaviour.MALFORMED_SUBSCRIPTION_THROWS,
            ["2.6", "2.7", "3.9", "3.9-java", "4.3", "4.4"],
            ["2.7", "3.9", "3.9-java", "4.3"],
        ),
    ],
    ids=["without a patch it is the newest", "back and forth between patches", "since", "from to"],
)
def test_a_release_has_a_behaviour_in_its_ranges(
    behaviour: Behaviour, releases: list[str], have: list[str]
) -> None:
    assert [each for each in releases if profile_for(each).has(behaviour)] == have
