"""Requests with their context and token, for handlers that may park them."""

from reference_coordinator.core.ids import ResponseToken
from reference_coordinator.core.values import value
from reference_coordinator.messages import (
    JoinGroupRequest,
    RequestContext,
    SyncGroupRequest,
)


@value
class Join:
    """A JoinGroup that awaits its answer."""

    request: JoinGroupRequest
    context: RequestContext
    token: ResponseToken


@value
class Sync:
    """A SyncGroup that awaits its answer."""

    request: SyncGroupRequest
    token: ResponseToken
