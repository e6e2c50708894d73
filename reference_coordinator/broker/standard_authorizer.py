"""Authorization: super users, ACL entries that allow or deny, and resources without any entry."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Final

from reference_coordinator.broker_messages.acls import (
    CLUSTER_NAME,
    WILDCARD,
    AclCreation,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.config import GroupCoordinatorConfig

_EVERYBODY: Final = "User:*"
_FIXED_NAME: Final = "hardcode"
_IMPLYING: Final = MappingProxyType(
    {
        AclOperation.DESCRIBE: frozenset(
            (
                AclOperation.DESCRIBE,
                AclOperation.READ,
                AclOperation.WRITE,
                AclOperation.DELETE,
                AclOperation.ALTER,
            )
        ),
        AclOperation.DESCRIBE_CONFIGS: frozenset((AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)),
    }
)
"""The operations that imply another one. Source: StandardAuthorizerData#IMPLIES_DESCRIBE (3.9.2)."""


class StandardAuthorizer:
    """Authorizes requests by the ACL entries of a cluster.

    Source: StandardAuthorizer, StandardAuthorizerData (3.9.2).
    """

    def __init__(self, config: GroupCoordinatorConfig, acls: list[AclCreation]) -> None:
        self._super_users = frozenset(config.super_users)
        self._allows_everyone = config.allow_everyone_if_no_acl_found
        self._acls = acls

    def authorize(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool:
        """Return whether a request may perform an operation on a resource; denying entries take precedence.

        Source: StandardAuthorizerData#authorize (3.9.2).
        """
        if context.principal in self._super_users:
            return True
        of_resource = [each for each in self._acls if _matches(each, resource_type, name)]
        if not of_resource:
            return self._allows_everyone
        own = tuple(_of_principal(of_resource, context))
        if any(_is_denied(each, operation) for each in own):
            return False
        allowing = _IMPLYING.get(operation, frozenset((operation,))) | {AclOperation.ALL}
        return any(
            each.permission_type == AclPermissionType.ALLOW and each.operation in allowing for each in own
        )

    def authorize_cluster(self, context: RequestContext, operation: AclOperation) -> bool:
        """Return whether a request may perform an operation on the cluster."""
        return self.authorize(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def authorize_by_resource_type(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Return whether a request may perform an operation on at least one possible resource of a type.

        Kafka first authorizes a fixed resource name, so that super users need no entry.

        Source: Authorizer#authorizeByResourceType (3.9.2).
        """
        if self.authorize(context, operation, resource_type, _FIXED_NAME):
            return True
        of_type = [each for each in self._acls if each.resource_type == resource_type]
        own = tuple(_of_principal(of_type, context))
        denying = [each for each in own if _is_denied(each, operation)]
        if any(_is_everything(each) for each in denying):
            return False
        return any(
            each.permission_type == AclPermissionType.ALLOW
            and each.operation in (operation, AclOperation.ALL)
            and not _is_dominated(each, denying)
            for each in own
        )


def _is_denied(acl: AclCreation, operation: AclOperation) -> bool:
    return acl.permission_type == AclPermissionType.DENY and acl.operation in (operation, AclOperation.ALL)


def _of_principal(acls: Iterable[AclCreation], context: RequestContext) -> Iterator[AclCreation]:
    host = context.client_host.lstrip("/")
    for each in acls:
        if each.principal in (_EVERYBODY, context.principal) and each.host in (WILDCARD, host):
            yield each


def _matches(acl: AclCreation, resource_type: ResourceType, name: str) -> bool:
    """Return whether an entry applies to a resource, for any principal."""
    if acl.resource_type != resource_type:
        return False
    if acl.resource_pattern_type == PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (WILDCARD, name)


def _is_everything(acl: AclCreation) -> bool:
    return acl.resource_pattern_type == PatternType.LITERAL and acl.resource_name == WILDCARD


def _is_dominated(allowed: AclCreation, denying: Iterable[AclCreation]) -> bool:
    """Return whether everything that an entry allows is denied by another entry."""
    is_literal = allowed.resource_pattern_type == PatternType.LITERAL
    for each in denying:
        if each.resource_pattern_type == PatternType.PREFIXED:
            if not _is_everything(allowed) and allowed.resource_name.startswith(each.resource_name):
                return True
        elif is_literal and each.resource_name == allowed.resource_name:
            return True
    return False
