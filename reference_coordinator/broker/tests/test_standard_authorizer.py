"""Entries decide as Kafka's StandardAuthorizer has them decide."""

import pytest

from reference_coordinator.broker.standard_authorizer import StandardAuthorizer
from reference_coordinator.broker_messages.acls import (
    AclCreation,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.properties import ConfigError

ANA = RequestContext(api_version=0, client_id="c", client_host="/10.0.0.1", principal="User:ana")


def entry(
    operation: AclOperation,
    name: str = "orders",
    *,
    denies: bool = False,
    prefix: bool = False,
    principal: str = "User:ana",
    host: str = "*",
) -> AclCreation:
    return AclCreation(
        resource_type=ResourceType.TOPIC,
        resource_name=name,
        resource_pattern_type=PatternType.PREFIXED if prefix else PatternType.LITERAL,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=AclPermissionType.DENY if denies else AclPermissionType.ALLOW,
    )


def authorizer(*acls: AclCreation, **properties: str) -> StandardAuthorizer:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return StandardAuthorizer(GroupCoordinatorConfig.from_properties(given), list(acls))


READ, WRITE, ALL = AclOperation.READ, AclOperation.WRITE, AclOperation.ALL


@pytest.mark.parametrize(
    ("acls", "is_allowed"),
    [
        ((), False),
        ((entry(READ),), True),
        ((entry(ALL),), True),
        ((entry(WRITE),), False),
        ((entry(READ, "other"),), False),
        ((entry(READ, "*"),), True),
        ((entry(READ, "ord", prefix=True),), True),
        ((entry(READ, "ord"),), False),
        ((entry(READ, "orders-", prefix=True),), False),
        ((entry(READ, principal="User:*"),), True),
        ((entry(READ, principal="User:bob"),), False),
        ((entry(READ, host="10.0.0.1"),), True),
        ((entry(READ, host="10.0.0.2"),), False),
        ((entry(READ), entry(READ, denies=True)), False),
        ((entry(READ), entry(ALL, "*", denies=True)), False),
        ((entry(READ), entry(READ, denies=True, principal="User:bob")), True),
        ((entry(READ), entry(AclOperation.DESCRIBE, denies=True)), True),
    ],
)
def test_reading_is_decided_by_the_entries_that_match(
    acls: tuple[AclCreation, ...], *, is_allowed: bool
) -> None:
    assert authorizer(*acls).authorize(ANA, READ, ResourceType.TOPIC, "orders") is is_allowed


@pytest.mark.parametrize("operation", list(AclOperation))
def test_describe_comes_with_what_implies_it(operation: AclOperation) -> None:
    implying = {
        AclOperation.ALL,
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
    }
    found = authorizer(entry(operation)).authorize(ANA, AclOperation.DESCRIBE, ResourceType.TOPIC, "orders")
    assert found is (operation in implying)


def test_a_super_user_may_do_what_is_denied() -> None:
    denying = entry(ALL, "*", denies=True, principal="User:*")
    decides = authorizer(denying, super_users="User:bob; User:ana")
    assert decides.authorize(ANA, READ, ResourceType.TOPIC, "orders")
    assert decides.authorize_by_resource_type(ANA, READ, ResourceType.TOPIC)


def test_a_resource_without_entries_may_be_everybodys() -> None:
    properties = {"allow_everyone_if_no_acl_found": "true"}
    assert authorizer(**properties).authorize(ANA, READ, ResourceType.TOPIC, "orders")
    named = authorizer(entry(READ, principal="User:bob"), **properties)
    assert not named.authorize(ANA, READ, ResourceType.TOPIC, "orders")


@pytest.mark.parametrize(
    ("acls", "is_allowed"),
    [
        ((), False),
        ((entry(WRITE),), True),
        ((entry(READ),), False),
        ((entry(WRITE), entry(WRITE, denies=True)), False),
        ((entry(WRITE), entry(WRITE, "ord", denies=True, prefix=True)), False),
        ((entry(WRITE, "ord", prefix=True), entry(WRITE, denies=True)), True),
        ((entry(WRITE, "*"), entry(WRITE, "ord", denies=True, prefix=True)), True),
        ((entry(WRITE), entry(WRITE, "*", denies=True)), False),
    ],
)
def test_some_topic_may_be_written_unless_all_that_allow_are_outweighed(
    acls: tuple[AclCreation, ...], *, is_allowed: bool
) -> None:
    decides = authorizer(*acls)
    assert decides.authorize_by_resource_type(ANA, WRITE, ResourceType.TOPIC) is is_allowed


def test_another_authorizer_is_refused() -> None:
    with pytest.raises(ConfigError, match="StandardAuthorizer"):
        GroupCoordinatorConfig.from_properties({"authorizer.class.name": "org.example.Own"})


def test_with_everybody_allowed_some_topic_may_be_written_whatever_is_denied_of_others() -> None:
    denying = entry(ALL, "orders", denies=True)
    decides = authorizer(denying, allow_everyone_if_no_acl_found=" TRUE ")
    assert decides.authorize_by_resource_type(ANA, WRITE, ResourceType.TOPIC)
