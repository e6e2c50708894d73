"""What waits behind a write that was too large: nothing, but in a Java coordinator of 3.8 to 4.1."""

from typing import Final

from harness.scenario import (
    ANY,
    Actor,
    Conversation,
    delete_groups,
    delete_groups_response,
    describe_groups,
    describe_groups_response,
    heartbeat,
    heartbeat_response,
    join_group,
    join_group_response,
    leave_group,
    leave_group_response,
    offset_commit,
    offset_delete,
    offset_delete_response,
    offset_fetch,
    response,
    scenario,
    sync_group,
    sync_group_response,
)

APPEND: Final = "KAFKA-19760, CoordinatorRuntime#append"
SIMPLE: Final = "held-up"


def small_log(number: int) -> dict[str, str]:
    """Return what makes a log with room for a small group; the timeout keeps a broker for one scenario."""
    return {
        "message.max.bytes": "1000",
        "offset.metadata.max.bytes": "5000",
        "offsets.commit.timeout.ms": str(530 + number),
    }


def _commits(actor: Actor, metadata_bytes: int, *, partition: int = 0, topic: str = "orders") -> None:
    """Commit an offset with as much metadata for nobody in particular."""
    offsets = {topic: {partition: (7, "m" * metadata_bytes)}}
    actor.sends(offset_commit(group_id=SIMPLE, generation_id=-1, member_id="", topics=offsets))
    actor.receives(response("OffsetCommit"))


@scenario("classic/held-up/membership", source=APPEND, clauses=("ER-02", "ER-09"), broker_config=small_log(0))
def members_behind_a_write_that_was_too_large(talk: Conversation) -> None:
    """Heartbeats, assignments and departures wait behind a batch that was left open, and time out."""
    ana, bob = talk.stable_group("ana", "bob")
    eve = talk.actor("eve")
    _commits(eve, 3_000)
    ana.sends(heartbeat())
    ana.receives(heartbeat_response(error_code=ANY))
    ana.sends(heartbeat(member_id="nobody"))
    ana.receives(heartbeat_response(error_code="UNKNOWN_MEMBER_ID"))

    ana.sends(join_group())
    bob.sends(join_group())
    ana.receives(join_group_response(error_code="NONE", generation_id=3))
    bob.receives(join_group_response(error_code="NONE", generation_id=3))
    ana.sends(sync_group(assignments=((ana.member_id, ana.part), (bob.member_id, bob.part))))
    ana.receives(sync_group_response(error_code=ANY))
    ana.sends(describe_groups())
    ana.receives(describe_groups_response(error_code="NONE", members=ANY))

    ana.sends(leave_group(members=(("nobody", None),)))
    ana.receives(leave_group_response(error_code=ANY))
    bob.sends(leave_group())
    bob.receives(leave_group_response(error_code=ANY))
    ana.sends(describe_groups())
    ana.receives(describe_groups_response(error_code="NONE", members=ANY))


@scenario(
    "classic/held-up/offsets", source=APPEND, clauses=("ER-04", "ER-09", "ER-10"), broker_config=small_log(1)
)
def offsets_behind_a_write_that_was_too_large(talk: Conversation) -> None:
    """Commits wait behind a batch that was left open until it is full, and so does what writes nothing."""
    ana = talk.actor("ana")
    everything = {"orders": (0, 1, 2), "payments": (0, 1)}
    _commits(ana, 300)
    _commits(ana, 3_000)
    # Refused for its metadata alone, so that nothing is written.
    _commits(ana, 6_000)
    ana.sends(offset_fetch(version=7, group_id=SIMPLE, topics={"orders": (0,)}, require_stable=True))
    ana.receives(response("OffsetFetch"))
    ana.sends(offset_delete(group_id=SIMPLE, topics={"payments": (1,)}))
    ana.receives(offset_delete_response(error_code=ANY))
    ana.sends(offset_delete(group_id="no-such-group", topics={"payments": (1,)}))
    ana.receives(offset_delete_response(error_code="GROUP_ID_NOT_FOUND"))
    ana.sends(delete_groups(groups=("no-such-group", "nor-that")))
    ana.receives(response("DeleteGroups"))

    _commits(ana, 300, partition=1)
    ana.sends(offset_fetch(version=7, group_id=SIMPLE, topics={"orders": (0,)}, require_stable=True))
    ana.receives(response("OffsetFetch"))
    _commits(ana, 300, partition=2)
    ana.sends(offset_fetch(group_id=SIMPLE, topics=everything))
    ana.receives(response("OffsetFetch", error_code="NONE"))
    _commits(ana, 300, topic="payments")
    ana.sends(offset_fetch(group_id=SIMPLE, topics=everything))
    ana.receives(response("OffsetFetch", error_code="NONE"))
    ana.sends(offset_fetch(version=7, group_id=SIMPLE, topics=everything, require_stable=True))
    ana.receives(response("OffsetFetch", error_code="NONE"))
    ana.sends(delete_groups(groups=(SIMPLE,)))
    ana.receives(delete_groups_response(ANY))
