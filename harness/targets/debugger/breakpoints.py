"""Where in Kafka's code a coordinator is paused, by release and coordinator."""

from collections.abc import Mapping
from typing import Final

from harness.targets.base.interface import Breakpoint, Capability
from harness.targets.debugger.jdwp import CodePoint
from harness.targets.jars.resolved import release_of

JAVA_ONLY_SINCE: Final = (4, 0)
"""From here on there is no Scala coordinator."""
_COMMON_SINCE: Final = (4, 2)
_UNKNOWN: Final = (0, 0)
_FIRST_PARAMETER: Final = 1
"""Of a method that is not static."""
_SCALA: Final = "kafka.coordinator.group.GroupMetadataManager"
_LOADER: Final = "kafka.coordinator.group.CoordinatorLoaderImpl"
_COMMON_LOADER: Final = "org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl"


def code_points(version: str, *, java_coordinator: bool) -> Mapping[Breakpoint, CodePoint]:
    """Return where a version's coordinator can be paused.

    Args:
        version: Kafka's; one that names no release stands for the newest.
        java_coordinator: which coordinator runs, where a release has two.
    """
    found = {point: _code_point(point, version, java_coordinator=java_coordinator) for point in Breakpoint}
    return {point: code_point for point, code_point in found.items() if code_point is not None}


def load_order(version: str, *, java_coordinator: bool) -> frozenset[Capability]:
    """Return whether a version loads partitions in an order that does not change.

    The Java coordinator draws lots which partition's events it looks at next.

    Source: EventAccumulator#poll (4.3.1), GroupMetadataManager#scheduleLoadGroupAndOffsets (3.9.2).
    """
    is_java = java_coordinator or release_of(version) >= JAVA_ONLY_SINCE or release_of(version) == _UNKNOWN
    return frozenset() if is_java else frozenset({Capability.ORDERED_LOADS})


def _code_point(point: Breakpoint, version: str, *, java_coordinator: bool) -> CodePoint | None:
    release = release_of(version)
    if release == _UNKNOWN:
        release = _COMMON_SINCE
    is_java = java_coordinator or release >= JAVA_ONLY_SINCE
    match point:
        case Breakpoint.LOADING if is_java:
            return CodePoint(
                class_name=_COMMON_LOADER if release >= _COMMON_SINCE else _LOADER,
                method="doLoad",
                partition_in=_FIRST_PARAMETER,
            )
        case Breakpoint.LOADING:
            # What doLoadGroupsAndOffsets asks first; itself is inlined in the jars that are released.
            return CodePoint(class_name=_SCALA, method="logEndOffset$1", partition_in=_FIRST_PARAMETER)
        case Breakpoint.DEAD if is_java:
            # It marks a group Dead and removes it in one step of one thread.
            return None
        case Breakpoint.DEAD:
            return CodePoint(
                class_name=_SCALA, method="cleanupGroupMetadata", parameters="(Lscala/collection/Iterable;"
            )
