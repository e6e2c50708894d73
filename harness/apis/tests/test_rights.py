"""Which right is missing where a broker refuses, and which of some rights a broker grants."""

import pytest

from harness.apis.rights import lacking_operations, lacking_right


@pytest.mark.parametrize(
    ("api", "error", "right"),
    [
        ("JoinGroup", "GROUP_AUTHORIZATION_FAILED", "Read on Group"),
        ("FindCoordinator", "GROUP_AUTHORIZATION_FAILED", "Describe on Group"),
        ("CreateTopics", "TOPIC_AUTHORIZATION_FAILED", "Create on Topic"),
        ("OffsetCommit", "TOPIC_AUTHORIZATION_FAILED", "Read on Topic"),
        ("InitProducerId", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Write on TransactionalId"),
        ("DescribeConfigs", "CLUSTER_AUTHORIZATION_FAILED", "DescribeConfigs on Cluster"),
        ("JoinGroup", "UNKNOWN_MEMBER_ID", None),
    ],
)
def test_an_error_tells_which_right_is_missing(api: str, error: str, right: str | None) -> None:
    assert lacking_right(api, error) == right


def test_a_set_of_operations_tells_which_are_missing() -> None:
    read_and_describe = 1 << 3 | 1 << 8
    assert lacking_operations(read_and_describe, ("Read", "Delete")) == ("Delete",)
    assert lacking_operations(-(1 << 31), ("Read",)) == ()
