"""Groups of classic members, of consumers, and of both, from which the scenarios of this suite start.

They consume `payments`, which has two partitions. So two members have one each, in whatever order an assignor
takes them: member ids of classic members differ from broker to broker.
"""

from collections.abc import Mapping, Sequence

from harness.scenario import ANY, Actor, Conversation, Member, PinText, ask, expect
from harness.scenario.ask import REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS
from harness.scenario.messages import OWN, Own, Request, Response, Text

BOTH = {"payments": (0, 1)}
FIRST, SECOND = {"payments": (0,)}, {"payments": (1,)}
NONE_OWNED: Mapping[str, Sequence[int]] = {}
RANGE_NAME = ("range",)
IN_PROGRESS = "REBALANCE_IN_PROGRESS"
NOT_FOUND = "GROUP_ID_NOT_FOUND"
GENERATION, UNKNOWN = "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"
INCONSISTENT = "INCONSISTENT_GROUP_PROTOCOL"
REQUIRED = "MEMBER_ID_REQUIRED"


def join(
    owned: Mapping[str, Sequence[int]] = NONE_OWNED,
    *,
    topics: Sequence[str] = ("payments",),
    names: Sequence[str] = RANGE_NAME,
    subscription_version: int = 1,
    version: int = 6,
    member_id: Text | Own = OWN,
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
    session_timeout_ms: int = SESSION_TIMEOUT_MS,
) -> Request:
    """Return the JoinGroup of a classic consumer that subscribes to `payments` and owns some partitions."""
    metadata = ask.subscription(*topics, version=subscription_version, owned=owned)
    protocols = tuple((name, metadata) for name in names)
    if version == 0:
        return ask.join_group(
            version=0, member_id=member_id, session_timeout_ms=session_timeout_ms, protocols=protocols
        )
    return ask.join_group(
        version=version,
        member_id=member_id,
        rebalance_timeout_ms=rebalance_timeout_ms,
        session_timeout_ms=session_timeout_ms,
        protocols=protocols,
    )


def parts(partitions: Mapping[str, Sequence[int]], *, version: int = 1) -> Response:
    """Expect the assignment that SyncGroup returns to a classic consumer, in the coordinator's encoding."""
    return expect.sync_group(error_code="NONE", assignment=ask.assignment_of(partitions, version=version))


def syncs(actor: Actor, partitions: Mapping[str, Sequence[int]], *, subscription_version: int = 1) -> None:
    """Let a classic member of a consumer group send SyncGroup, and expect its assignment."""
    actor.asks(ask.sync_group(version=5), parts(partitions, version=subscription_version))


def beats(actor: Actor, error_code: PinText = "NONE") -> None:
    """Let a classic member send a Heartbeat."""
    actor.asks(ask.heartbeat(), error_code=error_code)


def rejoins(
    actor: Actor,
    owned: Mapping[str, Sequence[int]],
    *,
    subscription_version: int = 1,
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
) -> None:
    """Let a classic member of a consumer group rejoin; it gets no leader and no members."""
    request = join(
        owned, subscription_version=subscription_version, rebalance_timeout_ms=rebalance_timeout_ms
    )
    actor.asks(request, expect.join_group(error_code="NONE", leader="", members=()))


def classic_consumer(
    conversation: Conversation,
    *,
    instance_id: str | None = None,
    request: Request | None = None,
    assignment: bytes | None = None,
) -> Actor:
    """Make a classic group in which ana has all partitions.

    Args:
        conversation: The conversation to make it in.
        instance_id: The instance id of ana, if it is static.
        request: Its JoinGroup, if it is not the usual one.
        assignment: The assignment that it gives itself, if not plainly all partitions.
    """
    ana = conversation.actor("ana", group_instance_id=instance_id)
    ana.looks_up("payments")
    joining = join() if request is None else request
    if instance_id is None:
        ana.asks(joining, error_code=REQUIRED)
    ana.asks(joining, error_code="NONE")
    mine = ask.assignment_of(BOTH, version=1) if assignment is None else assignment
    ana.asks(
        ask.sync_group(assignments=((ana.member_id, mine),)),
        expect.sync_group(error_code="NONE", assignment=mine),
    )
    return ana


def classic_consumers(conversation: Conversation, *names: str) -> tuple[Actor, ...]:
    """Make a classic group of consumers, in which the first one, ana, has all partitions."""
    ana, others = classic_consumer(conversation), conversation.actors(*names)
    for other in others:
        other.asks(join(), error_code=REQUIRED)
        other.sends(join())
    ana.asks(join(BOTH), error_code="NONE")
    for other in others:
        other.receives(expect.join_group(error_code="NONE"))
    everything = ask.assignment_of(BOTH, version=1)
    ana.asks(ask.sync_group(assignments=((ana.member_id, everything),)), error_code="NONE")
    for other in others:
        other.asks(ask.sync_group(), error_code="NONE")
    return (ana, *others)


def upgraded(conversation: Conversation, *, subscription_version: int = 1) -> tuple[Actor, Member]:
    """Make a classic group of ana, which bob, a consumer, upgrades to a consumer group."""
    ana = classic_consumer(conversation, request=join(subscription_version=subscription_version))
    bob = conversation.member("bob")
    bob.enters("payments", member_epoch=ana.generation_id + 1, assigned={})
    return ana, bob


def shared(conversation: Conversation) -> tuple[Actor, Member]:
    """Make a consumer group of ana, a classic member, and bob, in which each has one partition."""
    ana, bob = upgraded(conversation)
    rejoins(ana, BOTH)
    syncs(ana, FIRST)
    rejoins(ana, FIRST)
    syncs(ana, FIRST)
    bob.heartbeats(assigned=SECOND)
    return ana, bob


def consumer(conversation: Conversation) -> Member:
    """Make a consumer group in which bob has all partitions."""
    bob = conversation.member("bob")
    bob.enters("payments", assigned=BOTH)
    return bob


def admitted(
    conversation: Conversation, *, rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS
) -> tuple[Actor, Member]:
    """Make a consumer group of bob, and let ana join it as a classic member that has no partitions yet."""
    bob = consumer(conversation)
    ana = conversation.actor("ana")
    joining = join(rebalance_timeout_ms=rebalance_timeout_ms)
    ana.asks(joining, error_code=REQUIRED)
    ana.asks(joining, expect.join_group(error_code="NONE", generation_id=bob.epoch + 1))
    return ana, bob


def is_classic(actor: Actor, state: PinText, *, protocol_type: PinText = ANY) -> None:
    """Let an actor check that the group is classic, and in a state."""
    actor.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code=NOT_FOUND))
    described = expect.describe_groups(error_code="NONE", group_state=state, protocol_type=protocol_type)
    actor.asks(ask.describe_groups(), described)


def is_consumer(actor: Actor, state: PinText) -> None:
    """Let an actor check that the group is a consumer group, and in a state."""
    described = expect.consumer_group_describe(error_code="NONE", group_state=state)
    actor.asks(ask.consumer_group_describe(), described)
    actor.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Dead"))


def commits(actor: Actor, offset: int, *, version: int = 8) -> None:
    """Let a member commit an offset."""
    actor.asks(
        ask.offset_commit(version=version, topics={"payments": {0: offset}}),
        expect.offset_commit({"payments": {0: "NONE"}}),
    )


def commits_as_nobody(actor: Actor, offset: int) -> None:
    """Let an actor commit an offset for a group without members."""
    actor.asks(
        ask.offset_commit(
            generation_id=-1, member_id="", group_instance_id=None, topics={"payments": {0: offset}}
        ),
        expect.offset_commit({"payments": {0: "NONE"}}),
    )


def has_committed(actor: Actor, offset: int) -> None:
    """Let an actor check the committed offset."""
    actor.asks(ask.offset_fetch(topics={"payments": (0,)}), expect.offset_fetch({"payments": {0: offset}}))
