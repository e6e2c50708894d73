"""Where in Kafka's code a coordinator is paused, by release and coordinator."""

from collections.abc import Mapping
from typing import Final

from harness.targets.base.interface import Breakpoint, Capability
from harness.targets.debugger.jdwp import CodePoint
from harness.targets.jars.resolved import release_of

JAVA_ONLY_SINCE: Final = (4, 0)
"""The first release without a Scala coordinator."""
_COMMON_SINCE: Final = (4, 2)
_UNKNOWN: Final = (0, 0)
_FIRST_PARAMETER: Final = 1
"""The local variable of the first parameter of a method that is not static."""
_SCALA: Final = "kafka.coordinator.group.GroupMetadataManager"
_LOADER: Final = "kafka.coordinator.group.CoordinatorLoaderImpl"
_COMMON_LOADER: Final = "org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl"


def code_points(version: str, *, java_coordinator: bool) -> Mapping[Breakpoint, CodePoint]:
    """Return the code points at which a version's coordinator can be paused.

    Args:
        version: Kafka's version; one without a release number is taken for the newest.
        java_coordinator: whether the Java coordinator runs, where a release has two.
    """
    found = {point: _code_point(point, version, java_coordinator=java_coordinator) for point in Breakpoint}
    return {point: code_point for point, code_point in found.items() if code_point is not None}


def load_order(version: str, *, java_coordinator: bool) -> frozenset[Capability]:
    """Return `ORDERED_LOADS` if a version always loads partitions in the same order.

    The Java coordinator randomly chooses the partition whose events it processes next.

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
            # doLoadGroupsAndOffsets calls this first; it is itself inlined in the released jars.
            return CodePoint(class_name=_SCALA, method="logEndOffset$1", partition_in=_FIRST_PARAMETER)
        case Breakpoint.DEAD if is_java:
            # The Java coordinator marks a group Dead and removes it in one step of one thread.
            return None
        case Breakpoint.DEAD:
            return CodePoint(
                class_name=_SCALA, method="cleanupGroupMetadata", parameters="(Lscala/collection/Iterable;"
            )
