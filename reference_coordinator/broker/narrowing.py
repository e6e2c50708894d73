"""Requests from which unauthorized parts were removed."""

from collections.abc import Callable
from typing import Any, Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.standard_authorizer import StandardAuthorizer
from reference_coordinator.broker_messages import BrokerRequest, BrokerResponse
from reference_coordinator.broker_messages.acls import AclOperation, ResourceType
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.values import value
from reference_coordinator.messages import RequestContext

REFUSED: Final = Errors.TOPIC_AUTHORIZATION_FAILED
"""The error of an unauthorized topic."""


@value
class Narrowed:
    """The authorized rest of a request, and the function that completes its answer."""

    request: BrokerRequest
    finish: Callable[[Any], Any] = lambda response: response


Narrow = Callable[[Broker, StandardAuthorizer, Any, RequestContext], Narrowed | BrokerResponse]
"""Removes the unauthorized parts of a request, or answers it."""


def reads(authorizer: StandardAuthorizer, context: RequestContext, topic: str) -> bool:
    """Return whether the client may read a topic."""
    return authorizer.authorize(context, AclOperation.READ, ResourceType.TOPIC, topic)


def sees(authorizer: StandardAuthorizer, context: RequestContext, topic: str) -> bool:
    """Return whether the client may describe a topic."""
    return authorizer.authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic)
