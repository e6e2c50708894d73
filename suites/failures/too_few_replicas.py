"""Writes that want more replicas than there are."""

from harness.scenario import (
    ANY,
    Conversation,
    delete_groups,
    delete_groups_response,
    heartbeat,
    join_group,
    join_group_response,
    offset_commit,
    offset_fetch,
    response,
    scenario,
    sync_group,
)


@scenario(
    "failures/too-few-replicas/commit-and-sync",
    source="Partition#effectiveMinIsr",
    clauses=("ER-15", "ER-02"),
    broker_config={"min.insync.replicas": "2"},
)
def writes_may_want_more_replicas_than_there_are(conversation: Conversation) -> None:
    """With min.insync.replicas 2 and one replica writes fail until 3.6, and succeed since."""
    ana, bob = conversation.actors("ana", "bob")
    ana.asks(join_group(version=3, member_id=""), join_group_response(error_code="NONE", generation_id=1))
    ana.asks(sync_group(assignments=((ana.member_id, ana.part),)), response("SyncGroup"))
    ana.asks(heartbeat(), error_code=ANY)

    simple = conversation.group("simple")
    commit = offset_commit(group_id=simple, generation_id=-1, member_id="", topics={"orders": {0: 7}})
    bob.asks(commit, response("OffsetCommit"))
    bob.sends(offset_fetch(group_id=simple, topics={"orders": (0,)}))
    bob.receives(response("OffsetFetch", error_code="NONE"))
    bob.asks(delete_groups(groups=(simple,)), delete_groups_response("NONE"))
