"""The state of a transaction whose end has to wait."""

from harness.scenario import Breakpoint, Capability, Conversation, expect, scenario
from suites.transactions.producers import (
    WITHIN_MS,
    ends,
    initialised,
    pending,
    sees,
)


@scenario(
    "transactions/left/until-the-log-is-loaded",
    source="GroupCoordinator#scheduleHandleTxnCompletion",
    clauses=("AO-06", "TC-34"),
    needs=(Capability.RESTART, Capability.PAUSE_AT_LOADING),
)
def a_transaction_ends_when_its_log_is_loaded(conversation: Conversation) -> None:
    """A transaction can be ended while its offsets load, completes after the load, and another begins."""
    producer = pending(conversation)
    ana = producer.actor
    conversation.pauses_at(Breakpoint.LOADING)
    conversation.restarts_coordinator()
    initialised(conversation.actor("witness"), conversation.group("txn-of-witness"))
    ends(producer, committed=True)
    conversation.resumes_from(Breakpoint.LOADING)

    sees(ana, {"orders": {0: 42}})
    ana.repeats(producer.adds(), until=expect.add_offsets_to_txn(error_code="NONE"), within_ms=WITHIN_MS)
