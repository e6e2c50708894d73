"""Authorization for streams groups: joining a group, and the creation of internal topics."""

from harness.scenario import Conversation, scenario, subtopology, topic_info
from suites.access.entries import AUTHORIZER, NEEDS, NO_GROUP, NO_TOPIC, administrator_of, allows

HEARTBEATS = "KafkaApis#handleStreamsGroupHeartbeat"
MISSING_INTERNAL = 3


@scenario(
    "access/streams-groups/heartbeat",
    source=HEARTBEATS,
    clauses=("KS-55",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_streams_client_reads_its_group_and_sees_its_topics(conversation: Conversation) -> None:
    """StreamsGroupHeartbeat requires READ on the group, then DESCRIBE on each topic of the topology."""
    administrator = administrator_of(conversation)
    ana = conversation.streams_member("ana", principal="ana")

    both = subtopology(sources=("orders", "payments"))

    ana.enters(both, error_code=NO_GROUP)
    allows(administrator, ana, "READ")
    ana.enters(both, error_code=NO_TOPIC)
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    ana.enters(both, error_code=NO_TOPIC)
    ana.enters(assigned={"0": (0, 1, 2)})


@scenario(
    "access/streams-groups/internal-topics",
    source=HEARTBEATS,
    clauses=("KS-29", "KS-30"),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def a_streams_client_may_create_its_topics(conversation: Conversation) -> None:
    """Internal topics are created only if the client has CREATE on each; the status says if it lacks that."""
    administrator = administrator_of(conversation)
    ana, changelog = conversation.streams_member("ana", principal="ana"), conversation.group("changelog")
    stateful = subtopology(changelogs=(topic_info(changelog),))
    allows(administrator, ana, "READ")
    allows(administrator, ana, "READ", kind="TOPIC", name="orders")
    allows(administrator, ana, "DESCRIBE", kind="TOPIC", name=changelog)
    ana.enters(stateful, assigned={}, statuses=(MISSING_INTERNAL,))
    administrator.awaits_metadata()
    ana.heartbeats(owned={}, assigned=None, statuses=(MISSING_INTERNAL,))

    allows(administrator, ana, "CREATE", kind="TOPIC", name=changelog)
    ana.heartbeats(owned={}, assigned=None, statuses=(MISSING_INTERNAL,))
    administrator.awaits_metadata()
    ana.heartbeats(owned={}, assigned={"0": (0, 1, 2)}, statuses=())
