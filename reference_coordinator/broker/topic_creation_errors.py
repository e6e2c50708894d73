"""The errors of creating internal topics of streams groups."""

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value


@value
class TopicCreationError:
    """The error of creating a topic. Source: ExpiringErrorCache.Entry (4.3.1)."""

    message: str
    until_ms: Millis
    """When the broker tries again."""
