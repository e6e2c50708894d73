"""The dynamic configuration of one group."""

from typing import Final

from reference_coordinator.core.values import value


@value
class GroupConfig:
    """A group's dynamic configuration. None means the broker's value. Source: GroupConfig (4.3.1)."""

    consumer_session_timeout_ms: int | None = None
    consumer_heartbeat_interval_ms: int | None = None
    consumer_assignment_interval_ms: int | None = None
    share_session_timeout_ms: int | None = None
    share_heartbeat_interval_ms: int | None = None
    share_assignment_interval_ms: int | None = None
    streams_session_timeout_ms: int | None = None
    streams_heartbeat_interval_ms: int | None = None
    streams_num_standby_replicas: int | None = None
    streams_initial_rebalance_delay_ms: int | None = None
    streams_assignment_interval_ms: int | None = None
    streams_task_offset_interval_ms: int | None = None
    streams_num_warmup_replicas: int | None = None
    streams_rack_aware_assignment_tags: tuple[str, ...] | None = None
    streams_acceptable_recovery_lag: int | None = None


NO_GROUP_CONFIG: Final = GroupConfig()
"""The configuration of a group for which nothing is configured."""
