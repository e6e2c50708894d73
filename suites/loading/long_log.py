"""A load that takes long because of the log's length, without a breakpoint in the broker."""

from harness.scenario import Actor, Capability, Conversation, ask, expect, scenario

LOADING = "COORDINATOR_LOAD_IN_PROGRESS"
LOADS = "CoordinatorLoaderImpl#doLoad"
WITHIN_MS = 30_000
"""Long enough for a load on a busy machine."""


def _committed(conversation: Conversation) -> Actor:
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.offset_commit(topics={"orders": {0: 7}}), expect.offset_commit({"orders": {0: "NONE"}}))
    return ana


def _meets_the_load(ana: Actor) -> None:
    """Send requests while the load goes on, and again when it is over."""
    ana.repeats(
        ask.join_group(), until=expect.join_group(error_code=LOADING), within_ms=WITHIN_MS, every_ms=20
    )
    ana.climbs(
        [
            (ask.find_coordinator(), expect.find_coordinator(error_code="NONE")),
            (ask.heartbeat(member_id="nobody"), expect.heartbeat(error_code="NONE")),
            (ask.sync_group(), expect.sync_group(assignment=b"")),
            (ask.leave_group(), expect.leave_group(error_code=LOADING)),
            (ask.offset_commit(topics={"orders": {0: 8}}), expect.offset_commit({"orders": {0: LOADING}})),
            (ask.offset_fetch(), expect.offset_fetch({}, error_code=LOADING)),
            (ask.describe_groups(), expect.describe_groups(error_code=LOADING, group_state="")),
        ]
    )
    ana.repeats(ask.offset_fetch(), until=expect.offset_fetch({"orders": {0: 7}}), within_ms=WITHIN_MS)
    ana.asks(ask.heartbeat(), error_code="NONE")
    ana.asks(ask.sync_group(), expect.sync_group(error_code="NONE", assignment=ana.part))


@scenario(
    "loading/long-log/restart",
    source=LOADS,
    clauses=("LO-02", "LO-04", "LO-05", "LO-06", "LO-08", "LO-14", "LO-21"),
    needs=(Capability.RESTART, Capability.LONG_LOG),
)
def a_long_log_is_loaded_after_a_restart(conversation: Conversation) -> None:
    """A broker that restarts with a long log answers COORDINATOR_LOAD_IN_PROGRESS, then as usual."""
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
    """After a kill with a long log, the coordinator answers COORDINATOR_LOAD_IN_PROGRESS until loaded."""
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
    """The new coordinator of a long log answers COORDINATOR_LOAD_IN_PROGRESS until it is loaded."""
    ana = _committed(conversation)
    conversation.lengthens_log()
    conversation.moves_coordinator()
    ana.disconnects()
    _meets_the_load(ana)
