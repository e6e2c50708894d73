"""Versions of the classic APIs: which are flexible, and what lower ones leave out."""

from typing import Final

from harness.scenario import Conversation, ask, expect, scenario

TAGGED: Final = "conformance-unknown-tag"
"""The group that the bytes below name; they are fixed before a run's unique names exist."""
COMMIT_V8_WITH_AN_UNKNOWN_TAG: Final = (
    b"\x00\x08\x00\x08\x00\x00\x00\x07\x00\x03eve\x00"  # key, version, correlation id, client id, no tags
    b"\x18conformance-unknown-tag\xff\xff\xff\xff\x01\x00"  # group id, generation -1, no member, no instance
    b"\x02\x07orders\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07"  # one topic, partition 0, offset 7
    b"\xff\xff\xff\xff\x01\x00\x00"  # no leader epoch, no metadata, no tags of partition and topic
    b"\x01\x63\x02\xca\xfe"  # one tag: 99, two bytes
)


@scenario(
    "classic/wire/first-flexible-versions",
    source="KIP-482",
    clauses=("VF-05", "VF-02", "VF-03", "VF-04"),
)
def the_versions_around_the_flexible_encoding(conversation: Conversation) -> None:
    """A member may alternate between the last plain and the first flexible version of an API."""
    ana = conversation.actor("ana")
    ana.asks(ask.join_group(version=5, member_id=""), error_code="MEMBER_ID_REQUIRED")

    ana.asks(ask.join_group(version=6), expect.join_group(error_code="NONE", generation_id=1))
    ana.sends(ask.sync_group(version=3, assignments=((ana.member_id, ana.part),)))
    ana.receives(expect.sync_group(error_code="NONE", assignment=ana.part))
    ana.asks(ask.sync_group(version=4), expect.sync_group(error_code="NONE", assignment=ana.part))
    for version in (3, 4):
        ana.asks(ask.heartbeat(version=version), error_code="NONE")
    ana.sends(ask.leave_group(version=3, members=(("nobody", None),)))
    ana.receives(expect.leave_group(error_code="NONE", members=({"error_code": "UNKNOWN_MEMBER_ID"},)))
    ana.sends(ask.leave_group(version=4))
    ana.receives(expect.leave_group(error_code="NONE", members=({"error_code": "NONE"},)))


@scenario(
    "classic/wire/sync-without-protocol",
    source="KafkaApis#handleSyncGroupRequest",
    clauses=("SG-16", "SG-03"),
)
def below_v5_no_protocol_is_checked(conversation: Conversation) -> None:
    """SyncGroup v0 to v4 name no protocol, and are served in a group of any type and protocol."""
    ana = conversation.actor("ana")
    ana.sends(ask.join_group(version=3, protocol_type="connect", protocols=(("odd", b"\1"),)))
    ana.receives(expect.join_group(error_code="NONE", protocol_name="odd"))

    ana.sends(ask.sync_group(version=0, assignments=((ana.member_id, ana.part),)))
    ana.receives(expect.sync_group(error_code="NONE", assignment=ana.part))
    for version in (1, 2, 3, 4):
        ana.asks(ask.sync_group(version=version), expect.sync_group(error_code="NONE", assignment=ana.part))


@scenario("classic/wire/unknown-tag", source="KIP-482", clauses=("VF-21",))
def an_unknown_tag_is_passed_over(conversation: Conversation) -> None:
    """An OffsetCommit v8 with an unknown tagged field commits as one without it."""
    eve = conversation.actor("eve")

    eve.sends_bytes(COMMIT_V8_WITH_AN_UNKNOWN_TAG, says="OffsetCommit v8 with an unknown tag")
    eve.aside.repeats(
        ask.offset_fetch(group_id=TAGGED, topics={"orders": (0,)}),
        until=expect.offset_fetch({"orders": {0: 7}}),
    )
    eve.aside.asks(ask.delete_groups(groups=(TAGGED,)), expect.delete_groups("NONE"))
