"""A request together with what belongs to it, for handlers that may park it."""

from reference_coordinator.ids import ResponseToken
from reference_coordinator.messages import (
    JoinGroupRequest,
    RequestContext,
    SyncGroupRequest,
)
from reference_coordinator.values import value


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
