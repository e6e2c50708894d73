"""A coordinator whose log is taken away."""

from harness.scenario import ANY, Capability, Conversation, ask, expect, scenario


@scenario(
    "regressions/kafka-19274/groups-go-with-their-log",
    source="KAFKA-19274",
    clauses=("CO-09",),
    needs=(Capability.SOLE_LEADER,),
)
def groups_go_with_their_log(conversation: Conversation) -> None:
    """When `__consumer_offsets` is deleted, its coordinator gives up its groups; they do not come back.

    4.0.0 kept them, as if nothing had happened. In a cluster the log that is made anew may have another
    leader than the first, which then answers NOT_COORDINATOR: StripedReplicaPlacer#place begins anywhere.
    """
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.delete_topic("__consumer_offsets"), expect.delete_topic(error_code="NONE"))
    conversation.elapses(1000)

    ana.asks(ask.heartbeat(), error_code=ANY)

    ana.repeats(ask.find_coordinator(), until=expect.find_coordinator(error_code="NONE"))
    conversation.elapses(1000)
    ana.asks(ask.heartbeat(), error_code=ANY)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE"))
