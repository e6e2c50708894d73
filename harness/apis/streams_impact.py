"""How a streams client reacts to the answers to its heartbeats, and the impact of different answers."""

from dataclasses import replace
from typing import Final

from harness.apis.consumer_impact import CONSUMER_GROUP_HEARTBEAT

_TASKS: Final = (
    "A streams client runs other tasks, or closes some: it restores the state of new ones, and "
    "works off once more what was not committed."
)
STREAMS_GROUP_HEARTBEAT: Final = replace(
    CONSUMER_GROUP_HEARTBEAT,
    by_field={
        "member_epoch": (
            "A streams client commits with another epoch: a commit may be refused, or a stale one taken."
        ),
        "heartbeat_interval_ms": "A streams client heartbeats more or less often.",
        "active_tasks": _TASKS,
        "standby_tasks": _TASKS,
        "warmup_tasks": _TASKS,
        "status": "A streams client waits for topics, stops, or fails with another reason, or does not.",
        "partitions_by_user_endpoint": "Interactive queries are sent to other clients.",
    },
)
"""Source: StreamsGroupHeartbeatRequestManager#onSuccessResponse (4.3.1)."""
