"""What a client does when an API answers it with an error: what makes one error worse than another.

As Kafka's own Java client of 4.3 does it, whose consumer, producer and admin client these are; others do much
the same, for the protocol leaves little choice. Each phrase goes on where "a client" left off.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_LOOKS_AGAIN: Final = "looks for the coordinator again and repeats the request"
_TRIES_AGAIN: Final = "repeats the request"
_JOINS_ANEW: Final = "forgets its member id and joins as a new member"
_IS_FENCED: Final = "is fenced: the producer is of no more use"
_MUST_ABORT: Final = "has to abort the transaction"
_CANNOT_GO_ON: Final = "fails for good: the producer is of no more use"
_POLL_THROWS: Final = "fails: poll throws the error"
_CALL_FAILS: Final = "is told that the call failed"

_ELSEWHERE: Final = ("COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
_LOADING: Final = ("COORDINATOR_LOAD_IN_PROGRESS",)
_FENCING: Final = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactions:
    """What a client of one API does, by error."""

    by_errors: Mapping[tuple[str, ...], str]
    otherwise: str
    """On every other error: none that the client foresees."""
    source: str

    def to(self, error: str) -> str:
        """Return what a client does on an error."""
        return next((text for errors, text in self.by_errors.items() if error in errors), self.otherwise)


_ADMIN: Final[Mapping[tuple[str, ...], str]] = {
    ("NONE",): "is told that it is done",
    _ELSEWHERE: _LOOKS_AGAIN,
    _LOADING: _TRIES_AGAIN,
}

REACTIONS: Final[Mapping[str, Reactions]] = MappingProxyType(
    {
        "FindCoordinator": Reactions(
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
        "JoinGroup": Reactions(
            by_errors={
                ("NONE",): "is in the group",
                ("MEMBER_ID_REQUIRED",): "joins again with the member id that it was given",
                ("UNKNOWN_MEMBER_ID",): _JOINS_ANEW,
                ("REBALANCE_IN_PROGRESS", *_LOADING): _TRIES_AGAIN,
                _ELSEWHERE: _LOOKS_AGAIN,
            },
            otherwise=_POLL_THROWS,
            source="AbstractCoordinator.JoinGroupResponseHandler#handle",
        ),
        "SyncGroup": Reactions(
            by_errors={
                ("NONE",): "has its assignment",
                ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"): "joins again",
                ("UNKNOWN_MEMBER_ID",): _JOINS_ANEW,
                _ELSEWHERE: "looks for the coordinator again and joins again",
            },
            otherwise=_POLL_THROWS,
            source="AbstractCoordinator.SyncGroupResponseHandler#handle",
        ),
        "Heartbeat": Reactions(
            by_errors={
                ("NONE",): "stays in the group as it is",
                ("REBALANCE_IN_PROGRESS",): "joins again and keeps its member id",
                ("ILLEGAL_GENERATION",): "gives up its partitions as lost and joins again",
                ("UNKNOWN_MEMBER_ID",): "gives up its partitions as lost and joins as a new member",
                ("FENCED_INSTANCE_ID",): _POLL_THROWS,
                _ELSEWHERE: _LOOKS_AGAIN,
            },
            otherwise="counts the heartbeat as failed and goes on until its session ends",
            source="AbstractCoordinator.HeartbeatResponseHandler#handle",
        ),
        "LeaveGroup": Reactions(
            by_errors={("NONE",): "has left"},
            otherwise="closes all the same, and knows that the group may wait for its session to end",
            source="AbstractCoordinator.LeaveGroupResponseHandler#handle",
        ),
        "OffsetCommit": Reactions(
            by_errors={
                ("NONE",): "takes the offset for committed",
                ("UNKNOWN_MEMBER_ID",): "is told CommitFailedException and joins as a new member",
                ("ILLEGAL_GENERATION",): "is told CommitFailedException and joins again",
                ("REBALANCE_IN_PROGRESS",): "is told to commit again after the rebalance",
                (*_LOADING, "UNKNOWN_TOPIC_OR_PARTITION"): _TRIES_AGAIN,
                (*_ELSEWHERE, "REQUEST_TIMED_OUT"): _LOOKS_AGAIN,
                (
                    "OFFSET_METADATA_TOO_LARGE",
                    "INVALID_COMMIT_OFFSET_SIZE",
                ): "is told that the commit is too large",
            },
            otherwise="is told that the commit failed, without a reason that it could act upon",
            source="ConsumerCoordinator.OffsetCommitResponseHandler#handle",
        ),
        "OffsetFetch": Reactions(
            by_errors={
                ("NONE",): "begins where the answer says",
                ("UNSTABLE_OFFSET_COMMIT",): "waits and asks again",
                (*_LOADING, "REQUEST_TIMED_OUT"): _TRIES_AGAIN,
                _ELSEWHERE: _LOOKS_AGAIN,
            },
            otherwise="fails: poll throws, for it does not know where to begin",
            source="ConsumerCoordinator.OffsetFetchResponseHandler#handle",
        ),
        "TxnOffsetCommit": Reactions(
            by_errors={
                ("NONE",): "takes the offset for a part of its transaction",
                (*_LOADING, "UNKNOWN_TOPIC_OR_PARTITION", "CONCURRENT_TRANSACTIONS"): _TRIES_AGAIN,
                (*_ELSEWHERE, "REQUEST_TIMED_OUT"): _LOOKS_AGAIN,
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
        "InitProducerId": Reactions(
            by_errors={
                ("NONE",): "begins with the producer id and epoch that it was given",
                ("CONCURRENT_TRANSACTIONS", *_LOADING): _TRIES_AGAIN,
                _ELSEWHERE: _LOOKS_AGAIN,
                _FENCING: _IS_FENCED,
                ("TRANSACTION_ABORTABLE",): _MUST_ABORT,
            },
            otherwise=_CANNOT_GO_ON,
            source="TransactionManager.InitProducerIdHandler#handleResponse",
        ),
        "AddOffsetsToTxn": Reactions(
            by_errors={
                ("NONE",): "goes on to send the offsets to the group",
                ("CONCURRENT_TRANSACTIONS", *_LOADING): _TRIES_AGAIN,
                _ELSEWHERE: _LOOKS_AGAIN,
                _FENCING: _IS_FENCED,
                ("UNKNOWN_PRODUCER_ID", "TRANSACTION_ABORTABLE"): _MUST_ABORT,
            },
            otherwise=_CANNOT_GO_ON,
            source="TransactionManager.AddOffsetsToTxnHandler#handleResponse",
        ),
        "EndTxn": Reactions(
            by_errors={
                ("NONE",): "takes the transaction for ended",
                ("CONCURRENT_TRANSACTIONS", *_LOADING): _TRIES_AGAIN,
                _ELSEWHERE: _LOOKS_AGAIN,
                _FENCING: _IS_FENCED,
                ("UNKNOWN_PRODUCER_ID", "TRANSACTION_ABORTABLE"): _MUST_ABORT,
            },
            otherwise=_CANNOT_GO_ON,
            source="TransactionManager.EndTxnHandler#handleResponse",
        ),
        "DescribeGroups": Reactions(
            by_errors=_ADMIN, otherwise=_CALL_FAILS, source="DescribeClassicGroupsHandler#handleError"
        ),
        "ListGroups": Reactions(
            by_errors=_ADMIN, otherwise=_CALL_FAILS, source="KafkaAdminClient#listGroups"
        ),
        "DeleteGroups": Reactions(
            by_errors=_ADMIN, otherwise=_CALL_FAILS, source="DeleteGroupsHandler#handleError"
        ),
        "OffsetDelete": Reactions(
            by_errors=_ADMIN,
            otherwise=_CALL_FAILS,
            source="DeleteConsumerGroupOffsetsHandler#handleGroupError",
        ),
    }
)
"""By API. Sources are of 4.3.1."""


def reaction(api: str, error: str) -> str | None:
    """Return what a client does on an error of an API; None for an API that no client of groups calls."""
    found = REACTIONS.get(api)
    return None if found is None else found.to(error)
