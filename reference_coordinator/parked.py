"""A request together with what belongs to it, for handlers that may park it."""

from dataclasses import dataclass

from reference_coordinator.ids import ResponseToken
from reference_coordinator.messages import (
    JoinGroupRequest,
    RequestContext,
    SyncGroupRequest,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A JoinGroup that awaits its answer."""

    request: JoinGroupRequest
    context: RequestContext
    token: ResponseToken


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """A SyncGroup that awaits its answer."""

    request: SyncGroupRequest
    token: ResponseToken
