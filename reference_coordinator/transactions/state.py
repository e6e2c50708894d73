"""The states of a transaction.

Kafka writes each transition to its log before it counts, and refuses requests meanwhile with
CONCURRENT_TRANSACTIONS. Here a transition counts at once; only the markers in the logs of the partitions,
which lead from a `PREPARE_…` to a `COMPLETE_…`, may take their time.
"""

from collections.abc import Mapping
from enum import Enum, unique
from types import MappingProxyType
from typing import Final


@unique
class TransactionState(Enum):
    """Source: TransactionState (4.3.1)."""

    EMPTY = "Empty"
    """The producer is known and has begun nothing."""
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    """It is decided; markers are on their way."""
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    """All markers are written."""
    COMPLETE_ABORT = "CompleteAbort"


VALID_PREVIOUS_STATES: Final[Mapping[TransactionState, frozenset[TransactionState]]] = MappingProxyType(
    {
        TransactionState.EMPTY: frozenset(
            {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
        ),
        TransactionState.ONGOING: frozenset(
            {
                TransactionState.EMPTY,
                TransactionState.ONGOING,
                TransactionState.COMPLETE_COMMIT,
                TransactionState.COMPLETE_ABORT,
            }
        ),
        TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
        TransactionState.PREPARE_ABORT: frozenset(
            {
                TransactionState.ONGOING,
                TransactionState.EMPTY,
                TransactionState.COMPLETE_COMMIT,
                TransactionState.COMPLETE_ABORT,
            }
        ),
        TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
        TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    }
)
"""What may come before each state. From EMPTY and COMPLETE_… to PREPARE_ABORT goes only version 2."""
