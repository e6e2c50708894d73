"""What a group remembers of its topics, against hash4j's XXH3 and Kafka's own Utils."""

from dataclasses import replace

import pytest

from reference_coordinator.core.ids import TopicId
from reference_coordinator.core.metadata_image import MetadataImage, TopicImage
from reference_coordinator.core.xxh3 import xxh3_64
from reference_coordinator.groups.consumer.metadata import compute_subscription_metadata, compute_topic_hash
from reference_coordinator.profile.profiles import profile_for

HASHES = {
    0: 3244421341483603138,
    3: 12180141160879835164,
    8: 6941064856527638883,
    16: 13314990914799711621,
    97: 2137665177113230204,
    240: 7229805477010515663,
    257: 3039943168460295846,
    1025: 9253807012321506678,
    3000: 14452465426031733565,
}
"""Of so many bytes that count up by seven from three, by hash4j 0.22.0."""


@pytest.mark.parametrize("length", HASHES)
def test_bytes_are_hashed_as_hash4j_hashes_them(length: int) -> None:
    assert xxh3_64(bytes((7 * each + 3) & 0xFF for each in range(length))) == HASHES[length]


FOO = TopicImage(name="foo", topic_id=TopicId("00000000-0000-0001-0000-000000000002"), num_partitions=2)
BAR = TopicImage(
    name="bar",
    topic_id=TopicId("ffffffff-ffff-ffff-8000-000000000000"),
    num_partitions=1,
    racks=(("rack2", "rack10"),),
)
IMAGE = MetadataImage(version=1, topics={"foo": FOO, "bar": BAR})


@pytest.mark.parametrize(
    ("names", "expected"),
    [((), 0), (("none",), 0), (("foo",), 7735322124282634187), (("foo", "bar"), -8693016548398322667)],
)
def test_topics_are_hashed_as_kafka_hashes_them(names: tuple[str, ...], expected: int) -> None:
    metadata = compute_subscription_metadata(names, IMAGE, profile_for("4.3"))

    assert metadata.metadata_hash == expected
    assert metadata.topics == frozenset()


@pytest.mark.parametrize(
    ("racks", "expected"),
    [
        (("rack2", "rack10", "rack2"), 5292915779190801627),
        (("rack10", "rack2"), 6127491270080431975),
        (("\uff5e", "\U0001f600"), 3571805808296824409),
    ],
)
def test_racks_are_hashed_as_often_as_replicas_are_in_them(racks: tuple[str, ...], expected: int) -> None:
    assert compute_topic_hash(replace(BAR, racks=(racks,))) == expected


def test_4_0_names_the_topics_instead() -> None:
    metadata = compute_subscription_metadata(("foo", "none"), IMAGE, profile_for("4.0"))

    assert metadata.metadata_hash == 0
    assert [(each.topic_name, each.num_partitions) for each in metadata.topics] == [("foo", 2)]
