"""From what a user writes to versions of Kafka."""

import pytest

from harness.orchestration.plan import PlanError
from harness.orchestration.versions import choose_versions, in_order
from harness.targets.jars.published import PUBLISHED


def test_versions_come_in_order_and_once() -> None:
    assert choose_versions("4.0.2, 3.9.2,2.4.1,3.9.2") == ("2.4.1", "3.9.2", "4.0.2")


def test_numbers_are_ordered_as_numbers() -> None:
    assert in_order(["4.10.0", "4.9.0", "4.9.10", "4.9.2"]) == ("4.9.0", "4.9.2", "4.9.10", "4.10.0")


def test_the_java_coordinator_follows_the_scala_one_of_its_version() -> None:
    assert choose_versions("4.0.2,3.9.2+java,3.9.2") == ("3.9.2", "3.9.2+java", "4.0.2")


def test_latest_is_the_last() -> None:
    assert choose_versions("latest,4.4.0") == ("4.4.0", "latest")


def test_a_release_is_its_newest_patch() -> None:
    assert choose_versions("2.6,3.9+java") == ("2.6.3", "3.9.2+java")


def test_a_range_of_releases_is_their_newest_patches() -> None:
    assert choose_versions("2.8..3.1") == ("2.8.2", "3.0.2", "3.1.2")


def test_a_range_of_versions_is_every_one_of_them() -> None:
    assert choose_versions("2.6.2..2.7.1") == ("2.6.2", "2.6.3", "2.7.0", "2.7.1")


def test_a_range_may_end_in_a_whole_release() -> None:
    assert choose_versions("2.7.1..2.8") == ("2.7.1", "2.7.2", "2.8.0", "2.8.1", "2.8.2")


def test_the_newest_patches_are_one_a_release() -> None:
    chosen = choose_versions("latest-patch")

    assert chosen[0] == "2.4.1"
    assert len({version.rpartition(".")[0] for version in chosen}) == len(chosen) == 20


def test_all_are_all() -> None:
    assert choose_versions("all") == PUBLISHED


@pytest.mark.parametrize(
    ("text", "close"),
    [("3.9.3", "3.9.2"), ("2.4.11", "2.4.1"), ("3.10", "3.1"), ("lates", "latest"), ("3.9.3+java", "3.9.2")],
)
def test_an_unknown_version_is_refused_with_names_close_to_it(text: str, close: str) -> None:
    with pytest.raises(PlanError, match=rf"not a version of Kafka.*{close}"):
        choose_versions(text)


def test_a_version_newer_than_the_table_is_taken_at_its_word() -> None:
    assert choose_versions("4.9.1,4.4.0") == ("4.4.0", "4.9.1")


@pytest.mark.parametrize("text", ["2.4..", "..3.9", "a..b", "3.9+java..4.0"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="not a range"):
        choose_versions(text)


@pytest.mark.parametrize("text", ["4.0..3.9", "5.0..6.0"])
def test_an_empty_range_is_refused(text: str) -> None:
    with pytest.raises(PlanError, match="no version lies within"):
        choose_versions(text)


def test_no_version_at_all_is_refused() -> None:
    with pytest.raises(PlanError, match="no version is named"):
        choose_versions(" , ")
