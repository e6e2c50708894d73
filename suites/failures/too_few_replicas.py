"""Writes that require more replicas than exist."""

from harness.scenario import ANY, Conversation, ask, expect, scenario


@scenario(
    "failures/too-few-replicas/commit-and-sync",
    source="Partition#effectiveMinIsr",
    clauses=("ER-15", "ER-02"),
    broker_config={"min.insync.replicas": "2"},
)
def writes_may_want_more_replicas_than_there_are(conversation: Conversation) -> None:
    """With min.insync.replicas 2 and one replica, writes fail until 3.6 and succeed since then."""
    ana, bob = conversation.actors("ana", "bob")
    ana.asks(ask.join_group(version=3, member_id=""), expect.join_group(error_code="NONE", generation_id=1))
    ana.asks(ask.sync_group(assignments=((ana.member_id, ana.part),)), expect.response("SyncGroup"))
    ana.asks(ask.heartbeat(), error_code=ANY)

    simple = conversation.group("simple")
    commit = ask.offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: 7}})
    bob.asks(commit, expect.response("OffsetCommit"))
    bob.sends(ask.offset_fetch(group_id=simple, topics={"orders": (0,)}))
    bob.receives(expect.response("OffsetFetch", error_code="NONE"))
    bob.asks(ask.delete_groups(groups=(simple,)), expect.delete_groups("NONE"))
