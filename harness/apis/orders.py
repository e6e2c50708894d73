"""What several APIs answer in no order."""

from typing import Final

from harness.apis.descriptor import Unordered

HASH_OF_IDS: Final = "hash-map order over random ids"


def assigned(parent: str) -> tuple[Unordered, ...]:
    """Return the lists of a field that says what a member is assigned."""
    topics = f"{parent}.topic_partitions"
    return (
        Unordered(path=topics, key=("topic_id",), reason="hash-map order over random ids of topics"),
        Unordered(path=f"{topics}[].partitions", key=(), reason="a set of partitions"),
    )
