"""What the scenarios of this suite have in common: an administrator, entries, and who is refused.

Nobody is allowed anything of the topic `payments` by name, and `dora` nothing of any topic: the brokers are
shared, and entries for topics are everybody's.
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
    """Bring in a super user, who may do everything and writes the entries."""
    return conversation.actor("administrator")


def somebody(conversation: Conversation, name: str) -> Actor:
    """Bring in an actor who connects under his own name."""
    return conversation.actor(name, principal=name)


def writes(administrator: Actor, entry: ask.AclEntry) -> None:
    """Have an entry written, and wait until the broker minds it."""
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
    """Allow somebody what is to be done to a resource, his group unless told otherwise."""
    for operation in operations:
        writes(
            administrator, ask.AclEntry(principal=somebody.name, operation=operation, kind=kind, name=name)
        )
