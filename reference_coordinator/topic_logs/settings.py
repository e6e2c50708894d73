"""A topic's log settings: from its own configuration, or else the broker's, or else Kafka's defaults."""

from functools import lru_cache
from typing import Final

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.java import trim
from reference_coordinator.core.values import value
from reference_coordinator.profile.config import GroupCoordinatorConfig

_DAY_MS: Final = 24 * 60 * 60 * 1000
_LONG_MAX: Final = 2**63 - 1
_CACHED: Final = 1024


@value
class LogSettings:
    """The settings of a topic that decide which records are retained. Source: LogConfig (4.3.1)."""

    is_deleted: bool = True
    """`cleanup.policy`: whether old segments are deleted."""
    is_compacted: bool = False
    """`cleanup.policy`: whether only the last record of each key is retained."""
    retention_ms: Millis = Millis(7 * _DAY_MS)
    """Negative for no limit."""
    retention_bytes: int = -1
    """Negative for no limit."""
    segment_bytes: int = 1 << 30
    segment_ms: Millis = Millis(7 * _DAY_MS)
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: Millis = Millis(0)
    max_compaction_lag_ms: Millis = Millis(_LONG_MAX)
    delete_retention_ms: Millis = Millis(_DAY_MS)


@lru_cache(maxsize=_CACHED)
def log_settings(config: GroupCoordinatorConfig, overrides: tuple[tuple[str, str], ...]) -> LogSettings:
    """Return the settings of a topic's logs.

    Args:
        config: the broker's configuration.
        overrides: the topic's own configuration, by name; already validated.

    Source: LogConfig#fromProps (4.3.1).
    """
    topic = dict(overrides)
    policies = {trim(each) for each in topic.get("cleanup.policy", "delete").split(",")}
    default = LogSettings()

    def number(name: str, otherwise: int) -> int:
        text = topic.get(name)
        return otherwise if text is None else int(trim(text))

    return LogSettings(
        is_deleted="delete" in policies,
        is_compacted="compact" in policies,
        retention_ms=Millis(number("retention.ms", default.retention_ms)),
        retention_bytes=number("retention.bytes", config.log_retention_bytes),
        segment_bytes=number("segment.bytes", config.log_segment_bytes),
        segment_ms=Millis(number("segment.ms", default.segment_ms)),
        min_cleanable_dirty_ratio=float(
            trim(topic.get("min.cleanable.dirty.ratio", str(default.min_cleanable_dirty_ratio)))
        ),
        min_compaction_lag_ms=Millis(number("min.compaction.lag.ms", default.min_compaction_lag_ms)),
        max_compaction_lag_ms=Millis(number("max.compaction.lag.ms", default.max_compaction_lag_ms)),
        delete_retention_ms=Millis(number("delete.retention.ms", default.delete_retention_ms)),
    )
