"""Deletions while the log requires more replicas than exist."""

from harness.scenario import ANY, Actor, Capability, Conversation, ask, expect, scenario

RESTARTS = (Capability.RESTART,)
CLEANS = "GroupMetadataManager#cleanupGroupMetadata"


def _restarts(conversation: Conversation, witness: Actor, *, min_insync_replicas: int) -> None:
    conversation.restarts_coordinator({"min.insync.replicas": min_insync_replicas})
    group = conversation.group("witness")
    witness.repeats(ask.offset_fetch(group_id=group), until=expect.offset_fetch({}), within_ms=15_000)


@scenario("failures/too-few-replicas/tombstones", source=CLEANS, clauses=("ER-15", "DL-02"), needs=RESTARTS)
def deletions_need_no_replicas(conversation: Conversation) -> None:
    """Groups and offsets deleted with fewer replicas than min.insync.replicas stay deleted after a restart.

    The Scala coordinator appends tombstones with acks 0, which min.insync.replicas does not stop. For the
    Java one, the configured number is capped by the number of replicas.
    """
    ana, bob = conversation.actors("ana", "bob")
    simple, other = conversation.group("simple"), conversation.group("other")
    for group in (simple, other):
        bob.sends(
            ask.offset_commit(group_id=group, generation_id=-1, member_id="", topics={"orders": {0: 7, 1: 8}})
        )
        bob.receives(expect.offset_commit({"orders": {0: "NONE", 1: "NONE"}}))
    conversation.stable_group(ana)
    ana.asks(ask.leave_group(), error_code="NONE")
    _restarts(conversation, bob, min_insync_replicas=2)

    bob.asks(ask.delete_groups(groups=(simple,)), expect.delete_groups("NONE"))
    bob.asks(ask.offset_delete(group_id=other, topics={"orders": (0,)}), error_code="NONE")
    ana.asks(ask.delete_groups(), expect.delete_groups("NONE"))
    _restarts(conversation, bob, min_insync_replicas=1)

    bob.sends(ask.offset_fetch(group_id=simple, topics={"orders": (0,)}))
    bob.receives(expect.offset_fetch({"orders": {0: -1}}))
    bob.sends(ask.describe_groups(groups=(simple,)))
    bob.receives(expect.describe_groups(error_code="NONE", group_state="Dead"))
    bob.sends(ask.offset_fetch(group_id=other, topics={"orders": (0, 1)}))
    bob.receives(expect.offset_fetch({"orders": {0: -1, 1: 8}}))
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code=ANY, group_state="Dead"))
