"""How the authorizer decides: DENY entries, implied operations, hosts, prefixes, and who writes entries."""

from harness.scenario import Conversation, Pattern, ask, expect, scenario
from suites.access.entries import (
    AUTHORIZER,
    EVERYONE,
    MAIN,
    NEEDS,
    NO_CLUSTER,
    NO_GROUP,
    administrator_of,
    allows,
    somebody,
    writes,
)

DECIDES = "StandardAuthorizerData#authorize"
NOBODY = "UNKNOWN_MEMBER_ID"
"""The error code of a heartbeat from a non-member that has READ on the group."""


@scenario(
    "access/rules/deny-first", source=DECIDES, clauses=("AU-20",), needs=NEEDS, broker_config=AUTHORIZER
)
def what_denies_comes_before_what_allows(conversation: Conversation) -> None:
    """One DENY entry outweighs all ALLOW entries; a DENY of DESCRIBE alone still allows READ."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    beat = ask.heartbeat(generation_id=1, member_id="nobody")
    allows(administrator, ana, "ALL")
    ana.asks(beat, error_code=NOBODY)
    writes(administrator, ask.AclEntry(principal="ana", operation="DESCRIBE", permission="DENY"))
    ana.asks(beat, error_code=NOBODY)
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code=NO_GROUP))
    writes(administrator, ask.AclEntry(principal="*", operation="READ", permission="DENY"))
    ana.asks(beat, error_code=NO_GROUP)


@scenario("access/rules/implied", source=DECIDES, clauses=("AU-21",), needs=NEEDS, broker_config=AUTHORIZER)
def four_rights_bring_describe(conversation: Conversation) -> None:
    """READ, WRITE, DELETE and ALTER imply DESCRIBE; CREATE does not, and no other operation implies READ."""
    administrator = administrator_of(conversation)
    ana = somebody(conversation, "ana")
    for operation, error in (("CREATE", NO_GROUP), ("ALTER", "NONE")):
        allows(administrator, ana, operation)
        ana.asks(ask.describe_groups(), expect.describe_groups(error_code=error))
    bob = somebody(conversation, "bob")
    allows(administrator, bob, "WRITE")
    carol = somebody(conversation, "carol")
    allows(administrator, carol, "DELETE")
    for each in (bob, carol):
        each.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE"))
        each.asks(ask.heartbeat(generation_id=1, member_id="nobody"), error_code=NO_GROUP)


@scenario("access/rules/patterns", source=DECIDES, clauses=("AU-22",), needs=NEEDS, broker_config=AUTHORIZER)
def patterns_name_many(conversation: Conversation) -> None:
    """A prefixed entry covers every group with that prefix, but an entry for another host allows nothing."""
    administrator = administrator_of(conversation)
    ana, bob = somebody(conversation, "ana"), somebody(conversation, "bob")
    beat = ask.heartbeat(generation_id=1, member_id="nobody")
    writes(administrator, ask.AclEntry(principal="ana", operation="READ", is_prefix=True))
    ana.asks(beat, error_code=NOBODY)
    bob.asks(beat, error_code=NO_GROUP)
    writes(administrator, ask.AclEntry(principal="bob", operation="READ", host="192.0.2.1"))
    bob.asks(beat, error_code=NO_GROUP)
    writes(administrator, ask.AclEntry(principal="*", operation="READ", host="127.0.0.1"))
    bob.asks(beat, error_code=NOBODY)


@scenario("access/rules/no-entry", source=DECIDES, clauses=("AU-23",), needs=NEEDS, broker_config=EVERYONE)
def a_group_without_entries_may_be_everybodys(conversation: Conversation) -> None:
    """With allow.everyone.if.no.acl.found, everyone may use a group until an ACL entry names it."""
    administrator, bob = administrator_of(conversation), somebody(conversation, "bob")
    beat = ask.heartbeat(generation_id=1, member_id="nobody")
    bob.asks(beat, error_code=NOBODY)
    writes(administrator, ask.AclEntry(principal="ana", operation="READ"))
    bob.asks(beat, error_code=NO_GROUP)
    bob.asks(
        ask.heartbeat(generation_id=1, member_id="nobody", group_id=conversation.group("other")),
        error_code=NOBODY,
    )


@scenario(
    "access/rules/writing",
    source="AclApis#handleCreateAcls",
    clauses=("AU-24",),
    needs=NEEDS,
    broker_config=AUTHORIZER,
)
def entries_are_written_by_who_may_alter_the_cluster(conversation: Conversation) -> None:
    """CreateAcls requires ALTER on the cluster, DescribeAcls DESCRIBE; an empty name is INVALID_REQUEST."""
    administrator, ana = administrator_of(conversation), somebody(conversation, "ana")
    entry = ask.AclEntry(principal="ana", operation="READ")

    ana.asks(ask.create_acls(entry), expect.response("CreateAcls", results=({"error_code": NO_CLUSTER},)))
    ana.asks(ask.describe_acls(entry), expect.response("DescribeAcls", error_code=NO_CLUSTER, resources=()))
    administrator.asks(
        ask.create_acls(entry, ask.AclEntry(principal="ana", operation="READ", name="")),
        expect.response("CreateAcls", results=({"error_code": "NONE"}, {"error_code": "INVALID_REQUEST"})),
    )
    found: Pattern = {"principal": "User:ana", "host": "*", "operation": 3, "permission_type": 3}
    administrator.repeats(
        ask.describe_acls(entry),
        until=expect.response(
            "DescribeAcls", resources=({"resource_type": 3, "resource_name": MAIN, "acls": (found,)},)
        ),
    )


@scenario("access/rules/no-authorizer", source="AclApis#handleCreateAcls", clauses=("AU-25",))
def without_an_authorizer_there_are_no_entries(conversation: Conversation) -> None:
    """Without an authorizer, CreateAcls and DescribeAcls are refused with SECURITY_DISABLED."""
    ana = conversation.actor("ana")
    entry = ask.AclEntry(principal="ana", operation="READ")
    ana.asks(
        ask.create_acls(entry), expect.response("CreateAcls", results=({"error_code": "SECURITY_DISABLED"},))
    )
    ana.asks(
        ask.describe_acls(entry),
        expect.response("DescribeAcls", error_code="SECURITY_DISABLED", resources=()),
    )
