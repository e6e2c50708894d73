"""CreateAcls and DescribeAcls: add and find ACL entries of a cluster."""

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker_messages.acls import (
    CLUSTER_NAME,
    AclCreation,
    AclCreationResult,
    AclDescription,
    AclOperation,
    AclPermissionType,
    CreateAclsRequest,
    CreateAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
    PatternType,
    ResourceType,
)
from reference_coordinator.core.errors import Errors

_NOBODY_DECIDES = "No Authorizer is configured."


def handle_create_acls(broker: Broker, request: CreateAclsRequest) -> CreateAclsResponse:
    """Add ACL entries, independently of each other. Source: AclApis#handleCreateAcls (3.9.2)."""
    if not broker.config.authorizer_class_name:
        refused = AclCreationResult(error_code=Errors.SECURITY_DISABLED, error_message=_NOBODY_DECIDES)
        return CreateAclsResponse(results=(refused,) * len(request.creations))
    return CreateAclsResponse(results=tuple(_created(broker, each) for each in request.creations))


def _created(broker: Broker, acl: AclCreation) -> AclCreationResult:
    why_not = None
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        why_not = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    elif not acl.resource_name:
        why_not = "Invalid empty resource name"
    if why_not is not None:
        return AclCreationResult(error_code=Errors.INVALID_REQUEST, error_message=why_not)
    if acl not in broker.cluster.acls:
        broker.cluster.acls.append(acl)
    return AclCreationResult(error_code=Errors.NONE)


def handle_describe_acls(broker: Broker, request: DescribeAclsRequest) -> DescribeAclsResponse:
    """Find ACL entries, grouped by pattern. Source: AclApis#handleDescribeAcls (3.9.2)."""
    if not broker.config.authorizer_class_name:
        return DescribeAclsResponse(
            error_code=Errors.SECURITY_DISABLED, error_message="No Authorizer is configured on the broker"
        )
    found: dict[tuple[int, str, int], list[AclDescription]] = {}
    for acl in broker.cluster.acls:
        if _passes(acl, request):
            pattern = (acl.resource_type, acl.resource_name, acl.resource_pattern_type)
            found.setdefault(pattern, []).append(
                AclDescription(
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission_type,
                )
            )
    return DescribeAclsResponse(
        error_code=Errors.NONE,
        resources=tuple(
            DescribeAclsResource(
                resource_type=kind, resource_name=name, pattern_type=pattern_type, acls=tuple(acls)
            )
            for (kind, name, pattern_type), acls in found.items()
        ),
    )


def _passes(acl: AclCreation, request: DescribeAclsRequest) -> bool:
    """Source: AclBindingFilter#matches, ResourcePatternFilter#matches (3.9.2), without `MATCH`."""
    return (
        request.resource_type_filter in (ResourceType.ANY, acl.resource_type)
        and request.resource_name_filter in (None, acl.resource_name)
        and request.pattern_type_filter in (PatternType.ANY, acl.resource_pattern_type)
        and request.principal_filter in (None, acl.principal)
        and request.host_filter in (None, acl.host)
        and request.operation in (AclOperation.ANY, acl.operation)
        and request.permission_type in (AclPermissionType.ANY, acl.permission_type)
    )
