"""How a consumer of the new protocol (KIP-848) reacts to answers, and the impact of different answers.

Reactions are those of Kafka's Java client 4.3.1.
"""

from typing import Final

from harness.apis.descriptor import ClientImpact, Reactions
from harness.apis.impact import ADMIN, CALL_FAILS, ELSEWHERE, LOADING, LOOKS_AGAIN, TRIES_AGAIN

CONSUMER_GROUP_HEARTBEAT: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "stays in the group, and gives up or takes what it is told to",
            (
                "FENCED_MEMBER_EPOCH",
                "UNKNOWN_MEMBER_ID",
            ): "gives up its partitions as lost and joins again with epoch 0",
            LOADING: TRIES_AGAIN,
            ELSEWHERE: LOOKS_AGAIN,
            ("TOPIC_AUTHORIZATION_FAILED",): "stays in the group, while poll throws the error",
            ("UNSUPPORTED_VERSION",): "fails for good: it is told that the protocol is not supported",
            ("UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID"): "fails for good: its instance id is another's",
        },
        otherwise="fails for good: poll throws the error",
        source="AbstractHeartbeatRequestManager#onErrorResponse",
    ),
    closed="A consumer loses its coordinator with each heartbeat, until its session ends.",
    unanswered="A consumer waits for the answer to its heartbeat; without one its session ends.",
    by_field={
        "member_id": "A consumer that left its id to the coordinator is called otherwise.",
        "member_epoch": (
            "A consumer commits with another epoch: a commit may be refused as stale, or a stale one taken."
        ),
        "heartbeat_interval_ms": "A consumer heartbeats more or less often.",
        "assignment": (
            "A consumer works on other partitions, or gives up others. Its rebalance listener is called for "
            "them, and what it keeps of them (state, caches, offsets that are not committed) is lost."
        ),
    },
    by_errors={
        ("FENCED_MEMBER_EPOCH", "NONE"): (
            "A consumer that is behind goes on, where it would have to give up all and join again."
        ),
        ("UNKNOWN_MEMBER_ID", "NONE"): (
            "A consumer that was removed takes itself for a member, and works on beside its successor."
        ),
        ("NONE", "FENCED_MEMBER_EPOCH"): (
            "A consumer gives up all its partitions and joins again, where it could have gone on."
        ),
        ("FENCED_INSTANCE_ID", "NONE"): (
            "Two consumers with one instance id work side by side, each as if it were the only one."
        ),
        ("UNRELEASED_INSTANCE_ID", "NONE"): (
            "A consumer takes an instance id that another one still uses, and the other is fenced."
        ),
        ("GROUP_MAX_SIZE_REACHED", "NONE"): "A group grows beyond the size that its broker allows.",
    },
)

CONSUMER_GROUP_DESCRIBE: Final = ClientImpact(
    reactions=Reactions(
        by_errors=ADMIN, otherwise=CALL_FAILS, source="DescribeConsumerGroupsHandler#handleError"
    ),
    by_field={
        "group_state": "kafka-consumer-groups --describe, and what watches groups, show another state.",
        "group_epoch": "kafka-consumer-groups --describe --state shows another epoch.",
        "assignment_epoch": "kafka-consumer-groups --describe --state shows another epoch.",
        "assignor_name": "kafka-consumer-groups --describe --state shows another assignor.",
        "members": "kafka-consumer-groups --describe shows other members.",
        "assignment": "kafka-consumer-groups --describe shows other partitions of a member.",
        "target_assignment": "kafka-consumer-groups --describe --verbose shows other partitions as due.",
        "authorized_operations": (
            "Who asks what it may do to a group is told another set; strict decoders of the bits need to "
            "know the new ones."
        ),
    },
)
