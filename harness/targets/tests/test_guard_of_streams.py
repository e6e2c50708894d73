"""What may leave of streams groups and of configurations, by the topics and groups that are named."""

import pytest

from harness.targets.external.guard import Guard, NotOurs
from harness.targets.tests.test_guard import NAMESPACE, OURS, THEIRS, consumer_heartbeat, frame
from harness.wire.codec import Fields, FieldValue


def streams_heartbeat(**subtopology: FieldValue) -> Fields:
    row: Fields = {"subtopology_id": "0", **subtopology}
    return {**consumer_heartbeat(OURS), "topology": {"epoch": 0, "subtopologies": [row]}}


def configured(kind: int, name: str) -> Fields:
    config: Fields = {"name": "streams.session.timeout.ms", "config_operation": 0, "value": "45000"}
    return {"resources": [{"resource_type": kind, "resource_name": name, "configs": [config]}]}


def request(api: str, fields: Fields) -> bytes:
    return frame(api, fields, version=int(api == "IncrementalAlterConfigs"))


@pytest.mark.parametrize(
    ("api", "fields"),
    [
        ("StreamsGroupHeartbeat", streams_heartbeat(source_topics=[OURS, "orders"])),
        ("StreamsGroupHeartbeat", streams_heartbeat(source_topics=["__others"])),
        ("StreamsGroupHeartbeat", streams_heartbeat(repartition_sink_topics=["orders"])),
        ("StreamsGroupHeartbeat", streams_heartbeat(repartition_source_topics=[{"name": "orders"}])),
        (
            "StreamsGroupHeartbeat",
            streams_heartbeat(state_changelog_topics=[{"name": f"{OURS}-"}, {"name": "orders"}]),
        ),
        ("StreamsGroupHeartbeat", streams_heartbeat(source_topic_regex=["or.*"])),
        (
            "StreamsGroupHeartbeat",
            streams_heartbeat(copartition_groups=[{"source_topics": [], "source_topic_regex": [0]}]),
        ),
        ("IncrementalAlterConfigs", configured(2, OURS)),
        ("IncrementalAlterConfigs", configured(32, THEIRS)),
    ],
)
def test_what_names_a_thing_of_others_does_not_leave(api: str, fields: Fields) -> None:
    with pytest.raises(NotOurs, match="would touch what is not ours"):
        Guard(namespace=NAMESPACE).refuse_frame(request(api, fields))


@pytest.mark.parametrize(
    ("api", "fields"),
    [
        ("StreamsGroupHeartbeat", {**consumer_heartbeat(OURS), "topology": None}),
        (
            "StreamsGroupHeartbeat",
            streams_heartbeat(
                source_topics=[OURS],
                repartition_sink_topics=[OURS],
                repartition_source_topics=[{"name": OURS}],
                state_changelog_topics=[{"name": OURS}],
                copartition_groups=[{"source_topics": [0]}],
            ),
        ),
        ("StreamsGroupHeartbeat", streams_heartbeat(source_topics=["", "..", "__consumer_offsets"])),
        ("IncrementalAlterConfigs", configured(32, OURS)),
    ],
)
def test_what_names_things_of_the_run_alone_leaves(api: str, fields: Fields) -> None:
    Guard(namespace=NAMESPACE).refuse_frame(request(api, fields))


def test_groups_are_not_configured_where_that_could_not_be_taken_back() -> None:
    guard = Guard(namespace=NAMESPACE, may_configure=False)
    with pytest.raises(NotOurs, match="could not take back"):
        guard.refuse_frame(request("IncrementalAlterConfigs", configured(32, OURS)))
