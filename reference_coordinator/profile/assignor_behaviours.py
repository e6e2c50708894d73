"""Differences between Kafka's releases in the assignors and in regular expressions."""

from typing import Final

from reference_coordinator.profile.behaviour import Behaviour, Row, since

OF_ASSIGNORS: Final = (
    Row(
        behaviour=Behaviour.UNIFORM_LEAVES_EXTRA_PARTITIONS,
        spans=since(4, 0, 1),
        meaning="Where partitions do not divide evenly among members of the same subscription, a member that "
        "has no extra one leaves it to another that has; before, the first members got them.",
        source="KAFKA-18688, UniformHomogeneousAssignmentBuilder#maybeRevokePartitions (4.0.1)",
    ),
    Row(
        behaviour=Behaviour.REPLACED_MEMBER_TAKES_NO_ROOM,
        spans=since(4, 4, 0),
        meaning="A static member that is replaced is not put into the map of members for the assignor. "
        "Before, it was taken out again, of a map whose order is another once it had thirteen members.",
        source="TargetAssignmentBuilder#build (4.3.1), UpdatedMembersAndTargetAssignmentView (4.4.0)",
    ),
    Row(
        behaviour=Behaviour.REGEX_GROUPS_NAMED_WITHOUT_P,
        spans=since(4, 1, 0),
        meaning="A regular expression may name a group as (?<name>…) and not only as (?P<name>…).",
        source="com.google.re2j.Parser#parsePerlFlags (RE2/J 1.8, which 4.1.0 brings)",
    ),
)
