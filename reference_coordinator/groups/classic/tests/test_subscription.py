import pytest

from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.groups.classic.subscription import SubscriptionSchemaError, subscribed_topics
from reference_coordinator.tests.requests import subscription


def test_the_topics_are_read_in_any_version() -> None:
    assert subscribed_topics(subscription("a", "é")) == {"a", "é"}
    owned_partitions_of_version_1 = b"\0\0\0\0"
    later = b"\0\1" + subscription("a")[2:] + owned_partitions_of_version_1
    assert subscribed_topics(later) == {"a"}


def test_user_data_may_be_null_or_there() -> None:
    topics = subscription("a")[:-4]

    assert subscribed_topics(topics + b"\xff\xff\xff\xff") == {"a"}
    assert subscribed_topics(topics + b"\0\0\0\2xx") == {"a"}


@pytest.mark.parametrize("cut_short", [*map(bytes, range(6)), b"\0\0\0\0\0\2\0\0"])
def test_a_header_or_a_topic_that_is_not_there_is_bytes_cut_short(cut_short: bytes) -> None:
    with pytest.raises(SubscriptionSchemaError):
        subscribed_topics(cut_short)


@pytest.mark.parametrize(
    "metadata",
    [
        b"\0\0\xff\xff\xff\xff",
        b"\0\0\0\0\0\1",
        b"\0\0\0\0\0\1\xff\xff",
        b"\0\0\0\0\0\1\0\5abc",
        b"\0\0\0\0\0\0\0\0\0\3xx",
        b"roundrobin",
    ],
    ids=[
        "negative count",
        "one topic and no bytes",
        "null topic",
        "topic cut short",
        "user data cut short",
        "text",
    ],
)
def test_a_length_that_cannot_be_true_breaks(metadata: bytes) -> None:
    with pytest.raises(IllegalStateError):
        subscribed_topics(metadata)
