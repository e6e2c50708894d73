"""What a former coordinator answers, and a broker that never was the coordinator."""

from harness.scenario import Conversation, ask, expect, scenario
from suites.failover.words import (
    MOVES,
    NOT_OURS,
    WITHIN_MS,
    commits,
    goes_on,
    has_committed,
    is_answered_alike_by_every_api,
    lives,
)

RUNS = "CoordinatorRuntime#withActiveContextOrThrow"


@scenario("failover/former/every-api", source=RUNS, clauses=("CO-07", "CO-09", "DL-15"), needs=MOVES)
def a_former_coordinator_is_asked_everything(conversation: Conversation) -> None:
    """A former coordinator answers NOT_COORDINATOR to every API, and the member loses nothing."""
    (ana,) = conversation.stable_group("ana")
    commits(ana, 7)
    conversation.moves_coordinator()
    ana.repeats(ask.heartbeat(), until=expect.heartbeat(error_code=NOT_OURS), within_ms=WITHIN_MS)

    is_answered_alike_by_every_api(ana)
    goes_on(ana)
    lives(ana)
    has_committed(ana, 7)


@scenario("failover/former/elsewhere", source=RUNS, clauses=("CO-07", "CO-09"), needs=MOVES)
def a_broker_that_never_coordinated_is_asked_everything(conversation: Conversation) -> None:
    """A broker that never coordinated the group answers NOT_COORDINATOR, and finds the coordinator."""
    (ana,) = conversation.stable_group("ana")
    commits(ana, 7)

    is_answered_alike_by_every_api(ana.elsewhere)
    ana.elsewhere.asks(ask.find_coordinator(), error_code="NONE")
    lives(ana)
    has_committed(ana, 7)


@scenario(
    "failover/former/list", source="GroupCoordinatorService#listGroups", clauses=("LG-14",), needs=MOVES
)
def nobody_lists_the_groups_of_others(conversation: Conversation) -> None:
    """ListGroups to a broker that coordinates no group returns no groups and no error."""
    conversation.stable_group("ana")
    bob = conversation.actor("bob")

    bob.elsewhere.asks(ask.list_groups(), expect.list_groups(error_code="NONE", groups=()))


@scenario(
    "failover/former/find",
    source="KafkaApis#handleFindCoordinatorRequest",
    clauses=("FC-14",),
    needs=MOVES,
)
def every_broker_names_the_new_coordinator(conversation: Conversation) -> None:
    """After a move, FindCoordinator returns the coordinator on the former, the new and other brokers."""
    (ana,) = conversation.stable_group("ana")
    conversation.moves_coordinator()

    ana.asks(ask.find_coordinator(), error_code="NONE")
    ana.elsewhere.asks(ask.find_coordinator(), error_code="NONE")
    goes_on(ana)
    ana.asks(ask.find_coordinator(), error_code="NONE")
    lives(ana)
