"""What is left of a request from which something was taken that may not be asked for."""

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
"""What is said of a topic that may not be asked for."""


@value
class Narrowed:
    """What is left of a request, and what becomes of the answer."""

    request: BrokerRequest
    finish: Callable[[Any], Any] = lambda response: response


Narrow = Callable[[Broker, StandardAuthorizer, Any, RequestContext], Narrowed | BrokerResponse]
"""Takes from a request what may not be asked for, or answers it."""


def reads(authorizer: StandardAuthorizer, context: RequestContext, topic: str) -> bool:
    """Whether who asks may read a topic."""
    return authorizer.authorize(context, AclOperation.READ, ResourceType.TOPIC, topic)


def sees(authorizer: StandardAuthorizer, context: RequestContext, topic: str) -> bool:
    """Whether who asks may know that a topic exists."""
    return authorizer.authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, topic)
