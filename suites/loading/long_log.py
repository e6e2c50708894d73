"""A load that takes long because there is much to load: nobody looks into the broker."""

from harness.scenario import (
    Actor,
    Capability,
    Conversation,
    describe_groups,
    describe_groups_response,
    find_coordinator,
    find_coordinator_response,
    heartbeat,
    heartbeat_response,
    join_group,
    join_group_response,
    leave_group,
    leave_group_response,
    offset_commit,
    offset_commit_response,
    offset_fetch,
    offset_fetch_response,
    scenario,
    sync_group,
    sync_group_response,
)

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
LOADS = "CoordinatorLoaderImpl#doLoad"
WITHIN_MS = 30_000
"""For a load on a busy machine."""


def _committed(conversation: Conversation) -> Actor:
    (ana,) = conversation.stable_group("ana")
    ana.asks(offset_commit(topics={"orders": {0: 7}}), offset_commit_response({"orders": {0: "NONE"}}))
    return ana


def _meets_the_load(ana: Actor) -> None:
    """Ask while the load goes on, and again when it is over."""
    ana.repeats(join_group(), until=join_group_response(error_code=LOADING), within_ms=WITHIN_MS, every_ms=20)
    ana.climbs(
        [
            (find_coordinator(), find_coordinator_response(error_code="NONE")),
            (heartbeat(member_id="nobody"), heartbeat_response(error_code="NONE")),
            (sync_group(), sync_group_response(assignment=b"")),
            (leave_group(), leave_group_response(error_code=LOADING)),
            (offset_commit(topics={"orders": {0: 8}}), offset_commit_response({"orders": {0: LOADING}})),
            (offset_fetch(), offset_fetch_response({}, error_code=LOADING)),
            (describe_groups(), describe_groups_response(error_code=LOADING, group_state="")),
        ]
    )
    ana.repeats(offset_fetch(), until=offset_fetch_response({"orders": {0: 7}}), within_ms=WITHIN_MS)
    ana.asks(heartbeat(), error_code="NONE")
    ana.asks(sync_group(), sync_group_response(error_code="NONE", assignment=ana.part))


@scenario(
    "loading/long-log/restart",
    source=LOADS,
    clauses=("LO-02", "LO-04", "LO-05", "LO-06", "LO-08", "LO-14", "LO-21"),
    needs=(Capability.RESTART, Capability.LONG_LOG),
)
def a_long_log_is_loaded_after_a_restart(conversation: Conversation) -> None:
    """A broker that restarts with a long log answers as one that loads, and then as one that has loaded."""
    ana = _committed(conversation)
    conversation.lengthens_log()
    conversation.restarts_coordinator()
    _meets_the_load(ana)


@scenario(
    "loading/long-log/kill",
    source=LOADS,
    clauses=("LO-02", "LO-21"),
    needs=(Capability.KILL, Capability.LONG_LOG),
)
def a_long_log_is_loaded_by_who_takes_over(conversation: Conversation) -> None:
    """Whoever coordinates after a broker was killed answers as one that loads, as long as it does."""
    ana = _committed(conversation)
    conversation.lengthens_log()
    conversation.kills_coordinator()
    _meets_the_load(ana)


@scenario(
    "loading/long-log/move",
    source=LOADS,
    clauses=("LO-02", "LO-21"),
    needs=(Capability.CLUSTER, Capability.LONG_LOG),
)
def a_long_log_is_loaded_by_the_next_coordinator(conversation: Conversation) -> None:
    """The broker that becomes the coordinator of a long log answers as one that loads, as long as it does."""
    ana = _committed(conversation)
    conversation.lengthens_log()
    conversation.moves_coordinator()
    ana.disconnects()
    _meets_the_load(ana)
