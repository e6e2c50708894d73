"""Which heartbeats the coordinator writes to its log, and what is left of one that it cannot write."""

from harness.scenario import Conversation, ask, expect, scenario
from suites.consumer_groups.membership import SUBSCRIBES, group_is
from suites.consumer_groups.regular_expressions import RESOLVES_MS
from suites.consumer_groups.validation import ALL, sole_member
from suites.failures.lingering import LINGER_MS, LINGERING, SHORT_COMMITS
from suites.failures.too_large import SMALL_LOG

HANDLES_RESULT = "GroupMetadataManager#handleRegularExpressionsResult"
AT_ONCE_MS = LINGER_MS - 100
"""A broker with little time of the processor may be slow, but is not as late as a batch."""
TOO_MANY = tuple(f"topic-{number}-{'x' * 200}" for number in range(15))


@scenario(
    "consumer_groups/written/changes-nothing",
    source=SUBSCRIBES,
    clauses=("CH-60",),
    broker_config=SHORT_COMMITS | LINGERING,
)
def what_changes_nothing_is_not_written(conversation: Conversation) -> None:
    """A heartbeat that changes nothing is answered at once, though every write waits for its batch.

    It may leave its fields out, or repeat them.
    """
    ana, _ = sole_member(conversation)
    conversation.elapses(2 * LINGER_MS)
    sparse = ask.consumer_group_heartbeat()
    full = ask.consumer_group_heartbeat(
        rebalance_timeout_ms=ask.REBALANCE_TIMEOUT_MS,
        subscribed_topic_names=("orders",),
        topic_partitions=ALL,
    )

    for heartbeat in (sparse, full, sparse):
        ana.sends(heartbeat)
        ana.receives(expect.consumer_group_heartbeat(error_code="NONE"), within_ms=AT_ONCE_MS)


@scenario(
    "consumer_groups/written/regex-of-nobody",
    source=HANDLES_RESULT,
    clauses=("KX-20",),
    broker_config=SMALL_LOG,
)
def a_regular_expression_without_a_member_is_ignored(conversation: Conversation) -> None:
    """A regular expression whose member could not be written is resolved for nobody, and raises no epoch."""
    ana, joined = sole_member(conversation)
    bob = conversation.member("bob")

    bob.enters(*TOO_MANY, regex="payments", error_code="UNKNOWN_SERVER_ERROR")
    conversation.elapses(RESOLVES_MS)
    group_is(ana, "Stable", epoch=joined["member_epoch"])
