"""FindCoordinator: the coordinator of a group, for one key and for batches."""

from harness.scenario import NON_EMPTY, Conversation, ask, expect, one_of, scenario, sweep

FINDS = "KafkaApis#handleFindCoordinatorRequest"


@scenario("admin/find/one-group", source=FINDS, clauses=("FC-02",), sweep=sweep("FindCoordinator", 1, 3))
def a_groups_coordinator_is_found(conversation: Conversation, version: int) -> None:
    """FindCoordinator v{version} returns a node, and the text NONE as its error message."""
    ana = conversation.actor("ana")

    ana.sends(ask.find_coordinator(version=version))
    ana.receives(expect.find_coordinator(error_code="NONE", error_message="NONE", host=NON_EMPTY))


@scenario("admin/find/low-version", source=FINDS, clauses=("FC-03",))
def version_0_finds_a_groups_coordinator(conversation: Conversation) -> None:
    """FindCoordinator v0 returns a node; it has no error message field."""
    ana = conversation.actor("ana")

    ana.asks(ask.find_coordinator(version=0), expect.find_coordinator(error_code="NONE", host=NON_EMPTY))


@scenario("admin/find/group-without-name", source=FINDS, clauses=("FC-05",))
def the_group_without_a_name_has_a_coordinator(conversation: Conversation) -> None:
    """FindCoordinator finds a coordinator for the empty group id like for any other."""
    ana = conversation.actor("ana")

    ana.asks(ask.find_coordinator(key=""), expect.find_coordinator(error_code="NONE", host=NON_EMPTY))


@scenario(
    "admin/find/unknown-key-type",
    source=FINDS,
    clauses=("FC-06", "FC-07"),
    sweep=sweep("FindCoordinator", 1, 3),
)
def an_unknown_key_type_finds_no_node(conversation: Conversation, version: int) -> None:
    """FindCoordinator v{version} refuses an unknown key type and returns node id -1.

    The error was UNKNOWN_SERVER_ERROR before 2.8 and is INVALID_REQUEST since.
    """
    ana = conversation.actor("ana")

    refused = one_of("UNKNOWN_SERVER_ERROR", "INVALID_REQUEST")
    for key_type in (9, 2):
        ana.sends(ask.find_coordinator(version=version, key_type=key_type))
        ana.receives(expect.find_coordinator(error_code=refused, node_id=-1, host=""))


@scenario(
    "admin/find/batch",
    source="KIP-699",
    clauses=("FC-04", "FC-08"),
    sweep=sweep("FindCoordinator", 4, 6),
)
def a_batch_is_answered_key_by_key(conversation: Conversation, version: int) -> None:
    """FindCoordinator v{version} answers each key in request order, duplicates too, with empty messages."""
    ana = conversation.actor("ana")
    one, other = conversation.group("one"), conversation.group("other")

    ana.sends(ask.request("FindCoordinator", version, key_type=0, coordinator_keys=(one, other, one, "")))
    ana.receives(
        expect.find_coordinator(
            coordinators=tuple(
                {"key": key, "error_code": "NONE", "error_message": "", "host": NON_EMPTY}
                for key in (one, other, one, "")
            )
        )
    )


@scenario("admin/find/empty-batch", source="KIP-699", clauses=("FC-09",))
def an_empty_batch_has_an_empty_answer(conversation: Conversation) -> None:
    """FindCoordinator v4 without keys returns no coordinators and no error."""
    ana = conversation.actor("ana")

    ana.sends(ask.request("FindCoordinator", 4, key_type=0, coordinator_keys=()))
    ana.receives(expect.find_coordinator(coordinators=()))


@scenario(
    "admin/find/batch-of-unknown-type",
    source="KIP-699",
    clauses=("FC-10",),
    sweep=sweep("FindCoordinator", 4, 6),
)
def a_batch_of_an_unknown_type_is_refused_key_by_key(conversation: Conversation, version: int) -> None:
    """FindCoordinator v{version} with an unknown key type returns INVALID_REQUEST for every key."""
    ana = conversation.actor("ana")
    keys = (conversation.group("one"), conversation.group("other"))

    ana.sends(ask.request("FindCoordinator", version, key_type=9, coordinator_keys=keys))
    ana.receives(
        expect.find_coordinator(
            coordinators=tuple(
                {"key": key, "error_code": "INVALID_REQUEST", "node_id": -1, "host": "", "port": -1}
                for key in keys
            )
        )
    )
