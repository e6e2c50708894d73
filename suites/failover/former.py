"""What a broker answers that was the coordinator, and one that never was."""

from harness.scenario import (
    ANY,
    Actor,
    Conversation,
    delete_groups,
    delete_groups_response,
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
    list_groups,
    list_groups_response,
    offset_commit,
    offset_commit_response,
    offset_delete,
    offset_delete_response,
    offset_fetch,
    offset_fetch_response,
    scenario,
    sync_group,
    sync_group_response,
)
from suites.failover.words import MOVES, NOT_OURS, WITHIN_MS, commits, goes_on, has_committed, lives

RUNS = "CoordinatorRuntime#withActiveContextOrThrow"


def _is_told_so_by_every_api(actor: Actor) -> None:
    """Ask everything that only the group's coordinator answers."""
    no_offsets = offset_commit_response({"orders": {0: NOT_OURS}})
    actor.climbs(
        [
            (join_group(), join_group_response(error_code=NOT_OURS)),
            (sync_group(), sync_group_response(error_code=NOT_OURS, assignment=b"")),
            (heartbeat(), heartbeat_response(error_code=NOT_OURS)),
            (leave_group(), leave_group_response(error_code=NOT_OURS)),
            # Some releases cannot say it in this version (KAFKA-15755): the reference tells which.
            (leave_group(version=2), leave_group_response(error_code=ANY)),
            (offset_commit(topics={"orders": {0: 9}}), no_offsets),
            (offset_fetch(), offset_fetch_response({}, error_code=NOT_OURS)),
            (offset_delete(topics={"orders": (0,)}), offset_delete_response(error_code=NOT_OURS)),
            (describe_groups(), describe_groups_response(error_code=NOT_OURS, group_state="")),
            (delete_groups(), delete_groups_response(NOT_OURS)),
        ]
    )


@scenario("failover/former/every-api", source=RUNS, clauses=("CO-07", "CO-09", "DL-15"), needs=MOVES)
def a_former_coordinator_is_asked_everything(talk: Conversation) -> None:
    """A member that stays with the former coordinator is told so by every API, and loses nothing."""
    (ana,) = talk.stable_group("ana")
    commits(ana, 7)
    talk.moves_coordinator()
    ana.repeats(heartbeat(), until=heartbeat_response(error_code=NOT_OURS), within_ms=WITHIN_MS)

    _is_told_so_by_every_api(ana)
    goes_on(ana)
    lives(ana)
    has_committed(ana, 7)


@scenario("failover/former/elsewhere", source=RUNS, clauses=("CO-07", "CO-09"), needs=MOVES)
def a_broker_that_never_coordinated_is_asked_everything(talk: Conversation) -> None:
    """A broker that does not coordinate the group says so, whichever API asks, and names who does."""
    (ana,) = talk.stable_group("ana")
    commits(ana, 7)

    _is_told_so_by_every_api(ana.elsewhere)
    ana.elsewhere.sends(find_coordinator())
    ana.elsewhere.receives(find_coordinator_response(error_code="NONE"))
    lives(ana)
    has_committed(ana, 7)


@scenario(
    "failover/former/list", source="GroupCoordinatorService#listGroups", clauses=("LG-14",), needs=MOVES
)
def nobody_lists_the_groups_of_others(talk: Conversation) -> None:
    """ListGroups of a broker that coordinates no groups is no error; it has none to list."""
    talk.stable_group("ana")
    bob = talk.actor("bob")

    bob.elsewhere.sends(list_groups())
    bob.elsewhere.receives(list_groups_response(error_code="NONE", groups=()))


@scenario(
    "failover/former/find",
    source="KafkaApis#handleFindCoordinatorRequest",
    clauses=("FC-14",),
    needs=MOVES,
)
def every_broker_names_the_new_coordinator(talk: Conversation) -> None:
    """After a move the former coordinator, the new one and those beside them name who coordinates."""
    (ana,) = talk.stable_group("ana")
    talk.moves_coordinator()

    ana.sends(find_coordinator())
    ana.receives(find_coordinator_response(error_code="NONE"))
    ana.elsewhere.sends(find_coordinator())
    ana.elsewhere.receives(find_coordinator_response(error_code="NONE"))
    goes_on(ana)
    ana.sends(find_coordinator())
    ana.receives(find_coordinator_response(error_code="NONE"))
    lives(ana)
