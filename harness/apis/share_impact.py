"""How a client of share groups (KIP-932) reacts to answers, and the impact of different answers.

Reactions are those of Kafka's Java client 4.3.1.
"""

from typing import Final

from harness.apis.descriptor import ClientImpact, Reactions
from harness.apis.impact import ADMIN, CALL_FAILS, ELSEWHERE, LOADING, LOOKS_AGAIN, TRIES_AGAIN

SHARE_GROUP_HEARTBEAT: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "stays in the group, and fetches from what it is told to",
            (
                "FENCED_MEMBER_EPOCH",
                "UNKNOWN_MEMBER_ID",
            ): "gives up its partitions and joins again with epoch 0",
            LOADING: TRIES_AGAIN,
            ELSEWHERE: LOOKS_AGAIN,
            ("TOPIC_AUTHORIZATION_FAILED",): "stays in the group, while poll throws the error",
            ("UNSUPPORTED_VERSION",): "fails for good: it is told that share groups are not enabled",
        },
        otherwise="fails for good: poll throws the error",
        source="AbstractHeartbeatRequestManager#onErrorResponse",
    ),
    closed="A share consumer loses its coordinator with each heartbeat, until its session ends.",
    unanswered="A share consumer waits for the answer to its heartbeat; without one its session ends.",
    by_field={
        "member_epoch": "A share consumer heartbeats with another epoch, and may be fenced for it.",
        "heartbeat_interval_ms": "A share consumer heartbeats more or less often.",
        "assignment": "A share consumer fetches from other partitions.",
    },
    by_errors={
        ("FENCED_MEMBER_EPOCH", "NONE"): "A share consumer that is behind goes on instead of joining again.",
        ("NONE", "FENCED_MEMBER_EPOCH"): "A share consumer joins again, where it could have gone on.",
        ("GROUP_MAX_SIZE_REACHED", "NONE"): "A share group grows beyond the size that its broker allows.",
    },
)
SHARE_GROUP_DESCRIBE: Final = ClientImpact(
    reactions=Reactions(
        by_errors=ADMIN, otherwise=CALL_FAILS, source="DescribeShareGroupsHandler#handleError"
    ),
    by_field={
        "group_state": "kafka-share-groups --describe, and what watches groups, show another state.",
        "group_epoch": "kafka-share-groups --describe --state shows another epoch.",
        "assignment_epoch": "kafka-share-groups --describe --state shows another epoch.",
        "members": "kafka-share-groups --describe --members shows other members.",
        "assignment": "kafka-share-groups --describe --members shows other partitions of a member.",
    },
)
_LISTED: Final = "kafka-share-groups --describe --offsets shows another"
DESCRIBE_SHARE_GROUP_OFFSETS: Final = ClientImpact(
    reactions=Reactions(
        by_errors=ADMIN, otherwise=CALL_FAILS, source="ListShareGroupOffsetsHandler#handleError"
    ),
    by_field={"start_offset": f"{_LISTED} start offset.", "lag": f"{_LISTED} lag."},
)
ALTER_SHARE_GROUP_OFFSETS: Final = ClientImpact(
    reactions=Reactions(
        by_errors=ADMIN, otherwise=CALL_FAILS, source="AlterShareGroupOffsetsHandler#handleError"
    ),
    by_field={"responses": "kafka-share-groups --reset-offsets resets other partitions."},
)
DELETE_SHARE_GROUP_OFFSETS: Final = ClientImpact(
    reactions=Reactions(
        by_errors=ADMIN, otherwise=CALL_FAILS, source="DeleteShareGroupOffsetsHandler#handleError"
    ),
    by_field={"responses": "kafka-share-groups --delete-offsets deletes those of other topics."},
)
