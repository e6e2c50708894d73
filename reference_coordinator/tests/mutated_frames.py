"""Frames that no client would send, the same for the same seed: requests with bytes changed, cut or added."""

import random
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from kio_extension import load_request_schema
from reference_coordinator.profile.api_versions import Api, served_ranges
from reference_coordinator.profile.profiles import profile_for
from reference_coordinator.tests.wire_client import known_fields, request_frame

_GROUP: Final = {"group_id": "g", "member_id": "m", "generation_id": 1}
_TOPIC_ID: Final = UUID(int=7)
_TOPIC: Final = {"name": "orders", "topic_id": _TOPIC_ID}
_BATCHES: Final = ({"first_offset": 0, "last_offset": 0, "acknowledge_types": (1,)},)
_SHARE_SESSION: Final = {
    "group_id": "g",
    "member_id": "m",
    "max_bytes": 1 << 20,
    "max_records": 10,
    "topics": (
        {
            "topic_id": _TOPIC_ID,
            "partitions": ({"partition_index": 0, "acknowledgement_batches": _BATCHES},),
        },
    ),
}
_SHARE_STATE: Final = {
    "group_id": "g",
    "topics": ({"topic_id": _TOPIC_ID, "partitions": ({"partition": 0},)},),
}
_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "join_group": {
        **_GROUP,
        "session_timeout": 6_000,
        "rebalance_timeout": 6_000,
        "protocol_type": "consumer",
        "protocols": ({"name": "range", "metadata": b"m"},),
    },
    "sync_group": {**_GROUP, "assignments": ({"member_id": "m", "assignment": b"a"},)},
    "heartbeat": _GROUP,
    "leave_group": {"group_id": "g", "member_id": "m", "members": ({"member_id": "m"},)},
    "describe_groups": {"groups": ("g",)},
    "delete_groups": {"groups_names": ("g",)},
    "find_coordinator": {"key": "g", "coordinator_keys": ("g",)},
    "metadata": {"topics": (_TOPIC,)},
    "create_topics": {"topics": ({**_TOPIC, "num_partitions": 3, "replication_factor": 1},)},
    "offset_commit": {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "topics": ({**_TOPIC, "partitions": ({"partition_index": 0, "committed_offset": 1},)},),
    },
    "offset_fetch": {
        "group_id": "g",
        "topics": ({**_TOPIC, "partition_indexes": (0,)},),
        "groups": ({"group_id": "g"},),
    },
    "offset_delete": {"group_id": "g", "topics": ({**_TOPIC, "partitions": ({"partition_index": 0},)},)},
    "txn_offset_commit": {
        "transactional_id": "t",
        "group_id": "g",
        "topics": ({**_TOPIC, "partitions": ({"partition_index": 0, "committed_offset": 1},)},),
    },
    "add_partitions_to_txn": {
        "v3_and_below_transactional_id": "t",
        "v3_and_below_topics": ({**_TOPIC, "partitions": (0,)},),
        "transactions": ({"transactional_id": "t"},),
    },
    "delete_topics": {"topic_names": ("orders",), "topics": (_TOPIC,)},
    "delete_records": {"topics": ({**_TOPIC, "partitions": ({"partition_index": 0},)},)},
    "create_partitions": {"topics": ({**_TOPIC, "count": 4},)},
    "create_acls": {
        "creations": (
            {
                "resource_type": 3,
                "resource_name": "g",
                "resource_pattern_type": 3,
                "principal": "User:ana",
                "host": "*",
                "operation": 3,
                "permission_type": 3,
            },
        )
    },
    "offset_for_leader_epoch": {"topics": ({"topic": "orders", "partitions": ({"partition": 0},)},)},
    "write_txn_markers": {
        "markers": (
            {
                "producer_id": 1,
                "transaction_result": True,
                "coordinator_epoch": -1,
                "topics": ({"name": "__consumer_offsets", "partition_indexes": (0,)},),
            },
        )
    },
    "list_offsets": {
        "replica_id": -1,
        "topics": ({"name": "__consumer_offsets", "partitions": ({"partition_index": 0},)},),
    },
    "fetch": {
        "max_bytes": 1 << 20,
        "topics": (
            {
                "topic": "__consumer_offsets",
                "topic_id": _TOPIC_ID,
                "partitions": ({"partition": 0, "partition_max_bytes": 1 << 20},),
            },
        ),
    },
    "consumer_group_heartbeat": {
        "group_id": "g",
        "member_id": "m",
        "rebalance_timeout": 60_000,
        "subscribed_topic_names": ("orders",),
        "subscribed_topic_regex": None,
        "server_assignor": "range",
        "topic_partitions": (),
    },
    "consumer_group_describe": {"group_ids": ("g",)},
    "share_group_heartbeat": {"group_id": "g", "member_id": "m", "subscribed_topic_names": ("orders",)},
    "share_group_describe": {"group_ids": ("g",)},
    "share_fetch": _SHARE_SESSION,
    "share_acknowledge": _SHARE_SESSION,
    "alter_share_group_offsets": {
        "group_id": "g",
        "topics": ({"topic_name": "orders", "partitions": ({"partition_index": 0, "start_offset": 0},)},),
    },
    "delete_share_group_offsets": {"group_id": "g", "topics": ({"topic_name": "orders"},)},
    "add_offsets_to_txn": {"transactional_id": "t", "group_id": "g"},
    "produce": {
        "acks": 1,
        "topic_data": ({**_TOPIC, "partition_data": ({"index": 0, "records": b"r" * 70},)},),
    },
    "streams_group_heartbeat": {
        "group_id": "g",
        "member_id": "m",
        "rebalance_timeout": 45_000,
        "topology": {
            "epoch": 0,
            "subtopologies": (
                {
                    "subtopology_id": "s",
                    "source_topics": ("orders",),
                    "repartition_sink_topics": ("g-r",),
                    "repartition_source_topics": ({"name": "g-r", "partitions": 1, "replication_factor": 1},),
                    "state_changelog_topics": ({"name": "g-c", "replication_factor": 1},),
                },
            ),
        },
    },
    "streams_group_describe": {"group_ids": ("g",)},
    "initialize_share_group_state": _SHARE_STATE,
    "read_share_group_state": _SHARE_STATE,
    "write_share_group_state": _SHARE_STATE,
    "delete_share_group_state": _SHARE_STATE,
    "read_share_group_state_summary": _SHARE_STATE,
    "describe_share_group_offsets": {"groups": ({"group_id": "g", "topics": None},)},
    "describe_configs": {
        "resources": (
            {"resource_type": 2, "resource_name": "orders"},
            {"resource_type": 32, "resource_name": "g"},
        )
    },
    "incremental_alter_configs": {
        "resources": (
            {
                "resource_type": 2,
                "resource_name": "orders",
                "configs": ({"name": "retention.ms", "config_operation": 0, "value": "1"},),
            },
            {
                "resource_type": 32,
                "resource_name": "g",
                "configs": (
                    {"name": "consumer.session.timeout.ms", "config_operation": 0, "value": "50000"},
                ),
            },
        )
    },
    "describe_topic_partitions": {"topics": (_TOPIC,), "response_partition_limit": 10},
    "describe_transactions": {"transactional_ids": ("t",)},
    "init_producer_id": {"transactional_id": "t", "transaction_timeout": 60_000},
    "end_txn": {"transactional_id": "t", "committed": True},
}


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
    """Write a request with those of its fields that the version has."""
    name = api.name.lower()
    fields = known_fields(load_request_schema(api, version), _FIELDS.get(name, {}))
    return request_frame(name, version, **fields)


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
