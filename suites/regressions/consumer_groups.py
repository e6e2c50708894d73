"""Consumer group members that replaced others and were affected by what those had chosen."""

from harness.scenario import LEAVES_FOR_A_WHILE, Conversation, ask, expect, scenario
from suites.consumer_groups.regular_expressions import resolved
from suites.consumer_groups.validation import ALL
from suites.migration.groups import join


@scenario("regressions/kafka-20434/successor-with-another-assignor", source="KAFKA-20434", clauses=("CS-17",))
def a_successor_may_choose_another_assignor(conversation: Conversation) -> None:
    """A static member that replaces another and chooses another assignor triggers a new assignment.

    Before 4.4 the group epoch and the assignment of the former assignor stayed.
    """
    ana = conversation.member("ana", instance_id="one")
    ana.enters(assignor="uniform", assigned=ALL)
    ana.leaves(epoch=LEAVES_FOR_A_WHILE)
    bob = conversation.member("bob", instance_id="one")

    bob.enters(assignor="range", assigned=ALL)
    bob.heartbeats(assigned=None)
    bob.asks(
        ask.consumer_group_describe(),
        expect.consumer_group_describe(group_state="Stable", assignor_name="range"),
    )


@scenario("regressions/kafka-19720/classic-successor-of-a-regex", source="KAFKA-19720", clauses=("MG-41",))
def a_classic_successor_consumes_what_it_names(conversation: Conversation) -> None:
    """A classic member that replaces one with a regular expression is assigned only the topics it names.

    Before 4.1.2, and in 4.0 before 4.0.2, it also got the topics that the regular expression matched.
    """
    conversation.member("dan").enters("missing", assigned={})
    bob = conversation.member("bob", instance_id="one")
    joined = bob.enters(topics=None, regex="orders", assigned={})
    resolved(bob, joined["member_epoch"] + 1)
    bob.heartbeats(member_epoch=joined["member_epoch"] + 1, assigned=ALL)
    bob.leaves(epoch=LEAVES_FOR_A_WHILE)
    ana = conversation.actor("ana", group_instance_id="one")

    for owned in (ALL, {}):
        ana.asks(join(owned, topics=("missing",)), expect.join_group(error_code="NONE", leader=""))
        ana.asks(ask.sync_group(version=5), error_code="NONE")
