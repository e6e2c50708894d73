"""Messages made of structures: nothing that a message needs is missing from any version that is served."""

import pytest

from kio_extension import load_request_schema
from reference_coordinator.core.ids import TopicId
from reference_coordinator.profile.api_versions import served_ranges
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.topic_logs.messages import FetchTopic
from reference_coordinator.wire.entities import FieldShape, field_shapes
from reference_coordinator.wire.messages import message_of
from reference_coordinator.wire.reading import ReadEntity
from reference_coordinator.wire.requests import request_message


def structure(entity: object) -> ReadEntity:
    """Return a structure with one entry in every array."""
    made = ReadEntity({each.name: content(each) for each in field_shapes(entity)})
    made.unknown_tags = ()
    return made


def content(field: FieldShape) -> object:
    one: object = 1
    if field.entity is not None:
        one = structure(field.entity)
    elif field.kafka_type == "string":
        one = "text"
    elif field.kafka_type in {"bytes", "records"}:
        one = b"bytes"
    return (one,) if field.is_array else one


@pytest.mark.parametrize("release", ["2.4", "3.9", "4.4"])
def test_every_version_that_is_served_makes_a_whole_message(release: str) -> None:
    for api, versions in served_ranges(profile_for(release)).items():
        for version in range(versions.min_version, versions.max_version + 1):
            message = request_message(api, version, structure(load_request_schema(api, version)))
            assert type(message).__name__.lower() == f"{api.name.replace('_', '').lower()}request"


def test_what_a_version_lacks_has_the_messages_default_and_what_is_given_counts() -> None:
    assert message_of(FetchTopic, ReadEntity({"topic": "orders", "partitions": ()})).topic_id is None
    named = message_of(FetchTopic, ReadEntity({"topic_id": 7}), partitions=())
    assert (named.topic, named.topic_id) == ("", TopicId("7"))
