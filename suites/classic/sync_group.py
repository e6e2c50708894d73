"""SyncGroup: who is told what, and which of several reasons to refuse comes first."""

from harness.scenario import (
    Conversation,
    join_group,
    join_group_response,
    scenario,
    sync_group,
    sync_group_response,
)


@scenario(
    "classic/sync/past-generation",
    source="GroupMetadataManager#validateSyncGroup",
    clauses=("SG-12",),
)
def a_sync_with_a_past_generation_is_refused(talk: Conversation) -> None:
    """A member that syncs with the generation before the current one is told ILLEGAL_GENERATION."""
    ana, _ = talk.stable_group("ana", "bob")

    ana.sends(sync_group(generation_id=ana.generation_id - 1))
    ana.receives(sync_group_response(error_code="ILLEGAL_GENERATION"))


@scenario(
    "classic/sync/follower-waits-for-leader",
    source="GroupMetadataManager#classicGroupSyncToClassicGroup",
    clauses=("SG-01", "SG-02"),
)
def a_follower_waits_for_the_leader(talk: Conversation) -> None:
    """A follower's SyncGroup stays parked until the leader brings the assignments."""
    ana, bob = talk.stable_group("ana", "bob")
    bob.sends(join_group(protocols=(("range", b"\0\0"),)))
    ana.sends(join_group())
    bob.receives(join_group_response(error_code="NONE"))
    ana.receives(join_group_response(error_code="NONE"))

    bob.sends(sync_group())
    bob.stays_parked(for_ms=300)
    ana.syncs_as_leader((ana, bob))
    bob.receives(sync_group_response(error_code="NONE", assignment=bob.part))
