"""Frames that no client would send, the same for the same seed: requests with bytes changed, cut or added."""

import dataclasses
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from kio_extension import load_request_schema
from reference_coordinator.profile.api_versions import Api, served_ranges
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_client import nested_in, request_frame

_FILLED: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("group_id", "groups", "group_ids", "groups_names", "coordinator_keys"), "g"),
    **dict.fromkeys(("member_id", "transactional_id", "transactional_ids"), "m"),
    **dict.fromkeys(("name", "topic", "topic_name", "topic_names", "source_topics"), "orders"),
    **dict.fromkeys(("session_timeout", "rebalance_timeout", "transaction_timeout"), 6_000),
    **dict.fromkeys(("max_bytes", "partition_max_bytes"), 1 << 20),
    **dict.fromkeys(("generation_id", "producer_id", "committed", "transaction_result", "acks"), 1),
    **dict.fromkeys(("generation_id_or_member_epoch", "coordinator_epoch", "replica_id"), -1),
    **dict.fromkeys(("partitions", "partition_indexes", "acknowledge_types"), 0),
    "key": "g",
    "topic_id": UUID(int=7),
    "protocol_type": "consumer",
    "protocols": {"name": "range", "metadata": b"m"},
    "assignment": b"a",
    "records": b"r" * 70,
    "num_partitions": 3,
    "replication_factor": 1,
    "count": 4,
    "max_records": 10,
    "response_partition_limit": 10,
    "resource_type": 32,
    "resource_name": "g",
    "principal": "User:ana",
    "host": "*",
    "subscribed_topic_names": "orders",
    "server_assignor": "range",
    "configs": {"name": "consumer.session.timeout.ms", "config_operation": 0, "value": "50000"},
    "repartition_sink_topics": "g-r",
    "repartition_source_topics": {"name": "g-r", "partitions": 1, "replication_factor": 1},
    "state_changelog_topics": {"name": "g-c", "replication_factor": 1},
}
"""What fields have by their names, and what those below one have instead; of many there is one."""
_EMPTY: Final = ("topic_partitions", "active_tasks", "standby_tasks", "warmup_tasks", "copartition_groups")
"""What a member that joins need not have."""


def seed_frames(profile: str) -> tuple[bytes, ...]:
    """Return a request of each API in each version that a release serves, as a client sends it."""
    return tuple(
        _frame(api, version)
        for api, served in served_ranges(profile_for(profile)).items()
        for version in range(served.min_version, served.max_version + 1)
    )


def mutated_frames(profile: str, seed: int, count: int) -> Iterator[bytes]:
    """Yield that many frames."""
    chance = random.Random(seed)
    frames = seed_frames(profile)
    for _ in range(count):
        yield _mutated(bytearray(chance.choice(frames)), chance)


def _frame(api: Api, version: int) -> bytes:
    """Write a request of which every field has something in it."""
    return request_frame(api.name.lower(), version, **_filled(load_request_schema(api, version)))


def _filled(entity: type[Any], values: Mapping[str, Any] = _FILLED) -> dict[str, Any]:
    """Return something for each field of one of kio's entities, at every depth."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(entity):
        nested, one = nested_in(field.type), values.get(field.name)
        if nested is not None:
            one = _filled(nested, {**values, **one} if isinstance(one, dict) else values)
        if one is not None and field.name not in _EMPTY:
            found[field.name] = (one,) if "tuple" in str(field.type) else one
    return found


def _mutated(frame: bytearray, chance: random.Random) -> bytes:
    # The API and its version mostly stay, so that what is mutated is read at all.
    begin = 0 if chance.random() < 0.05 else min(8, len(frame) - 1)
    for _ in range(chance.choice((0, 1, 1, 2, 4, 8))):
        at = chance.randrange(begin, len(frame))
        kind = chance.randrange(5)
        if kind == 0:
            frame[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            frame[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            frame[at : at + chance.randrange(1, 9)] = chance.choice(
                (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0", b"\x7f" + b"\xff" * 7)
            )
        elif kind == 3:
            frame[at:at] = chance.randbytes(chance.randrange(1, 40))
        else:
            del frame[max(at, begin + 1) :]
    return bytes(frame)


def apis_of(frames: tuple[bytes, ...]) -> set[Api]:
    """Return which APIs frames are of."""
    return {Api(int.from_bytes(frame[:2], "big")) for frame in frames}
