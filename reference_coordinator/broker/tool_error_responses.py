"""The same for the requests of tools.

Source: AbstractRequest#getErrorResponse of each of them (4.3.1).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from reference_coordinator.broker_messages.acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from reference_coordinator.broker_messages.inspection import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from reference_coordinator.broker_messages.tools import (
    AlterConfigsResourceResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribedTopic,
    DescribedTransaction,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
    ToolResponse,
)
from reference_coordinator.core.errors import Errors
from reference_coordinator.messages import AUTHORIZED_OPERATIONS_OMITTED


def _describe_configs(request: DescribeConfigsRequest, error: Errors) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=tuple(
            DescribeConfigsResult(
                error_code=error,
                error_message=None,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        )
    )


def _alter_configs(request: IncrementalAlterConfigsRequest, error: Errors) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=tuple(
            AlterConfigsResourceResponse(
                error_code=error,
                error_message=None,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        )
    )


def _describe_topics(
    request: DescribeTopicPartitionsRequest, error: Errors
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=tuple(
            DescribedTopic(
                error_code=error,
                name=name,
                topic_id=None,
                is_internal=False,
                partitions=(),
                topic_authorized_operations=AUTHORIZED_OPERATIONS_OMITTED,
            )
            for name in request.topics
        ),
        next_cursor=None,
    )


def _describe_transactions(
    request: DescribeTransactionsRequest, error: Errors
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=tuple(
            DescribedTransaction(error_code=error, transactional_id=each)
            for each in request.transactional_ids
        )
    )


TOOL_ERROR_RESPONSES: Final[Mapping[type, Callable[[Any, Errors], ToolResponse]]] = MappingProxyType(
    {
        DescribeConfigsRequest: _describe_configs,
        IncrementalAlterConfigsRequest: _alter_configs,
        ListConfigResourcesRequest: lambda _, error: ListConfigResourcesResponse(error_code=error),
        DescribeTopicPartitionsRequest: _describe_topics,
        ListTransactionsRequest: lambda _, error: ListTransactionsResponse(error_code=error),
        DescribeTransactionsRequest: _describe_transactions,
        DescribeLogDirsRequest: lambda _, error: DescribeLogDirsResponse(error_code=error),
        DescribeQuorumRequest: lambda _, error: DescribeQuorumResponse(error_code=error),
        StreamsGroupTopologyDescriptionUpdateRequest: lambda _, error: (
            StreamsGroupTopologyDescriptionUpdateResponse(error_code=error)
        ),
        CreateAclsRequest: lambda asked, error: CreateAclsResponse(
            results=(AclCreationResult(error_code=error),) * len(asked.creations)
        ),
        DescribeAclsRequest: lambda _, error: DescribeAclsResponse(error_code=error),
    }
)
"""By the type of the request, the answer that tells its error."""

TOOL_REQUESTS_ABOUT_TOPICS: Final = (
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListTransactionsRequest,
    DescribeTransactionsRequest,
)
"""Those that change how topics are configured, or that read that or transactions."""
