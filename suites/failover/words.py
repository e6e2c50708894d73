"""Shared parts of this suite."""

from harness.scenario import ANY, Actor, Capability, Conversation, GroupRef, ask, expect

MOVES = (Capability.CLUSTER,)
KILLS = (Capability.KILL,)
DISCONNECTS = (Capability.CLUSTER, Capability.DISCONNECT)
LOADS = "GroupMetadataManager#replay"
UNLOADS = "GroupMetadataManager#onUnloaded"
NOT_OURS = "NOT_COORDINATOR"
WITHIN_MS = 20_000
"""Long enough for a cluster to detect that a broker is gone."""


def moved(conversation: Conversation, *actors: Actor) -> None:
    """Move the coordinator to another broker, reconnect the actors, and wait until it serves."""
    conversation.moves_coordinator()
    goes_on(*actors)


def killed(conversation: Conversation, witness: Actor) -> None:
    """Kill the coordinator's broker, and wait until a coordinator serves again."""
    conversation.kills_coordinator()
    serves(witness)


def disconnected(conversation: Conversation, witness: Actor) -> None:
    """Disconnect the coordinator's broker from the network, and wait until another serves."""
    conversation.disconnects_coordinator()
    serves(witness)


def goes_on(*actors: Actor) -> None:
    """Reconnect actors from the former coordinator to the current one, and wait until it serves."""
    for actor in actors:
        actor.disconnects()
    serves(actors[0])


def serves(witness: Actor) -> None:
    """Wait until the coordinator has loaded the group, and write an offset there.

    A Java coordinator listens for its partition's high watermark only once it has loaded. If its followers
    confirm the log between the load and that point, it misses the confirmation, and delays answers until
    something more is written. Source: CoordinatorRuntime.CoordinatorContext#transitionTo (4.3.1).
    """
    nowhere = {"payments": (1,)}
    witness.repeats(
        ask.offset_fetch(topics=nowhere),
        until=expect.offset_fetch({"payments": {1: -1}}),
        within_ms=WITHIN_MS,
    )
    beside = ask.offset_commit(
        group_id=GroupRef("beside"), generation_id=-1, member_id="", topics={"orders": {0: 1}}
    )
    witness.asks(beside, expect.offset_commit({"orders": {0: "NONE"}}))


def lives(actor: Actor, generation_id: int | None = None) -> None:
    """Expect NONE for a heartbeat, in the member's own generation or in the given one."""
    actor.sends(ask.heartbeat() if generation_id is None else ask.heartbeat(generation_id=generation_id))
    actor.receives(expect.heartbeat(error_code="NONE"))


def commits(actor: Actor, offset: int) -> None:
    """Commit an offset of partition 0 of `orders`, and expect success."""
    actor.sends(ask.offset_commit(topics={"orders": {0: offset}}))
    actor.receives(expect.offset_commit({"orders": {0: "NONE"}}))


def has_committed(actor: Actor, offset: int) -> None:
    """Wait until the committed offset is returned.

    A Java coordinator shows readers its log only up to the high watermark, which a new leader learns a moment
    after it has loaded: until then a committed offset may be missing.
    """
    actor.repeats(
        ask.offset_fetch(topics={"orders": (0,)}),
        until=expect.offset_fetch({"orders": {0: offset}}),
        within_ms=WITHIN_MS,
    )


def rebalancing(conversation: Conversation) -> tuple[Actor, Actor]:
    """Return two members of generation 2, the first of which has rejoined and waits for the second."""
    ana, bob = conversation.stable_group("ana", "bob")
    lives(bob)
    ana.sends(ask.join_group())
    bob.asks(ask.heartbeat(), error_code="REBALANCE_IN_PROGRESS")
    return ana, bob


def is_answered_alike_by_every_api(actor: Actor) -> None:
    """Send every request that only the group's coordinator serves, and expect NOT_COORDINATOR."""
    no_offsets = expect.offset_commit({"orders": {0: NOT_OURS}})
    actor.climbs(
        [
            (ask.join_group(), expect.join_group(error_code=NOT_OURS)),
            (ask.sync_group(), expect.sync_group(error_code=NOT_OURS, assignment=b"")),
            (ask.heartbeat(), expect.heartbeat(error_code=NOT_OURS)),
            (ask.leave_group(), expect.leave_group(error_code=NOT_OURS)),
            # Some releases cannot write this error in v2 (KAFKA-15755): the reference knows which.
            (ask.leave_group(version=2), expect.leave_group(error_code=ANY)),
            (ask.offset_commit(topics={"orders": {0: 9}}), no_offsets),
            (ask.offset_fetch(), expect.offset_fetch({}, error_code=NOT_OURS)),
            (ask.offset_delete(topics={"orders": (0,)}), expect.offset_delete(error_code=NOT_OURS)),
            (ask.describe_groups(), expect.describe_groups(error_code=NOT_OURS, group_state="")),
            (ask.delete_groups(), expect.delete_groups(NOT_OURS)),
        ]
    )
