"""How a client reacts to answers, API by API, and the impact of different answers.

Reactions to errors are those of the consumer, the producer and the admin client of Kafka's Java client 4.3.1.
Other clients do much the same, since the protocol leaves little choice. Each phrase continues "a client …".
"""

from collections.abc import Mapping
from typing import Final

from harness.apis.descriptor import ClientImpact, Reactions

LOOKS_AGAIN: Final = "looks for the coordinator again and repeats the request"
TRIES_AGAIN: Final = "repeats the request"
_JOINS_ANEW: Final = "forgets its member id and joins as a new member"
_IS_FENCED: Final = "is fenced: the producer is of no more use"
_MUST_ABORT: Final = "has to abort the transaction"
_CANNOT_GO_ON: Final = "fails for good: the producer is of no more use"
_POLL_THROWS: Final = "fails: poll throws the error"
CALL_FAILS: Final = "is told that the call failed"

ELSEWHERE: Final = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
LOADING: Final = ("COORDINATOR_LOAD_IN_PROGRESS",)
_FENCING: Final = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED")


ADMIN: Final[Mapping[tuple[str, ...], str]] = {
    ("NONE",): "is told that it is done",
    ELSEWHERE: LOOKS_AGAIN,
    LOADING: TRIES_AGAIN,
}

API_VERSIONS: Final = ClientImpact(by_field={"api_keys": "A client picks another version of the API."})

FIND_COORDINATOR: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "turns to the broker that it was told",
            (
                "COORDINATOR_NOT_AVAILABLE",
                "COORDINATOR_LOAD_IN_PROGRESS",
            ): "asks again until there is one",
        },
        otherwise="fails: without a coordinator it can do nothing",
        source="AbstractCoordinator.FindCoordinatorResponseHandler#onSuccess",
    ),
    closed="A client finds no coordinator, and tries until its time is up.",
    by_field={
        "error_message": "Nothing: the message is for people, and Kafka puts a word there.",
        "node_id": "A client turns to another broker.",
    },
)

JOIN_GROUP: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "is in the group",
            ("MEMBER_ID_REQUIRED",): "joins again with the member id that it was given",
            ("UNKNOWN_MEMBER_ID",): _JOINS_ANEW,
            ("REBALANCE_IN_PROGRESS", *LOADING): TRIES_AGAIN,
            ELSEWHERE: LOOKS_AGAIN,
        },
        otherwise=_POLL_THROWS,
        source="AbstractCoordinator.JoinGroupResponseHandler#handle",
    ),
    closed=("A consumer never gets into the group: it connects again, asks again, and is cut off again."),
    unanswered=(
        "A consumer waits in its poll for a rebalance that does not end in time; no records meanwhile."
    ),
    too_early=(
        "A rebalance completes without those that were to be awaited: they are left without "
        "partitions, or the next rebalance follows at once."
    ),
    by_field={
        "generation_id": (
            "Generations are counted otherwise; clients send back what they got, so only tests that know "
            "the number notice."
        ),
        "protocol_name": (
            "The group takes another assignor of those that its members share: partitions move otherwise, "
            "and a rolling change of assignors takes another course."
        ),
        "leader": "Another member leads: its assignor, with its settings, decides.",
        "member_id": (
            "The answer names the member otherwise; who takes its id from a refused answer joins with "
            "another one."
        ),
        "members": "The leader sees other members, and assigns partitions to these.",
        "protocol_type": "A client that checks the type of its group fails to join.",
    },
    by_errors={
        ("MEMBER_ID_REQUIRED", "NONE"): (
            "A client is in the group in one step: what it does on MEMBER_ID_REQUIRED is never tried, and "
            "a join that it repeats after a timeout leaves a member behind that nobody serves."
        )
    },
)

SYNC_GROUP: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "has its assignment",
            ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"): "joins again",
            ("UNKNOWN_MEMBER_ID",): _JOINS_ANEW,
            ELSEWHERE: "looks for the coordinator again and joins again",
        },
        otherwise=_POLL_THROWS,
        source="AbstractCoordinator.SyncGroupResponseHandler#handle",
    ),
    closed="A consumer gets no assignment: it connects and joins again, and again.",
    unanswered="A consumer waits for its assignment until its request times out, and joins again.",
    too_early="A member goes on before the leader has assigned anything.",
    by_field={"assignment": "A member works on other partitions than the leader gave it."},
)

HEARTBEAT: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "stays in the group as it is",
            ("REBALANCE_IN_PROGRESS",): "joins again and keeps its member id",
            ("ILLEGAL_GENERATION",): "gives up its partitions as lost and joins again",
            ("UNKNOWN_MEMBER_ID",): "gives up its partitions as lost and joins as a new member",
            ("FENCED_INSTANCE_ID",): _POLL_THROWS,
            ELSEWHERE: LOOKS_AGAIN,
        },
        otherwise="counts the heartbeat as failed and goes on until its session ends",
        source="AbstractCoordinator.HeartbeatResponseHandler#handle",
    ),
    closed="A consumer loses its coordinator with each heartbeat, until its session ends.",
    unanswered="A consumer counts the heartbeat as failed; without a better one its session ends.",
    by_errors={
        ("UNKNOWN_MEMBER_ID", "GROUP_ID_NOT_FOUND"): (
            "A consumer whose group is gone does not learn it from its heartbeats: instead of joining "
            "anew it counts them as failed, until its session ends."
        ),
        ("UNKNOWN_MEMBER_ID", "NONE"): (
            "A consumer that was removed takes itself for a member, and works on beside its successor."
        ),
    },
)

LEAVE_GROUP: Final = ClientImpact(
    reactions=Reactions(
        by_errors={("NONE",): "has left"},
        otherwise="closes all the same, and knows that the group may wait for its session to end",
        source="AbstractCoordinator.LeaveGroupResponseHandler#handle",
    ),
    closed="A consumer does not leave: its group waits for its session to end.",
    by_field={"members": "An admin client that removes members is not told how it went with each."},
)

OFFSET_COMMIT: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "takes the offset for committed",
            ("UNKNOWN_MEMBER_ID",): "is told CommitFailedException and joins as a new member",
            ("ILLEGAL_GENERATION",): "is told CommitFailedException and joins again",
            ("STALE_MEMBER_EPOCH",): (
                "is told CommitFailedException; what it commits before a rebalance it repeats with its "
                "present epoch"
            ),
            ("REBALANCE_IN_PROGRESS",): "is told to commit again after the rebalance",
            (*LOADING, "UNKNOWN_TOPIC_OR_PARTITION"): TRIES_AGAIN,
            (*ELSEWHERE, "REQUEST_TIMED_OUT"): LOOKS_AGAIN,
            (
                "OFFSET_METADATA_TOO_LARGE",
                "INVALID_COMMIT_OFFSET_SIZE",
            ): "is told that the commit is too large",
        },
        otherwise="is told that the commit failed, without a reason that it could act upon",
        source=(
            "ConsumerCoordinator.OffsetCommitResponseHandler#handle, "
            "CommitRequestManager#commitSyncExceptionForError"
        ),
    ),
    closed="A commit is lost, or repeated until the call times out.",
    unanswered="A commit that is waited for blocks until the call times out; one that is not is lost.",
    by_field={
        "partitions": (
            "A program that counts the answered partitions counts otherwise; who reads them by number "
            "notices nothing."
        ),
        "topics": "A topic without partitions is answered otherwise; clients send none.",
    },
    by_errors={
        ("UNKNOWN_MEMBER_ID", "NONE"): (
            "The commit of a member that was removed is taken: it overwrites offsets of whoever has the "
            "partition now."
        ),
        ("ILLEGAL_GENERATION", "NONE"): (
            "The commit of a former generation is taken: it overwrites offsets of whoever has the "
            "partition now."
        ),
    },
)

OFFSET_FETCH: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "begins where the answer says",
            ("UNSTABLE_OFFSET_COMMIT",): "waits and asks again",
            ("STALE_MEMBER_EPOCH",): "asks again with its present epoch while it is a member",
            (*LOADING, "REQUEST_TIMED_OUT"): TRIES_AGAIN,
            ELSEWHERE: LOOKS_AGAIN,
        },
        otherwise="fails: poll throws, for it does not know where to begin",
        source=(
            "ConsumerCoordinator.OffsetFetchResponseHandler#handle, "
            "CommitRequestManager.OffsetFetchRequestState#onFailure"
        ),
    ),
    closed="A consumer does not learn where to begin: its poll brings no records.",
    unanswered="A consumer does not learn where to begin: its poll brings no records.",
    by_field={
        "committed_offset": (
            "A consumer begins at another offset: it skips records or reads them again; at -1 it begins "
            "where auto.offset.reset says."
        ),
        "committed_leader_epoch": (
            "A consumer checks its position against that leader epoch: it may take its log for truncated, "
            "where -1 would have spared it the check."
        ),
        "metadata": ("Programs that keep something in a commit's metadata do not get it back as it was."),
        "topics": (
            "A client that asks for offsets gets other topics than it asked for, or none: a group looks "
            "as if it had committed nothing."
        ),
        "partitions": (
            "A program that counts the answered partitions counts otherwise; who reads them by number "
            "notices nothing."
        ),
    },
)

TXN_OFFSET_COMMIT: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "takes the offset for a part of its transaction",
            (*LOADING, "UNKNOWN_TOPIC_OR_PARTITION", "CONCURRENT_TRANSACTIONS"): TRIES_AGAIN,
            (*ELSEWHERE, "REQUEST_TIMED_OUT"): LOOKS_AGAIN,
            (
                "UNKNOWN_MEMBER_ID",
                "ILLEGAL_GENERATION",
                "FENCED_INSTANCE_ID",
                "TRANSACTION_ABORTABLE",
            ): _MUST_ABORT,
            _FENCING: _IS_FENCED,
        },
        otherwise=_CANNOT_GO_ON,
        source="TransactionManager.TxnOffsetCommitHandler#handleResponse",
    ),
    by_field={"topics": "A topic without partitions is answered otherwise; clients send none."},
)

INIT_PRODUCER_ID: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "begins with the producer id and epoch that it was given",
            ("CONCURRENT_TRANSACTIONS", *LOADING): TRIES_AGAIN,
            ELSEWHERE: LOOKS_AGAIN,
            _FENCING: _IS_FENCED,
            ("TRANSACTION_ABORTABLE",): _MUST_ABORT,
        },
        otherwise=_CANNOT_GO_ON,
        source="TransactionManager.InitProducerIdHandler#handleResponse",
    ),
    closed="A producer cannot begin: it tries until max.block.ms is over.",
    by_field={
        "producer_id": (
            "A producer gets another producer id: what went before under the former one is not fenced."
        ),
        "producer_epoch": (
            "A producer gets another epoch: a zombie of the former epoch may not be fenced, and writes on."
        ),
    },
    by_errors={
        ("CONCURRENT_TRANSACTIONS", "NONE"): (
            "A producer begins although its former transaction has not ended, where it would have to wait."
        ),
        (
            "INVALID_PRODUCER_EPOCH",
            "NONE",
        ): "A producer that was fenced goes on, beside the one that fenced it.",
    },
)

ADD_OFFSETS_TO_TXN: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "goes on to send the offsets to the group",
            ("CONCURRENT_TRANSACTIONS", *LOADING): TRIES_AGAIN,
            ELSEWHERE: LOOKS_AGAIN,
            _FENCING: _IS_FENCED,
            ("UNKNOWN_PRODUCER_ID", "TRANSACTION_ABORTABLE"): _MUST_ABORT,
        },
        otherwise=_CANNOT_GO_ON,
        source="TransactionManager.AddOffsetsToTxnHandler#handleResponse",
    )
)

END_TXN: Final = ClientImpact(
    reactions=Reactions(
        by_errors={
            ("NONE",): "takes the transaction for ended",
            ("CONCURRENT_TRANSACTIONS", *LOADING): TRIES_AGAIN,
            ELSEWHERE: LOOKS_AGAIN,
            _FENCING: _IS_FENCED,
            ("UNKNOWN_PRODUCER_ID", "TRANSACTION_ABORTABLE"): _MUST_ABORT,
        },
        otherwise=_CANNOT_GO_ON,
        source="TransactionManager.EndTxnHandler#handleResponse",
    )
)

DESCRIBE_GROUPS: Final = ClientImpact(
    reactions=Reactions(
        by_errors=ADMIN, otherwise=CALL_FAILS, source="DescribeClassicGroupsHandler#handleError"
    ),
    by_field={
        "group_state": ("kafka-consumer-groups --describe, and what watches groups, show another state."),
        "member_assignment": "kafka-consumer-groups --describe shows other partitions of a member.",
        "member_metadata": "Who describes the group sees other subscriptions.",
        "authorized_operations": (
            "Who asks what it may do to a group is told another set; strict decoders of the bits need to "
            "know the new ones."
        ),
    },
)

LIST_GROUPS: Final = ClientImpact(
    reactions=Reactions(by_errors=ADMIN, otherwise=CALL_FAILS, source="KafkaAdminClient#listGroups"),
    by_field={"groups": "kafka-consumer-groups --list shows other groups."},
)

DELETE_GROUPS: Final = ClientImpact(
    reactions=Reactions(by_errors=ADMIN, otherwise=CALL_FAILS, source="DeleteGroupsHandler#handleError")
)

OFFSET_DELETE: Final = ClientImpact(
    reactions=Reactions(
        by_errors=ADMIN,
        otherwise=CALL_FAILS,
        source="DeleteConsumerGroupOffsetsHandler#handleGroupError",
    ),
    by_field={"topics": "An admin client is told of other partitions than it named."},
)
