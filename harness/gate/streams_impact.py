"""What a client would notice of the behaviours of streams groups (KIP-1071), for `client_impact`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OF_STREAMS_GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "streams_groups": (
            "With it, Kafka Streams may use group.protocol=streams. Without it, its clients fail with "
            "UNSUPPORTED_VERSION."
        ),
        "streams_first_epoch_skipped": (
            "Clients do not notice: all that counts for them is that epochs rise. With it, the first epoch "
            "of a new group is 2, and without it 1."
        ),
        "streams_rejoin_fits_full_group": (
            "This concerns a full streams group. Without it, a member that was fenced cannot come back with "
            "its id: it fails with GROUP_MAX_SIZE_REACHED."
        ),
        "streams_group_configs_ignore_brokers": (
            "This concerns brokers with streams defaults of their own. With it, a group for which anything "
            "is configured waits and expires by Kafka's defaults, not by the broker's."
        ),
        "streams_task_offsets_asked_for": (
            "With it, a streams client is told to send its task offsets each minute. Without it, it sends "
            "none."
        ),
        "streams_fields_checked_before_features": (
            "Only clients that write their own requests notice it: the text of an error is another."
        ),
        "streams_tasks_change_roles": (
            "With it, a client keeps a task as a standby from the answer in which it gives up running it. "
            "Without it, it closes the task and opens the standby some heartbeats later."
        ),
        "streams_static_members": (
            "With it, a streams client with group.instance.id keeps its tasks over a restart. Without it, it "
            "fails with INVALID_REQUEST."
        ),
        "streams_assigned_by_current_tasks": (
            "Tasks may go to other clients while a rebalance goes on, and when one leaves. With it, they go "
            "to those that have restored most."
        ),
        "streams_endpoints_follow_changes": (
            "With it, clients hear at once where another answers queries by now. Without it, they ask at the "
            "former endpoint until tasks move."
        ),
        "streams_client_tags_required": (
            "With it, a streams client that lacks a configured tag logs a warning. Without it, tags cannot "
            "be asked for."
        ),
        "streams_target_kept_for_epoch": (
            "With it, a client that leaves and is back within the assignment interval goes on with its "
            "tasks. Without it, it waits for the next assignment."
        ),
    }
)
