"""The tables of impacts name what exists, and have no row that nothing uses."""

import pytest

from harness.apis.descriptor import IMPACTS
from harness.results.client_impact import (
    AUDIENCES,
    BEHAVIOURS,
    CLIENTS,
    WAYS,
    Effect,
    outdated_clients,
    removals_between,
)
from harness.targets.reference.behaviours import behaviour_sheets
from harness.wire.codec import error_name
from harness.wire.schema import API_KEYS, has_version, response_shape

NAMES = {sheet.name for sheet in behaviour_sheets()}
ERRORS = {error_name(code) for code in range(-1, 200)}


def test_each_text_is_about_a_behaviour_that_there_is_and_is_a_sentence() -> None:
    assert BEHAVIOURS.keys() <= NAMES
    assert all(each.says.endswith(".") for each in BEHAVIOURS.values())
    assert all(each.lost != each.effect for each in BEHAVIOURS.values())


def test_there_is_something_to_do_about_each_behaviour_that_stops_a_client_and_no_other() -> None:
    stopping = {name for name, each in BEHAVIOURS.items() if Effect.STOPS in (each.effect, each.lost)}
    assert stopping == {name for name, each in BEHAVIOURS.items() if each.do}


def test_every_kind_of_client_in_the_tables_has_words_and_is_used() -> None:
    behaviours = {key for each in BEHAVIOURS.values() for key in each.who}
    apis = {key for impact in IMPACTS.values() for key in impact.who}
    assert behaviours | apis == AUDIENCES.keys()


@pytest.mark.parametrize("deviation", WAYS)
def test_a_difference_of_the_coordinators_is_one_of_an_api_and_its_errors_or_fields(deviation: str) -> None:
    api, _, what = deviation.partition(": ")
    became, _, was = what.partition(" instead of ")
    if was:
        assert {became, was} <= ERRORS
    else:
        newest = max(version for version in range(20) if has_version(api, version))
        assert what in str(response_shape(api, newest))


def test_versions_that_a_client_came_to_send_are_versions_of_kafkas_apis() -> None:
    rows = [(api, version) for each in CLIENTS.values() for api, of in each.since.items() for version in of]
    assert all(api in API_KEYS and version > 0 for api, version in rows)
    assert all(each.source and each.since for each in CLIENTS.values())


def test_clients_are_outdated_by_the_least_version_that_is_served_and_by_no_other() -> None:
    assert outdated_clients({"OffsetCommit": 2})["Sarama (with its default Config.Version)"] == {
        "1.41.0": ["OffsetCommit"]
    }
    assert not outdated_clients({"OffsetCommit": 1, "Heartbeat": 1})


def test_a_removal_counts_between_the_releases_around_it_alone() -> None:
    assert removals_between((3, 9, 2), (4, 0, 0))["4.0"].name == "KIP-896"
    assert not removals_between((4, 0, 0), (4, 4, 0))
    assert not removals_between((2, 4, 0), (3, 9, 2))
