"""FindCoordinator: who coordinates a group, alone and in batches."""

from harness.scenario import (
    ANY,
    NON_EMPTY,
    Conversation,
    find_coordinator,
    find_coordinator_response,
    request,
    scenario,
)

FINDS = "KafkaApis#handleFindCoordinatorRequest"


@scenario("admin/find/one-group", source=FINDS, clauses=("FC-02",))
def a_groups_coordinator_is_found(talk: Conversation) -> None:
    """FindCoordinator v1 and v2 name a node, and say NONE in the error message, too."""
    ana = talk.actor("ana")

    found = find_coordinator_response(error_code="NONE", error_message="NONE", host=NON_EMPTY)
    ana.sends(find_coordinator(version=1))
    ana.receives(found)
    ana.sends(find_coordinator(version=2))
    ana.receives(found)


@scenario("admin/find/flexible", source=FINDS, clauses=("FC-02",))
def a_groups_coordinator_is_found_in_version_3(talk: Conversation) -> None:
    """FindCoordinator v3 answers as v2 does, in flexible encoding."""
    ana = talk.actor("ana")

    ana.sends(find_coordinator(version=3))
    ana.receives(find_coordinator_response(error_code="NONE", error_message="NONE", host=NON_EMPTY))


@scenario("admin/find/low-version", source=FINDS, clauses=("FC-03",))
def version_0_finds_a_groups_coordinator(talk: Conversation) -> None:
    """FindCoordinator v0 names a node and has no error message."""
    ana = talk.actor("ana")

    ana.sends(find_coordinator(version=0))
    ana.receives(find_coordinator_response(error_code="NONE", host=NON_EMPTY))


@scenario("admin/find/group-without-name", source=FINDS, clauses=("FC-05",))
def the_group_without_a_name_has_a_coordinator(talk: Conversation) -> None:
    """The empty text has a coordinator like any other group id."""
    ana = talk.actor("ana")

    ana.sends(find_coordinator(key=""))
    ana.receives(find_coordinator_response(error_code="NONE", host=NON_EMPTY))


@scenario("admin/find/unknown-key-type", source=FINDS, clauses=("FC-06", "FC-07"))
def an_unknown_key_type_finds_no_node(talk: Conversation) -> None:
    """A key type that the version does not know is refused, and the node is none.

    The error was UNKNOWN_SERVER_ERROR before 2.8 and is INVALID_REQUEST since.
    """
    ana = talk.actor("ana")

    ana.sends(find_coordinator(key_type=9))
    ana.receives(find_coordinator_response(error_code=ANY, node_id=-1, host=""))
    ana.sends(find_coordinator(key_type=2))
    ana.receives(find_coordinator_response(error_code=ANY, node_id=-1, host=""))


@scenario("admin/find/batch", source="KIP-699", clauses=("FC-04", "FC-08"))
def a_batch_is_answered_key_by_key(talk: Conversation) -> None:
    """FindCoordinator v4 answers every key, duplicates too, in the order asked, with an empty message."""
    ana = talk.actor("ana")
    one, other = talk.group("one"), talk.group("other")

    ana.sends(request("FindCoordinator", 4, key_type=0, coordinator_keys=(one, other, one, "")))
    ana.receives(
        find_coordinator_response(
            coordinators=tuple(
                {"key": key, "error_code": "NONE", "error_message": "", "host": NON_EMPTY}
                for key in (one, other, one, "")
            )
        )
    )


@scenario("admin/find/empty-batch", source="KIP-699", clauses=("FC-09",))
def an_empty_batch_has_an_empty_answer(talk: Conversation) -> None:
    """FindCoordinator v4 without keys finds nothing, and that is no error."""
    ana = talk.actor("ana")

    ana.sends(request("FindCoordinator", 4, key_type=0, coordinator_keys=()))
    ana.receives(find_coordinator_response(coordinators=()))


@scenario("admin/find/batch-of-unknown-type", source="KIP-699", clauses=("FC-10",))
def a_batch_of_an_unknown_type_is_refused_key_by_key(talk: Conversation) -> None:
    """FindCoordinator v4 with an unknown key type says INVALID_REQUEST of every key."""
    ana = talk.actor("ana")
    keys = (talk.group("one"), talk.group("other"))

    ana.sends(request("FindCoordinator", 4, key_type=9, coordinator_keys=keys))
    ana.receives(
        find_coordinator_response(
            coordinators=tuple(
                {"key": key, "error_code": "INVALID_REQUEST", "node_id": -1, "host": "", "port": -1}
                for key in keys
            )
        )
    )
