"""Unordered collections in the responses of several APIs."""

from typing import Final

from harness.apis.descriptor import Unordered

HASH_OF_IDS: Final = "hash-map order over random ids"


def assigned(parent: str) -> tuple[Unordered, ...]:
    """Return the unordered lists of a field that contains a member's assignment."""
    topics = f"{parent}.topic_partitions"
    return (
        Unordered(path=topics, key=("topic_id",), reason="hash-map order over random ids of topics"),
        Unordered(path=f"{topics}[].partitions", key=(), reason="a set of partitions"),
    )
