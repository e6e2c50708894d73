"""From what a user writes to versions of Kafka."""

import pytest

from harness.orchestration.plan import PlanError
from harness.orchestration.versions import choose_versions, in_order
from harness.targets.jars.repository import PUBLISHED


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("4.0.2, 3.9.2,2.4.1,3.9.2", ("2.4.1", "3.9.2", "4.0.2")),
        ("4.0.2,3.9.2+java,3.9.2", ("3.9.2", "3.9.2+java", "4.0.2")),
        ("latest,4.4.0", ("4.4.0", "latest")),
        ("2.6,3.9+java", ("2.6.3", "3.9.2+java")),
        ("2.8..3.1", ("2.8.2", "3.0.2", "3.1.2")),
        ("2.6.2..2.7.1", ("2.6.2", "2.6.3", "2.7.0", "2.7.1")),
        ("2.7.1..2.8", ("2.7.1", "2.7.2", "2.8.0", "2.8.1", "2.8.2")),
        ("all", PUBLISHED),
        ("4.9.1,4.4.0", ("4.4.0", "4.9.1")),
    ],
    ids=[
        "in order and once",
        "the Java coordinator follows the Scala one",
        "latest is the last",
        "a release is its newest patch",
        "a range of releases is their newest patches",
        "a range of versions is every one of them",
        "a range may end in a whole release",
        "all are all",
        "one newer than the table is taken at its word",
    ],
)
def test_what_a_user_writes_is_versions_in_order(text: str, versions: tuple[str, ...]) -> None:
    assert choose_versions(text) == versions


def test_numbers_are_ordered_as_numbers() -> None:
    assert in_order(["4.10.0", "4.9.0", "4.9.10", "4.9.2"]) == ("4.9.0", "4.9.2", "4.9.10", "4.10.0")


def test_the_newest_patches_are_one_a_release() -> None:
    chosen = choose_versions("latest-patch")

    assert chosen[0] == "2.4.1"
    assert len({version.rpartition(".")[0] for version in chosen}) == len(chosen) == 20


@pytest.mark.parametrize(
    ("text", "close"),
    [("3.9.3", "3.9.2"), ("2.4.11", "2.4.1"), ("3.10", "3.1"), ("lates", "latest"), ("3.9.3+java", "3.9.2")],
)
def test_an_unknown_version_is_refused_with_names_close_to_it(text: str, close: str) -> None:
    with pytest.raises(PlanError, match=rf"not a version of Kafka.*{close}"):
        choose_versions(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        *((text, "not a range") for text in ("2.4..", "..3.9", "a..b", "3.9+java..4.0")),
        *((text, "no version lies within") for text in ("4.0..3.9", "5.0..6.0")),
        (" , ", "no version is named"),
    ],
)
def test_what_is_no_range_or_an_empty_one_or_nothing_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(PlanError, match=complaint):
        choose_versions(text)
