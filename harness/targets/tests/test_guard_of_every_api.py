"""Every request that Kafka's schemas know, in every version, about others' things: none leaves by default."""

import re
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from harness.apis.descriptor import Access
from harness.apis.table import apis_where, descriptor
from harness.targets.base.interface import ApiRange
from harness.targets.external.guard import Guard, NotOurs
from harness.targets.external.namespace import Namespace
from harness.wire.codec import Fields, FieldValue, encode_request
from harness.wire.schema import API_KEYS, Shape, has_version, request_shape

NAMESPACE = Namespace.new("run")
OURS = f"{NAMESPACE.prefix}classic.join.main"
THEIRS = "payroll"
READ = {
    *("ApiVersions", "ConsumerGroupDescribe", "DescribeConfigs", "DescribeGroups"),
    *("DescribeShareGroupOffsets", "FindCoordinator", "ListConfigResources", "ListGroups"),
    *("ListTransactions", "Metadata", "OffsetFetch", "ShareGroupDescribe", "StreamsGroupDescribe"),
}
"""What anybody may be asked of anything: Kafka changes nothing for these but the topics that two may make."""
CLIENTS_READ = READ | {
    *("DescribeCluster", "DescribeTopicPartitions", "Fetch", "GetTelemetrySubscriptions"),
    *("ListOffsets", "OffsetForLeaderEpoch"),
}
OWNERS = {
    *("group_id", "group_ids", "groups_names", "resource_name"),
    *("transactional_id", "v3_and_below_transactional_id"),
}
"""Fields that name whose thing a request changes."""
TOPIC = re.compile(r"(.*\.)?(\w*topic\w*\.name|topic_names|source_topics|repartition_sink_topics)")
VERSIONS = [(api, version) for api in API_KEYS for version in range(20) if has_version(api, version)]
Named = Callable[[str], str]
"""From the path of a text to what stands there."""


def filled(shape: Shape, named: Named, parent: str = "") -> Fields:
    """Return a message with one item in each collection, and a name wherever there is text."""
    fields: dict[str, FieldValue] = {}
    for name, field in shape.fields.items():
        path = f"{parent}{name}"
        kind = "" if field.is_error_code else str(_type_of(shape, field.attribute))
        value: FieldValue
        if field.nested is not None:
            value = filled(field.nested, named, f"{path}.")
        elif kind == "string":
            value = named(path)
        else:
            continue
        fields[name] = [value] if field.is_array else value
    return fields


def _type_of(shape: Shape, attribute: str) -> object:
    return shape.twin.__dataclass_fields__[attribute].metadata.get("kafka_type")


def texts(shape: Shape) -> list[str]:
    """Return the path of every text in a message."""
    seen: list[str] = []

    def see(path: str) -> str:
        seen.append(path)
        return OURS

    filled(shape, see)
    return seen


def frame(api: str, version: int, named: Named) -> bytes:
    return encode_request(api, version, correlation_id=7, fields=filled(request_shape(api, version), named))


def theirs(_: str) -> str:
    return THEIRS


def theirs_at(place: str, path: str) -> str:
    return THEIRS if path == place else OURS


def test_what_may_be_asked_of_anything_is_listed_here() -> None:
    assert apis_where(lambda api: api.access is Access.READS) == READ
    assert apis_where(lambda api: Access.READS in (api.access, api.client_access)) == CLIENTS_READ


@pytest.mark.parametrize("serves_clients", [False, True])
def test_no_request_about_others_things_leaves_that_does_more_than_read(*, serves_clients: bool) -> None:
    guard = Guard(namespace=NAMESPACE, is_cleaning=True, serves_clients=serves_clients)
    read = CLIENTS_READ if serves_clients else READ
    changing = [(api, version) for api, version in VERSIONS if api not in read]
    assert len({api for api, _ in changing}) > 60
    for api, version in changing:
        with pytest.raises(NotOurs, match="would touch what is not ours"):
            guard.refuse_frame(frame(api, version, theirs))


def changes() -> Iterator[tuple[str, int]]:
    allowed = apis_where(
        lambda api: not {Access.CHANGES, Access.CLEANS}.isdisjoint({api.access, api.client_access})
    )
    return ((api, version) for api, version in VERSIONS if api in allowed)


def test_one_name_of_others_among_the_runs_own_is_enough() -> None:
    guard = Guard(namespace=NAMESPACE, is_cleaning=True, serves_clients=True)
    seen = set()
    for api, version in changes():
        for place in texts(request_shape(api, version)):
            is_topic = TOPIC.fullmatch(place) and descriptor(api).changes_topics
            if place.rpartition(".")[2] in OWNERS or is_topic:
                seen.add((api, place))
                with pytest.raises(NotOurs, match="would touch what is not ours"):
                    guard.refuse_frame(frame(api, version, partial(theirs_at, place)))
    assert len({api for api, _ in seen}) >= 20


def test_an_api_that_only_the_broker_knows_does_not_leave() -> None:
    newer = max(API_KEYS.values()) + 1
    asked = newer.to_bytes(2) + b"\0\0" + b"\0\0\0\7" + b"\xff\xff"
    served = {newer: ApiRange(api_key=newer, min_version=0, max_version=0)}
    Guard(namespace=NAMESPACE).refuse_frame(asked)
    with pytest.raises(NotOurs, match=f"API {newer}"):
        Guard(namespace=NAMESPACE, api_ranges=served).refuse_frame(asked)
    with pytest.raises(NotOurs, match=f"API {newer}"):
        Guard(namespace=NAMESPACE, serves_clients=True).refuse_frame(asked)
