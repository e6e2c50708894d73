"""A coordinator whose log is deleted."""

from harness.scenario import ANY, Capability, Conversation, ask, expect, scenario


@scenario(
    "regressions/kafka-19274/groups-go-with-their-log",
    source="KAFKA-19274",
    clauses=("CO-09",),
    needs=(Capability.SOLE_LEADER,),
)
def groups_go_with_their_log(conversation: Conversation) -> None:
    """When `__consumer_offsets` is deleted, its coordinator unloads its groups, and they do not come back.

    4.0.0 kept them, as if nothing had happened. In a cluster, the recreated log may have another leader
    than the first, which then answers NOT_COORDINATOR: StripedReplicaPlacer#place starts at any broker.
    """
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.delete_topic("__consumer_offsets"), expect.delete_topic(error_code="NONE"))
    conversation.elapses(1000)

    ana.asks(ask.heartbeat(), error_code=ANY)

    ana.repeats(ask.find_coordinator(), until=expect.find_coordinator(error_code="NONE"))
    conversation.elapses(1000)
    ana.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE"))
