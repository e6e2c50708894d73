"""Where in Kafka's code a coordinator is held, by release and coordinator."""

from collections.abc import Mapping
from typing import Final

from harness.targets.base import HoldPoint
from harness.targets.jars import release_of
from harness.targets.jdwp import CodePoint

JAVA_ONLY_SINCE: Final = (4, 0)
"""From here on there is no Scala coordinator."""
_COMMON_SINCE: Final = (4, 2)
_UNKNOWN: Final = (0, 0)
_SCALA: Final = "kafka.coordinator.group.GroupMetadataManager"
_LOADER: Final = "kafka.coordinator.group.CoordinatorLoaderImpl"
_COMMON_LOADER: Final = "org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl"


def code_points(version: str, *, java_coordinator: bool) -> Mapping[HoldPoint, CodePoint]:
    """Return where a version's coordinator can be held.

    Args:
        version: Kafka's; one that names no release stands for the newest.
        java_coordinator: which coordinator runs, where a release has two.
    """
    found = {point: _code_point(point, version, java_coordinator=java_coordinator) for point in HoldPoint}
    return {point: code_point for point, code_point in found.items() if code_point is not None}


def _code_point(point: HoldPoint, version: str, *, java_coordinator: bool) -> CodePoint | None:
    release = release_of(version)
    if release == _UNKNOWN:
        release = _COMMON_SINCE
    is_java = java_coordinator or release >= JAVA_ONLY_SINCE
    match point:
        case HoldPoint.LOADING if is_java:
            return CodePoint(
                class_name=_COMMON_LOADER if release >= _COMMON_SINCE else _LOADER, method="doLoad"
            )
        case HoldPoint.LOADING:
            # What doLoadGroupsAndOffsets asks first; itself is inlined in the jars that are released.
            return CodePoint(class_name=_SCALA, method="logEndOffset$1")
        case HoldPoint.DEAD if is_java:
            # It marks a group Dead and removes it in one step of one thread.
            return None
        case HoldPoint.DEAD:
            return CodePoint(
                class_name=_SCALA, method="cleanupGroupMetadata", parameters="(Lscala/collection/Iterable;"
            )
