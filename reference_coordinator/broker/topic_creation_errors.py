"""Why internal topics of streams groups could not be created."""

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value


@value
class TopicCreationError:
    """Why a topic could not be created. Source: ExpiringErrorCache.Entry (4.3.1)."""

    message: str
    until_ms: Millis
    """When the broker tries again."""
