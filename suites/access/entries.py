"""Shared parts of this suite: an administrator, ACL entries and the error codes of refusals.

Nobody gets an entry for the topic `payments`, and `dora` gets none for any topic: scenarios share brokers,
and so the entries for topics.
"""

from harness.scenario import NON_EMPTY, Actor, Capability, Conversation, GroupRef, ask, expect
from harness.scenario.messages import Group

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
EVERYONE = {**AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
MAIN = GroupRef("main")
NEEDS = (Capability.PRINCIPALS,)
NO_GROUP, NO_TOPIC = "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"
NO_TRANSACTION, NO_CLUSTER = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"
TAKEN = expect.response("CreateAcls", results=({"error_code": "NONE"},))


def administrator_of(conversation: Conversation) -> Actor:
    """Return a super user, who may do everything and writes the ACL entries."""
    return conversation.actor("administrator")


def somebody(conversation: Conversation, name: str) -> Actor:
    """Return an actor who connects under a principal of their own."""
    return conversation.actor(name, principal=name)


def writes(administrator: Actor, entry: ask.AclEntry) -> None:
    """Create an ACL entry, and wait until the broker applies it."""
    administrator.asks(ask.create_acls(entry), TAKEN)
    administrator.repeats(
        ask.describe_acls(entry), until=expect.response("DescribeAcls", resources=NON_EMPTY)
    )


def allows(
    administrator: Actor,
    somebody: Actor,
    *operations: str,
    kind: str = "GROUP",
    name: Group = MAIN,
) -> None:
    """Allow a principal the operations on a resource, by default on the group `main`."""
    for operation in operations:
        writes(
            administrator, ask.AclEntry(principal=somebody.name, operation=operation, kind=kind, name=name)
        )
