"""Which right a principal lacks when a broker refuses a request as unauthorized.

Source: KafkaApis, AclEntry#supportedOperations (3.9.2).
"""

from collections.abc import Mapping
from typing import Final

UNAUTHORIZED: Final[Mapping[str, str]] = {
    "GROUP_AUTHORIZATION_FAILED": "Group",
    "TOPIC_AUTHORIZATION_FAILED": "Topic",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "TransactionalId",
    "CLUSTER_AUTHORIZATION_FAILED": "Cluster",
}
"""Error codes of missing rights, each with its type of resource."""
_OPERATIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Group": {
        "ConsumerGroupDescribe": "Describe",
        "DeleteGroups": "Delete",
        "DescribeGroups": "Describe",
        "DescribeConfigs": "DescribeConfigs",
        "FindCoordinator": "Describe",
        "IncrementalAlterConfigs": "AlterConfigs",
        "ListGroups": "Describe",
        "OffsetDelete": "Delete",
        "OffsetFetch": "Describe",
        "ShareGroupDescribe": "Describe",
        "StreamsGroupDescribe": "Describe",
    },
    "Topic": {
        "AddPartitionsToTxn": "Write",
        "ConsumerGroupDescribe": "Describe",
        "ConsumerGroupHeartbeat": "Describe",
        "CreateTopics": "Create",
        "DeleteTopics": "Delete",
        "ListOffsets": "Describe",
        "Metadata": "Describe",
        "OffsetFetch": "Describe",
        "Produce": "Write",
        "StreamsGroupDescribe": "Describe",
        "StreamsGroupHeartbeat": "Describe",
    },
    "TransactionalId": {
        "DescribeTransactions": "Describe",
        "FindCoordinator": "Describe",
        "ListTransactions": "Describe",
    },
    "Cluster": {
        "CreateTopics": "Create",
        "DescribeConfigs": "DescribeConfigs",
        "FindCoordinator": "ClusterAction",
        "InitProducerId": "IdempotentWrite",
        "Produce": "IdempotentWrite",
        "WriteTxnMarkers": "ClusterAction",
    },
}
"""By type of resource, the operations of APIs that need another operation than the usual one."""
_USUAL: Final[Mapping[str, str]] = {
    "Group": "Read",
    "Topic": "Read",
    "TransactionalId": "Write",
    "Cluster": "Describe",
}
OPERATIONS: Final[Mapping[str, int]] = {
    "Read": 3,
    "Write": 4,
    "Create": 5,
    "Delete": 6,
    "Alter": 7,
    "Describe": 8,
    "DescribeConfigs": 10,
    "AlterConfigs": 11,
}
"""Operations to their bits in `authorized_operations`. Source: AclOperation (3.9.2)."""
_NO_SET: Final = -(1 << 31)
"""The value that means no set of operations. Source: KIP-430."""


def lacking_right(api: str, error: str) -> str | None:
    """Return the right whose lack an error of an API reports, e.g. `Read on Group`; None for other errors."""
    resource = UNAUTHORIZED.get(error)
    if resource is None:
        return None
    return f"{_OPERATIONS[resource].get(api, _USUAL[resource])} on {resource}"


def lacking_operations(authorized: int, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Return which wanted operations are not in a broker's set; none if the broker gives no set."""
    if authorized == _NO_SET:
        return ()
    return tuple(name for name in wanted if not authorized >> OPERATIONS[name] & 1)
