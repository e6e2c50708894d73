"""Rarely used details: first versions with a check, fields of refusals, and missing client ids."""

from harness.scenario import NON_EMPTY, Actor, Conversation, ask, expect, in_any_order, one_of, scenario


@scenario("classic/join/v4-takes-two-steps", source="KIP-394", clauses=("JG-01", "JG-03"))
def a_join_v4_takes_two_steps(conversation: Conversation) -> None:
    """JoinGroup v4 is the first version in which a newcomer gets a member id and must join again with it."""
    ana, bob = conversation.actors("ana", "bob")
    ana.sends(ask.join_group(version=4))
    ana.receives(expect.join_group(error_code="MEMBER_ID_REQUIRED", member_id=NON_EMPTY))
    ana.sends(ask.join_group(version=4))
    ana.receives(expect.join_group(error_code="NONE", generation_id=1, leader=ana.member_id))

    bob.sends(ask.join_group(version=3))
    ana.sends(ask.join_group(version=4))
    bob.receives(expect.join_group(error_code="NONE", generation_id=2, members=()))
    ana.receives(expect.join_group(error_code="NONE", members=in_any_order({}, {})))


@scenario("classic/join/refused-in-v9", source="KIP-814", clauses=("VF-07", "LD-05"))
def a_refusal_in_v9_lets_nobody_skip(conversation: Conversation) -> None:
    """A refused JoinGroup v9 has no protocol and no leader, and skip_assignment is false."""
    ana = conversation.actor("ana")

    ana.sends(ask.join_group(version=9, member_id="nobody"))
    ana.receives(
        expect.join_group(
            error_code="UNKNOWN_MEMBER_ID",
            generation_id=-1,
            protocol_type=None,
            protocol_name=None,
            leader="",
            skip_assignment=False,
            members=(),
        )
    )


@scenario("classic/join/without-client-id", source="RequestHeader#parse", clauses=("VF-17",))
def a_client_without_an_id_gets_a_member_id(conversation: Conversation) -> None:
    """A client without a client id in its header still gets a member id, which the leader gets before it."""
    (ana,) = conversation.stable_group("ana")
    eve = conversation.actor("eve", client_id=None)

    eve.sends(ask.join_group(version=3, member_id=""))
    ana.asks(ask.join_group(), expect.join_group(error_code="NONE", members=in_any_order({}, {})))
    eve.receives(expect.join_group(error_code="NONE", member_id=NON_EMPTY))


@scenario("admin/describe/authorized-operations", source="AclEntry#supportedOperations", clauses=("DG-09",))
def what_may_be_done_with_a_group_is_reported_on_demand(conversation: Conversation) -> None:
    """DescribeGroups returns the authorized operations on request: all that exist for a group."""
    (ana,) = conversation.stable_group("ana")

    ana.sends(
        ask.request(
            "DescribeGroups", 5, groups=(conversation.group("main"),), include_authorized_operations=True
        )
    )
    ana.receives(expect.describe_groups(error_code="NONE", group_state="Stable"))
    never = conversation.group("never")
    ana.sends(ask.request("DescribeGroups", 5, groups=(never,), include_authorized_operations=True))
    ana.receives(expect.describe_groups(error_code="NONE", group_state="Dead"))


def _awaits_share_coordinator(actor: Actor, key: str) -> None:
    """Wait for the topic that the first request creates, on a broker that serves share groups."""
    actor.asks(ask.share_group_describe(), expect.share_group_describe())
    finding = ask.request("FindCoordinator", 6, key_type=2, coordinator_keys=(key,))
    actor.repeats(finding, until=expect.find_coordinator(coordinators=({"error_code": "NONE"},)))


@scenario("admin/find/no-share-keys", source="KafkaApis#getCoordinator", clauses=("FC-07",))
def keys_of_no_share_group_are_refused(conversation: Conversation) -> None:
    """FindCoordinator v6 refuses malformed share group keys; in 3.9 no key has a share coordinator."""
    ana = conversation.actor("ana")

    for asked in ("payroll", "payroll:orders:0"):
        ana.sends(ask.request("FindCoordinator", 6, key_type=2, coordinator_keys=(asked,)))
        ana.receives(
            expect.find_coordinator(
                coordinators=(
                    {"key": asked, "error_code": one_of("INVALID_REQUEST", "COORDINATOR_NOT_AVAILABLE")},
                )
            )
        )


@scenario("admin/find/share-keys", source="KafkaApis#getCoordinator", clauses=("FC-07", "SH-30"))
def keys_of_share_groups_have_a_form(conversation: Conversation) -> None:
    """FindCoordinator v6 accepts share group keys of the form group:topic-id:partition and refuses others."""
    ana = conversation.actor("ana")
    key = "payroll:AAAAAAAAAAAAAAAAAAAAAQ:0"

    _awaits_share_coordinator(ana, key)
    for asked in (key, "payroll", "payroll:orders:0", f"{key}:0"):
        ana.sends(ask.request("FindCoordinator", 6, key_type=2, coordinator_keys=(asked,)))
        ana.receives(expect.find_coordinator(coordinators=({"key": asked},)))


@scenario("admin/find/odd-share-keys", source="SharePartitionKey#getInstance", clauses=("FC-07", "SH-30"))
def keys_of_share_groups_are_read_by_java(conversation: Conversation) -> None:
    """A share group key may have a signed partition, a padded id and a trailing colon, and more since 4.2."""
    ana = conversation.actor("ana")
    orders = "AAAAAAAAAAAAAAAAAAAAAQ"

    _awaits_share_coordinator(ana, f"payroll:{orders}:0")
    for asked in (
        f"payroll:{orders}:-1",
        f"payroll:{orders}==:+1:",
        f"payroll:{orders}:2147483648",
        f"payroll:{orders}: 1",
        f"payroll:{orders}=:1",
        f" :{orders}:1",
        f"pay:roll:{orders}:1",
        "",
    ):
        ana.sends(ask.request("FindCoordinator", 6, key_type=2, coordinator_keys=(asked,)))
        ana.receives(expect.find_coordinator(coordinators=({"key": asked},)))


@scenario("admin/api-versions/software-without-a-proper-name", source="KIP-511")
def software_needs_a_proper_name(conversation: Conversation) -> None:
    """ApiVersions v3 refuses a software name or version that is empty or starts or ends with a hyphen."""
    ana = conversation.actor("ana")

    for name, version in (("", "1.0"), ("conformance", ""), ("-conformance", "1.0"), ("conformance", "1.0-")):
        ana.sends(ask.request("ApiVersions", 3, client_software_name=name, client_software_version=version))
        ana.receives(expect.api_versions(error_code="INVALID_REQUEST", api_keys=()))


@scenario(
    "classic/initial-delay/never-beyond-the-rebalance-timeout",
    source="GroupMetadataManager#tryCompleteInitialRebalanceElseSchedule",
    clauses=("RB-02",),
    broker_config={"group.initial.rebalance.delay.ms": "2000"},
)
def the_initial_delay_ends_with_the_rebalance_timeout(conversation: Conversation) -> None:
    """However many members arrive, the initial delay is never extended beyond the rebalance timeout."""
    ana, bob, carol = conversation.actors("ana", "bob", "carol")
    ana.sends(ask.join_group(version=3, rebalance_timeout_ms=5_200))
    conversation.elapses(1_000)
    bob.sends(ask.join_group(version=3, rebalance_timeout_ms=5_200))
    conversation.elapses(1_800)
    carol.sends(ask.join_group(version=3, rebalance_timeout_ms=5_200))

    ana.receives(
        expect.join_group(error_code="NONE", generation_id=1, members=in_any_order({}, {}, {})),
        due_ms=5_200,
    )
    bob.receives(expect.join_group(error_code="NONE", members=()))
    carol.receives(expect.join_group(error_code="NONE", members=()))


@scenario("admin/list/state-with-blanks", source="GroupMetadataManager#listGroups")
def a_state_with_blanks_around(conversation: Conversation) -> None:
    """A ListGroups filter with blanks around a state matches groups of the Java coordinator only."""
    (ana,) = conversation.stable_group("ana")

    ana.asks(ask.list_groups(version=4, states_filter=(" Stable ",)), error_code="NONE")
