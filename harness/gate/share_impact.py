"""What a client would notice of the behaviours of share groups (KIP-932), for `client_impact`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OF_SHARE_GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "share_groups": "With it, there are share consumers, where share groups are enabled.",
        "share_groups_by_default": (
            "With it, share consumers can be used on a new cluster. Without it, they fail with "
            "UNSUPPORTED_VERSION until share groups are enabled."
        ),
        "share_groups_by_feature_alone": (
            "This concerns clusters whose feature share.version is 0. With it, group.share.enable brings no "
            "share groups any more."
        ),
        "share_state_initialized": (
            "With it, a share consumer gets its first partitions one heartbeat later. Without it, it gets "
            "them when it joins."
        ),
        "share_groups_stay": (
            "Without it, a share group that all consumers have left is forgotten after a while. With it, it "
            "stays until it is deleted."
        ),
        "share_member_id_limited": (
            "This concerns only clients that choose long member ids. With it, they are refused with "
            "INVALID_REQUEST."
        ),
        "share_assignor_balances": (
            "With it, all members of a share group have as many partitions. Without it, some may have more "
            "or all of them."
        ),
        "share_pending_looks_at_subscription": (
            "Without it, a share group that has left a topic counts one epoch more with each heartbeat, and "
            "its members are assigned anew each time."
        ),
        "share_initialize_retry_configured": (
            "This concerns a share coordinator that was not available. How long members wait for partitions "
            "can be configured with it."
        ),
        "share_offsets_alterable": (
            "With it, kafka-share-groups --reset-offsets works. Without it, it does nothing, silently."
        ),
        "share_offsets_deleted_by_group": (
            "This concerns only who deletes offsets of no topics, or of none that he may read. Without it, "
            "he is not told if the group does not exist or has members."
        ),
        "new_partitions_shared_from_start": (
            "With it, a share group reads every record of partitions that are added to its topics. Without "
            "it, by default it misses those written before it knows of the partitions."
        ),
    }
)
