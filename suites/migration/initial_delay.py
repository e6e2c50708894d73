"""A consumer that joins a classic group which everybody has left during the initial rebalance delay."""

from harness.scenario import Conversation, ask, expect, one_of, scenario
from suites.migration.groups import REQUIRED, UNKNOWN, join


@scenario(
    "migration/initial-delay/everybody-left",
    source="ConsumerGroup#fromClassicGroup",
    clauses=("MG-58",),
    broker_config={"group.initial.rebalance.delay.ms": "2000"},
)
def a_group_without_a_generation_is_upgraded(conversation: Conversation) -> None:
    """From 4.3 on, a consumer without topics stays in epoch 0 of a group that had no generation yet."""
    ana, bob = conversation.actor("ana"), conversation.member("bob")
    ana.asks(join(), error_code=REQUIRED)
    ana.sends(join())
    cat = conversation.actor("cat")
    cat.asks(ask.leave_group(member_id=ana.member_id), expect.leave_group(error_code="NONE"))
    ana.receives(expect.join_group(error_code=UNKNOWN))
    cat.asks(ask.describe_groups(), expect.describe_groups(group_state="PreparingRebalance", members=()))

    joined = bob.enters(topics=(), member_epoch=one_of(0, 1), assigned={})
    bob.asks(
        ask.consumer_group_describe(), expect.consumer_group_describe(group_epoch=joined["member_epoch"])
    )
    bob.enters("payments", member_epoch=one_of(1, 2), assigned={"payments": (0, 1)})
