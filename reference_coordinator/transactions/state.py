"""The states of a transaction.

In Kafka, a transition takes effect once it is in the log; until then, requests are refused with
CONCURRENT_TRANSACTIONS. Here it takes effect at once. Only the markers in the partitions' logs, which lead
from a `PREPARE_…` to a `COMPLETE_…` state, may be delayed.
"""

from collections.abc import Mapping
from enum import Enum, unique
from types import MappingProxyType
from typing import Final


@unique
class TransactionState(Enum):
    """Source: TransactionState (4.3.1)."""

    EMPTY = "Empty"
    """The producer is known and has not begun a transaction."""
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    """The transaction is decided; its markers are being written."""
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
"""The valid previous states of each state. Only version 2 goes from EMPTY or COMPLETE_… to PREPARE_ABORT."""
