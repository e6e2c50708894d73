"""What a coordinator loads of an Empty consumer group that a classic member has joined."""

from harness.scenario import Capability, Conversation, ask, expect, scenario
from suites.consumer_groups.loading import is_loaded
from suites.migration.groups import NOT_FOUND, REQUIRED, UNKNOWN, consumer, is_classic, join
from suites.transactions.producers import announced, ends

FREES = "GroupMetadataManager#maybeDeleteEmptyConsumerGroup"
RESTARTS = (Capability.RESTART,)


@scenario("migration/empty/restart", source=FREES, clauses=("MG-39", "MG-49"), needs=RESTARTS)
def an_emptied_group_is_classic_after_a_restart(conversation: Conversation) -> None:
    """An Empty consumer group that a classic member has joined, if only in one step, is loaded as classic."""
    bob = consumer(conversation)
    bob.leaves()
    ana = conversation.actor("ana")
    ana.asks(join(), error_code=REQUIRED)

    conversation.restarts_coordinator()
    ana.repeats(
        ask.describe_groups(),
        until=expect.describe_groups(error_code="NONE", group_state="Empty"),
        within_ms=20_000,
    )
    is_classic(ana, "Empty")


@scenario("migration/empty/refused-restart", source=FREES, clauses=("MG-39", "MG-49"), needs=RESTARTS)
def a_refused_join_writes_nothing(conversation: Conversation) -> None:
    """A JoinGroup with an unknown member id removes an Empty consumer group until the next restart."""
    bob = consumer(conversation)
    bob.leaves()
    ana = conversation.actor("ana")
    ana.asks(join(member_id="invented"), error_code=UNKNOWN)
    bob.heartbeats(epoch=1, error_code=NOT_FOUND)

    conversation.restarts_coordinator()
    is_loaded(bob, "Empty")


@scenario("migration/empty/another-group-writes", source=FREES, clauses=("MG-39", "MG-49"))
def a_refused_join_shows_when_another_group_writes(conversation: Conversation) -> None:
    """Reads see that a refused JoinGroup removed an Empty consumer group once another group has written."""
    bob = consumer(conversation)
    bob.leaves()
    ana = conversation.actor("ana")
    ana.asks(join(member_id="invented"), error_code=UNKNOWN)
    bob.asks(ask.consumer_group_describe(), expect.response("ConsumerGroupDescribe"))

    beside = conversation.group("other", beside=conversation.group("main"))
    ana.asks(
        ask.offset_commit(group_id=beside, generation_id=-1, member_id="", topics={"payments": {0: 3}}),
        expect.offset_commit({"payments": {0: "NONE"}}),
    )
    bob.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code=NOT_FOUND))


@scenario(
    "migration/empty/a-transaction-ends",
    source="CoordinatorRuntime.CoordinatorContext#completeTransaction",
    clauses=("MG-39", "MG-49"),
)
def a_refused_join_shows_when_a_transaction_ends(conversation: Conversation) -> None:
    """Reads see that a refused JoinGroup removed an Empty consumer group once a transaction has ended."""
    bob = consumer(conversation)
    bob.leaves()
    ana = conversation.actor("ana")
    producer = announced(ana)
    ana.asks(join(member_id="invented"), error_code=UNKNOWN)

    ends(producer, committed=False)
    bob.repeats(
        ask.consumer_group_describe(),
        until=expect.consumer_group_describe(error_code=NOT_FOUND),
    )
