"""The table of APIs: Kafka's schemas have what its rows name, and rows name what Kafka's schemas have."""

from collections.abc import Callable, Iterator, Mapping
from inspect import signature

import pytest

from harness.apis.descriptor import IMPACTS, ApiDescriptor
from harness.apis.table import APIS, descriptor
from harness.scenario import ask
from harness.scenario.messages import Request
from harness.wire.codec import error_name
from harness.wire.schema import API_KEYS, Shape, has_version, request_shape, response_shape

GROUP_FIELDS = frozenset(("group_id", "groups_names", "group_ids"))
TRANSACTION_FIELDS = frozenset(("transactional_id", "v3_and_below_transactional_id"))
BUILDERS = [each for each in vars(ask).values() if hasattr(each, "__wrapped__")]
WRITTEN_OTHERWISE = {
    "OffsetCommit": {"version", "generation_id"},
    "DeleteGroups": {"version", "groups"},
    "ShareFetch": {"version", "forgets"},
}
"""Parameters that are no fields, by API."""


def paths(shape: Shape, parent: str = "") -> Iterator[str]:
    """Every field of a message, with the collections around it."""
    for name, field in shape.fields.items():
        path = f"{parent}{name}"
        yield path
        if field.nested is not None:
            yield from paths(field.nested, f"{path}[]." if field.is_array else f"{path}.")


def versions(api: str) -> list[int]:
    return [version for version in range(20) if has_version(api, version)]


def request_fields(api: str) -> set[str]:
    return {path for version in versions(api) for path in paths(request_shape(api, version))}


def response_fields(api: str) -> set[str]:
    return {path for version in versions(api) for path in paths(response_shape(api, version))}


def of_names(found: set[str], names: frozenset[str]) -> set[str]:
    return {path for path in found if path.rpartition(".")[2] in names}


def test_names_and_keys_are_kafkas_and_rows_are_in_their_order() -> None:
    assert {name: row.key for name, row in APIS.items()}.items() <= API_KEYS.items()
    assert list(APIS.values()) == sorted(APIS.values(), key=lambda row: row.key)


@pytest.mark.parametrize("row", APIS.values(), ids=APIS)
def test_every_field_of_a_row_is_one_of_the_messages(row: ApiDescriptor) -> None:
    answered = response_fields(row.name)
    asked = {*row.groups, *row.members, *row.generation, *row.transactions}
    assert asked <= request_fields(row.name)
    assert {*row.learns, *(each.path for each in row.unordered)} <= answered
    assert {each.path for each in row.unordered} <= answered
    keyed = [each for each in row.unordered if each.key]
    assert all(answered & {f"{each.path}[].{key}" for key in each.key} for each in keyed)
    assert not row.group_entries or f"{row.group_entries}[].group_id" in answered
    assert not row.gives_producer_id or "producer_id" in answered
    assert not row.gives_epoch or {"producer_id", "producer_epoch"} <= answered
    assert not row.counts_partitions or {"topics", "topics[].name"} <= answered
    assert row.addresses_since is None or {"host", "port"} <= {path.rpartition(".")[2] for path in answered}


@pytest.mark.parametrize("row", APIS.values(), ids=APIS)
def test_no_field_that_names_a_group_or_a_transaction_is_missing(row: ApiDescriptor) -> None:
    asked = request_fields(row.name)
    assert of_names(asked, GROUP_FIELDS) <= set(row.groups)
    assert of_names(asked, TRANSACTION_FIELDS) <= set(row.transactions)


def test_impact_is_of_apis_fields_and_errors_that_there_are() -> None:
    errors = {error_name(code) for code in range(200)}
    for api, impact in IMPACTS.items():
        paths = {path.replace("[]", "") for path in response_fields(api)} if api in APIS else set()
        assert impact.fields.keys() <= paths | {path.rpartition(".")[2] for path in paths}, api
        assert impact.unnoticed <= impact.fields.keys(), api
        assert {error for named in (*impact.reactions, *impact.instead) for error in named.split()} <= errors
        assert all(len(pair.split()) == 2 for pair in impact.instead), api
    assert IMPACTS.keys() - APIS.keys() == {"admin"}


@pytest.mark.parametrize("api", IMPACTS)
def test_a_reaction_goes_on_from_a_client_and_other_texts_are_sentences(api: str) -> None:
    impact = IMPACTS[api]
    if impact.source:
        assert "#" in impact.source
        assert impact.otherwise
    goes_on = [*impact.reactions.values(), *filter(None, (impact.otherwise,))]
    assert all(text[0].islower() and not text.endswith(".") for text in goes_on)
    whole = (impact.closed, impact.unanswered, impact.too_early, *impact.fields.values())
    assert all(text.endswith(".") for text in (*whole, *impact.instead.values()))


@pytest.mark.parametrize("builder", BUILDERS, ids=lambda each: each.__name__)
def test_a_builder_of_requests_is_asked_for_fields_that_there_are(builder: Callable[..., Request]) -> None:
    api = builder.__name__.title().replace("_", "")
    known = {path.rpartition(".")[2] for path in request_fields(api)}
    asked = signature(builder).parameters.keys() - WRITTEN_OTHERWISE.get(api, {"version"})
    assert "version" in signature(builder).parameters
    assert asked <= known


def test_an_api_without_a_row_is_nothing_in_particular() -> None:
    unknown: Mapping[str, object] = {"access": None, "impact": None, "groups": (), "learns": ()}
    for api in ("ControllerRegistration", "", None):
        assert {name: getattr(descriptor(api), name) for name in unknown} == unknown
