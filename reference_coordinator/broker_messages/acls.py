"""Tools' requests about access control, free of versions, with Kafka's numbers as names."""

from enum import IntEnum, unique
from typing import Final

from reference_coordinator.broker_messages.inspection import OfTools
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.values import value

CLUSTER_NAME: Final = "kafka-cluster"
"""The only resource of its type. Source: Resource#CLUSTER_NAME (4.3.1)."""
WILDCARD: Final = "*"
"""The literal name that matches every resource, and the host that matches every host."""


@unique
class ResourceType(IntEnum):
    """The types of resources with access control. Source: ResourceType (4.3.1)."""

    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


@unique
class PatternType(IntEnum):
    """How the name of a pattern is matched. Source: PatternType (4.3.1)."""

    ANY = 1
    LITERAL = 3
    PREFIXED = 4


@unique
class AclOperation(IntEnum):
    """The operations on a resource. Source: AclOperation (4.3.1)."""

    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


@unique
class AclPermissionType(IntEnum):
    """Whether an entry allows or denies. Source: AclPermissionType (4.3.1)."""

    ANY = 1
    DENY = 2
    ALLOW = 3


@value
class AclCreation:
    """One ACL entry: a principal, an operation on resources, and whether it is allowed or denied."""

    resource_type: int
    resource_name: str
    resource_pattern_type: int = PatternType.LITERAL
    principal: str
    host: str
    operation: int
    permission_type: int


@value
class CreateAclsRequest(OfTools):
    """A request to add entries; existing ones are not added twice."""

    creations: tuple[AclCreation, ...]


@value
class AclCreationResult:
    """The result for one entry."""

    error_code: Errors
    error_message: str | None = ""
    """Empty without an error, which is the field's default."""


@value
class CreateAclsResponse:
    """One result per entry, in request order."""

    results: tuple[AclCreationResult, ...]


@value
class DescribeAclsRequest(OfTools):
    """A request for the entries that match a filter; null and `ANY` match everything."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int = PatternType.LITERAL
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


@value
class AclDescription:
    """One entry, without its resource."""

    principal: str
    host: str
    operation: int
    permission_type: int


@value
class DescribeAclsResource:
    """The entries of one pattern."""

    resource_type: int
    resource_name: str
    pattern_type: int
    acls: tuple[AclDescription, ...]


@value
class DescribeAclsResponse:
    """The entries found, in any order."""

    error_code: Errors
    error_message: str | None = ""
    """Empty without an error, which is the field's default."""
    resources: tuple[DescribeAclsResource, ...] = ()
