"""What differs between Kafka's releases in the assignors that the coordinator runs."""

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
)
