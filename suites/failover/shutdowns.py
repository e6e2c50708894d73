"""A broker that shuts down cleanly, and its answers to parked requests."""

from harness.scenario import Capability, Conversation, ask, expect, scenario
from suites.failover.words import NOT_OURS, rebalancing, serves

RESTARTS = (Capability.RESTART,)
SHUTS_DOWN = "ReplicationControlManager#handleBrokerInControlledShutdown"


@scenario("failover/shutdown/parked-join", source=SHUTS_DOWN, clauses=("PR-07",), needs=RESTARTS)
def a_parked_join_is_answered_by_a_broker_that_shuts_down(conversation: Conversation) -> None:
    """A clean shutdown answers a parked JoinGroup with NOT_COORDINATOR since 3.3; before, it disconnects."""
    ana, bob = rebalancing(conversation)

    conversation.restarts_coordinator()
    ana.may_receive(expect.join_group(error_code=NOT_OURS, generation_id=-1))
    serves(bob)


@scenario("failover/shutdown/first-join", source=SHUTS_DOWN, clauses=("PR-07",), needs=RESTARTS)
def a_new_member_is_answered_by_a_broker_that_shuts_down(conversation: Conversation) -> None:
    """A clean shutdown answers a newcomer's parked JoinGroup with NOT_COORDINATOR, or disconnects."""
    (ana,) = conversation.stable_group("ana")
    bob = conversation.actor("bob")
    bob.obtains_member_id()
    bob.sends(ask.join_group())

    conversation.restarts_coordinator()
    bob.may_receive(expect.join_group(error_code=NOT_OURS, generation_id=-1))
    serves(ana)


@scenario("failover/shutdown/parked-sync", source=SHUTS_DOWN, clauses=("PR-07",), needs=RESTARTS)
def a_parked_sync_is_answered_by_a_broker_that_shuts_down(conversation: Conversation) -> None:
    """A clean shutdown answers a parked SyncGroup with NOT_COORDINATOR since 3.3; before, it disconnects."""
    ana, bob = conversation.stable_group("ana", "bob")
    ana.sends(ask.join_group())
    bob.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.receives(expect.join_group(error_code="NONE", generation_id=3))
    bob.sends(ask.sync_group())

    conversation.restarts_coordinator()
    bob.may_receive(expect.sync_group(error_code=NOT_OURS))
    serves(ana)
