"""How a coordinator loads records that it did not write: every format, tombstones, leftovers."""

from harness.scenario import (
    NON_EMPTY,
    Actor,
    Capability,
    Conversation,
    ask,
    expect,
    group_record,
    group_tombstone,
    in_any_order,
    logged_member,
    offset_record,
    offset_tombstone,
    one_of,
    scenario,
)
from suites.loading.transactions import decides
from suites.transactions.producers import pending

WRITES = (Capability.RESTART, Capability.WRITE_LOG)
LOADS = "GroupMetadataManager#doLoadGroupsAndOffsets"
WITHIN_MS = 15_000


def _restart(conversation: Conversation, witness: Actor) -> None:
    """Restart the coordinator and wait until it serves the groups of its first partition."""
    conversation.restarts_coordinator()
    group = conversation.group("never")
    witness.repeats(ask.offset_fetch(group_id=group), until=expect.offset_fetch({}), within_ms=WITHIN_MS)


@scenario(
    "loading/records/offsets",
    source="GroupMetadataManager#readOffsetMessageValue",
    clauses=("RP-01",),
    needs=WRITES,
)
def offsets_of_old_formats_are_read(conversation: Conversation) -> None:
    """Offset records of key type 0 or 1 and value version 0 to 3 are loaded, with their leader epochs."""
    ana = conversation.actor("ana")
    conversation.appends(
        offset_record("orders", 0, 10, key_type=0, version=0, metadata="ten"),
        offset_record("orders", 1, 11, version=1),
        offset_record("orders", 2, 12, version=2),
        offset_record("payments", 0, 13, version=3, leader_epoch=4, metadata="thirteen"),
    )
    _restart(conversation, ana)

    ana.asks(ask.offset_fetch(), expect.offset_fetch({"orders": {0: 10, 1: 11, 2: 12}, "payments": {0: 13}}))
    ana.sends(ask.describe_groups())
    ana.receives(expect.describe_groups(error_code="NONE", group_state="Empty", protocol_type=""))


@scenario(
    "loading/records/groups",
    source="GroupMetadataManager#readGroupMessageValue",
    clauses=("RP-03",),
    needs=WRITES,
)
def groups_of_old_formats_are_read(conversation: Conversation) -> None:
    """Group records of version 0 to 3 are loaded as Stable groups with members and assignments."""
    ana, bob = conversation.actor("ana"), conversation.actor("bob", group_instance_id="seat-b")
    groups = [conversation.group(f"v{version}", beside=conversation.group("main")) for version in range(3)]
    conversation.appends(
        *(
            group_record(
                logged_member("ana-1", assignment=b"all"), group=group, version=version, generation=5
            )
            for version, group in enumerate(groups)
        ),
        group_record(
            logged_member("ana-1", assignment=b"half"),
            logged_member("bob-1", group_instance_id="seat-b", assignment=b"other half"),
            generation=7,
        ),
    )
    _restart(conversation, ana)

    for group in groups:
        ana.asks(ask.heartbeat(group_id=group, member_id="ana-1", generation_id=5), error_code="NONE")
    ana.sends(ask.sync_group(group_id=groups[0], member_id="ana-1", generation_id=5))
    ana.receives(expect.sync_group(error_code="NONE", assignment=b"all"))
    bob.asks(ask.heartbeat(member_id="bob-1", generation_id=7), error_code="NONE")
    bob.asks(ask.heartbeat(member_id="bob-2", generation_id=7), error_code="FENCED_INSTANCE_ID")
    ana.sends(ask.describe_groups(groups=(groups[0], conversation.group("main"))))
    ana.receives(
        expect.response(
            "DescribeGroups",
            groups=in_any_order(
                {"group_id": groups[0], "group_state": "Stable", "protocol_data": "range"},
                {
                    "group_id": conversation.group("main"),
                    "members": in_any_order(
                        {"member_id": "ana-1", "client_id": "ana-1", "member_assignment": b"half"},
                        {"member_id": "bob-1", "member_assignment": b"other half"},
                    ),
                },
            ),
        )
    )


@scenario(
    "loading/records/group-without-members",
    source="GroupMetadata#loadGroup",
    clauses=("RP-04",),
    needs=WRITES,
)
def a_group_without_members_is_empty(conversation: Conversation) -> None:
    """A group record without members is loaded as an Empty group that continues its generations."""
    ana = conversation.actor("ana")
    conversation.appends(group_record(generation=8))
    _restart(conversation, ana)

    ana.sends(ask.describe_groups())
    ana.receives(
        expect.describe_groups(
            error_code="NONE", group_state="Empty", protocol_type="consumer", protocol_data="", members=()
        )
    )
    ana.obtains_member_id()
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", generation_id=9))


@scenario("loading/records/group-tombstone", source=LOADS, clauses=("RP-05",), needs=WRITES)
def offsets_may_outlive_their_group(conversation: Conversation) -> None:
    """Offsets before their group's tombstone bring the group back Empty in Scala, and are lost in Java."""
    ana = conversation.actor("ana")
    conversation.appends(group_record(generation=3), offset_record("orders", 0, 10), group_tombstone())
    _restart(conversation, ana)

    ana.sends(ask.describe_groups())
    ana.receives(expect.describe_groups(error_code="NONE", group_state=one_of("Empty", "Dead"), members=()))
    ana.asks(ask.offset_fetch(topics={"orders": (0,)}), expect.offset_fetch({"orders": {0: one_of(10, -1)}}))


@scenario("loading/records/offset-tombstone", source=LOADS, clauses=("RP-06",), needs=WRITES)
def a_group_may_outlive_its_offsets(conversation: Conversation) -> None:
    """A group whose offsets all have tombstones is Dead in Scala and Empty in Java."""
    ana = conversation.actor("ana")
    conversation.appends(
        offset_record("orders", 0, 10),
        offset_record("orders", 1, 11),
        offset_tombstone("orders", 0),
        offset_tombstone("orders", 1, key_type=0),
    )
    _restart(conversation, ana)

    ana.sends(ask.describe_groups())
    ana.receives(expect.describe_groups(error_code="NONE", group_state=one_of("Empty", "Dead"), members=()))
    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: -1, 1: -1}}))


@scenario("loading/records/last-one-counts", source=LOADS, clauses=("RP-01", "RP-04"), needs=WRITES)
def the_last_record_counts(conversation: Conversation) -> None:
    """The last record of an offset or a group counts, whatever types and versions preceded it."""
    ana = conversation.actor("ana")
    conversation.appends(
        group_record(logged_member("ana-1"), generation=5),
        offset_record("orders", 0, 10),
        offset_record("orders", 0, 20, key_type=0, version=0),
        offset_record("orders", 1, 11),
        offset_tombstone("orders", 1),
        offset_record("orders", 1, 9, version=1),
        group_tombstone(),
        group_record(generation=2, version=1),
        offset_record("payments", 0, 30),
    )
    _restart(conversation, ana)

    ana.sends(ask.describe_groups())
    ana.receives(expect.describe_groups(group_state="Empty", protocol_type="consumer", members=()))
    ana.asks(ask.heartbeat(member_id="ana-1", generation_id=5), error_code="UNKNOWN_MEMBER_ID")
    ana.sends(ask.offset_fetch(topics={"orders": (0, 1), "payments": (0,)}))
    ana.receives(expect.response("OffsetFetch", error_code="NONE", topics=NON_EMPTY))


@scenario(
    "loading/records/tombstone-of-pending",
    source="OffsetMetadataManager#replay",
    clauses=("RP-07",),
    needs=WRITES,
)
def a_tombstone_may_miss_what_is_pending(conversation: Conversation) -> None:
    """A pending offset followed by a plain tombstone is still committed in Scala, and lost in Java."""
    producer = pending(conversation)
    ana = producer.actor
    conversation.appends(offset_tombstone("orders", 0))
    _restart(conversation, ana)

    ana.sends(ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True))
    ana.receives(
        expect.response(
            "OffsetFetch",
            topics=({"partitions": ({"error_code": one_of("NONE", "UNSTABLE_OFFSET_COMMIT")},)},),
        )
    )
    decides(producer)
    ana.repeats(
        ask.offset_fetch(version=7, topics={"orders": (0,)}, require_stable=True),
        until=expect.offset_fetch({"orders": {0: one_of(42, -1)}}),
    )


@scenario(
    "loading/records/noticed-by-a-write",
    source="CoordinatorRuntime#append",
    clauses=("RP-17",),
    needs=(Capability.WRITE_LOG,),
)
def a_write_may_notice_the_records_of_another(conversation: Conversation) -> None:
    """Records that others wrote take effect at the next load, which in Java a write triggers since 3.8.

    That write gets NOT_COORDINATOR, but takes effect.
    """
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.offset_commit(topics={"orders": {0: 1}}), expect.offset_commit({"orders": {0: "NONE"}}))
    conversation.appends(offset_record("orders", 1, 11), spoils=True)

    ana.asks(ask.offset_fetch(topics={"orders": (0, 1)}), expect.offset_fetch({"orders": {0: 1, 1: -1}}))
    ana.sends(ask.offset_commit(topics={"orders": {0: 2}}))
    ana.receives(expect.offset_commit({"orders": {0: one_of("NONE", "NOT_COORDINATOR")}}))
    ana.repeats(
        ask.offset_fetch(topics={"orders": (0, 1)}),
        until=expect.offset_fetch({"orders": {0: 2, 1: one_of(11, -1)}}),
    )
    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.asks(ask.offset_commit(topics={"orders": {0: 3}}), expect.offset_commit({"orders": {0: "NONE"}}))


@scenario(
    "loading/records/by-the-next-coordinator",
    source=LOADS,
    clauses=("RP-01", "RP-04"),
    needs=(Capability.CLUSTER, Capability.WRITE_LOG),
)
def the_next_coordinator_loads_what_others_wrote(conversation: Conversation) -> None:
    """Records that others wrote are replicated to all brokers, and loaded by the next coordinator."""
    ana = conversation.actor("ana")
    ana.sends(ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {1: 2}}))
    ana.receives(expect.offset_commit({"orders": {1: "NONE"}}))
    conversation.appends(group_record(generation=8), offset_record("orders", 0, 10, version=1))
    conversation.moves_coordinator()
    ana.disconnects()

    ana.repeats(
        ask.offset_fetch(version=7, topics={"orders": (0, 1)}, require_stable=True),
        until=expect.offset_fetch({"orders": {0: 10, 1: 2}}),
        within_ms=WITHIN_MS,
    )
    ana.repeats(
        ask.describe_groups(), until=expect.describe_groups(group_state="Empty", protocol_type="consumer")
    )
