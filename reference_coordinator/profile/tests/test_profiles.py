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


@pytest.mark.parametrize("name", ["", "3", "latest", "3.9-scala", "3.9.2.1", "v3.9"])
def test_what_is_no_release_is_refused(name: str) -> None:
    with pytest.raises(UnknownProfileError, match="is no profile"):
        profile_for(name)


def test_releases_before_2_4_are_refused() -> None:
    with pytest.raises(UnknownProfileError, match="too old"):
        profile_for("2.3")


def test_the_java_coordinator_is_refused_where_there_was_none() -> None:
    with pytest.raises(UnknownProfileError, match="no Java coordinator"):
        profile_for("3.6-java")


def test_a_version_without_a_patch_is_the_newest_patch() -> None:
    behaviour = Behaviour.REJOIN_UPDATES_TIMEOUTS

    assert profile_for("3.3").has(behaviour)
    assert not profile_for("3.3.1").has(behaviour)


def test_a_behaviour_may_come_back_and_forth_between_patches() -> None:
    behaviour = Behaviour.ONLY_STABLE_GROUPS_EXPIRE_OFFSETS
    have = [
        version
        for version in ("2.8.1", "2.8.2", "3.0.0", "3.0.1", "3.1.0", "3.1.1", "3.2.0")
        if profile_for(version).has(behaviour)
    ]

    assert have == ["2.8.2", "3.0.1", "3.1.1", "3.2.0"]


def test_heartbeats_in_completing_rebalance_are_fine_from_2_6_1() -> None:
    behaviour = Behaviour.HEARTBEAT_IN_COMPLETING_REBALANCE_IS_FINE

    assert not profile_for("2.6.0").has(behaviour)
    assert profile_for("2.6.1").has(behaviour)


def test_malformed_subscriptions_throw_from_2_7_to_4_3() -> None:
    behaviour = Behaviour.MALFORMED_SUBSCRIPTION_THROWS
    have = [v for v in ("2.6", "2.7", "3.9", "3.9-java", "4.3", "4.4") if profile_for(v).has(behaviour)]

    assert have == ["2.7", "3.9", "3.9-java", "4.3"]
