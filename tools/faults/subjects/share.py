"""Share groups (KIP-932)."""

from faults.corpus import Replacement, fault


@fault(
    "initialization-is-not-tried-again",
    "groups.share.initializing:_retry_interval_ms",
    source="KAFKA-19204",
    saw="a share group gets no partition of a topic whose state could not be initialized at once",
    releases="4.1, a preview",
    red=("share_groups/offsets/tried-again",),
)
def initialization_is_not_tried_again(healthy: Replacement, *given: object) -> int:
    """A partition that awaits its state is never asked for again."""
    del healthy, given
    return 2**62
