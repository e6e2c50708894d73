"""Whether a script can be run on a broker at all, and would leave alone what others have there."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from harness.runner.placing import why_not_placeable
from harness.scenario.own_settings import assumptions, states_another
from harness.scenario.script import AwaitMetadata, DoToBroker, Repeat, Script, Send, SendBytes
from harness.scenario.values import AnswerRef, GroupRef, Plus, ProducedBatch, Ref, TopicId, Value
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.interface import BrokerDescription, Capability
from harness.targets.external.guard import NotOurs
from harness.targets.external.namespace import Namespace, topics_in
from harness.targets.external.run_namespace import RunNamespace
from harness.wire.codec import FieldValue
from harness.wire.schema import api_key, has_version

OF_CONSUMER_GROUPS: Final = frozenset({"ConsumerGroupHeartbeat", "ConsumerGroupDescribe"})
_BY_PARTITION: Final = frozenset({"OffsetCommit", "OffsetDelete", "OffsetFetch", "TxnOffsetCommit"})
"""APIs that name the partitions of a topic themselves, so that it may have more."""
_PARTITIONS: Final = frozenset({"partition_index", "partition_indexes", "partitions"})
_CONSUMER_HEARTBEAT: Final = api_key("ConsumerGroupHeartbeat")
_CONSUMER_GROUPS_SINCE: Final = 1
"""The version of ConsumerGroupHeartbeat in the first release of the protocol for general use.

Source: ConsumerGroupHeartbeatRequest.json (4.0.0), KIP-848.
"""


def why_not_applicable(
    script: Script,
    capabilities: Collection[Capability],
    description: BrokerDescription,
    *,
    run_namespace: RunNamespace | None = None,
) -> str | None:
    """Return why a script cannot be run on a broker, naming what is missing, or None if it can.

    Args:
        script: the script to run.
        capabilities: the target's capabilities.
        description: describes the broker.
        run_namespace: what the run may use and touch, if the broker is external.
    """
    lacking = [name for name in script.needs if Capability(name) not in capabilities]
    if lacking:
        return f"{description.spec} lacks the capability {', '.join(lacking)}"
    return (
        why_not_served(script, description)
        or _why_no_topic(script, description)
        or (None if run_namespace is None else _configured_restart(script, description))
        or _other_config(script, description)
        or why_not_placeable(script, description, run_namespace)
        or (None if run_namespace is None else _why_not_harmless(script, run_namespace, description))
    )


def _why_not_harmless(
    script: Script, run_namespace: RunNamespace, description: BrokerDescription
) -> str | None:
    """Return what a script would touch, and which assumption made it configure groups, if one did."""
    why = why_not_harmless(script, run_namespace)
    if why is None or "IncrementalAlterConfigs" not in why:
        return why
    return "; ".join((why, *assumptions(script, description.assumed)))


def has_consumer_groups(description: BrokerDescription) -> bool:
    """Return whether a broker serves consumer groups as since Kafka 4.0."""
    return any(
        each.api_key == _CONSUMER_HEARTBEAT and each.max_version >= _CONSUMER_GROUPS_SINCE
        for each in description.api_ranges
    )


def why_not_served(script: Script, description: BrokerDescription) -> str | None:
    """Return why a broker does not serve a script's requests, or None if it serves all of them."""
    ranges = {item.api_key: item for item in description.api_ranges}
    is_before = not has_consumer_groups(description)
    if is_before and any(isinstance(step, AwaitMetadata) for step in script.steps):
        return f"{description.spec} is of before Kafka 4.0: it has no configurations of groups to wait by"
    if is_before and _CONSUMER_HEARTBEAT in ranges and OF_CONSUMER_GROUPS.intersection(script.apis):
        return f"{description.spec} serves an early form of consumer groups, of before Kafka 4.0"
    for api, version in script.api_versions:
        served = ranges.get(api_key(api))
        if served is None:
            return f"{description.spec} does not serve {api}"
        if not served.min_version <= version <= served.max_version:
            return (
                f"{description.spec} serves {api} v{served.min_version} to v{served.max_version}, "
                f"not v{version}"
            )
        if not has_version(api, version):
            return f"the codec (kio) does not know {api} v{version}"
    return None


def _why_no_topic(script: Script, description: BrokerDescription) -> str | None:
    """Return which topic of a script a broker does not have as the script expects it, or None."""
    if not (description.lacking_topics or description.larger_topics):
        return None
    for step in script.steps:
        if isinstance(step, Send | Repeat):
            named = topics_in(step.fields)  # type: ignore[arg-type] # references name no topic
            for name in sorted(named & description.lacking_topics.keys()):
                return f"needs the topic {name}: {description.lacking_topics[name]}"
            for name in sorted(named & description.larger_topics.keys()):
                if step.api not in _BY_PARTITION or _greatest(step.fields) >= CONFORMANCE_TOPICS[name]:
                    return f"needs the topic {name} itself, not {description.larger_topics[name]}"
    return None


def _greatest(value: Value) -> int:
    """Return the greatest number of a partition in a request; -1 if it has none."""
    match value:
        case Mapping():
            own = [each for name, each in value.items() if name in _PARTITIONS]
            numbers = [each for one in own for each in (one if isinstance(one, Sequence) else (one,))]
            return max(
                (
                    *(each for each in numbers if isinstance(each, int)),
                    *map(_greatest, value.values()),
                ),
                default=-1,
            )
        case Sequence() if not isinstance(value, str | bytes):
            return max(map(_greatest, value), default=-1)
        case _:
            return -1


def _configured_restart(script: Script, description: BrokerDescription) -> str | None:
    """Return why a script cannot restart an external broker as it wants to."""
    for step in script.steps:
        if isinstance(step, DoToBroker) and step.broker_config:
            return f"a restart of {description.spec} cannot set {', '.join(sorted(step.broker_config))}"
    return None


def _other_config(script: Script, description: BrokerDescription) -> str | None:
    for name, value in script.broker_config.items():
        actual = description.broker_config.get(name)
        if actual != value:
            reported = "unknown" if actual is None else actual
            hint = f", which is assumed; {states_another(name)}" if name in description.assumed else ""
            return f"needs {name}={value}; on {description.spec} it is {reported}{hint}"
    return None


_LEARNT: Final = -1
"""A placeholder for a number that the script will learn from an answer."""
_NO_ID: Final = "00000000-0000-0000-0000-000000000000"
"""A placeholder for the id of a topic."""
_LOWER: Final = -2
"""A placeholder for a number below one that was learnt; as an id it is nobody's."""
_HIGHER: Final = (1 << 15) - 1
"""A placeholder for a number above one that was learnt; as an id it may be anybody's."""


def why_not_harmless(script: Script, run_namespace: RunNamespace) -> str | None:
    """Return what a script would touch that does not belong to the run, or None."""
    try:
        for step in script.steps:
            if isinstance(step, Send | Repeat):
                fields = {
                    name: _stood_in(value, run_namespace.namespace) for name, value in step.fields.items()
                }
                run_namespace.guard.refuse_request(
                    step.api, step.api_version, run_namespace.topics.outgoing(fields)
                )
            elif isinstance(step, SendBytes):
                run_namespace.guard.refuse_frame(step.payload)
    except NotOurs as refused:
        return str(refused)
    return None


def _stood_in(value: Value, namespace: Namespace) -> FieldValue:
    """Replace each reference by a placeholder of the same kind."""
    match value:
        case GroupRef(name):
            return f"{namespace.prefix}{name}"
        case TopicId():
            return _NO_ID
        case Ref() | AnswerRef():
            return _LEARNT
        case Plus():
            return _HIGHER if value.addend > 0 else _LOWER
        case Mapping():
            return {name: _stood_in(item, namespace) for name, item in value.items()}
        case ProducedBatch():
            return b""
        case Sequence() if not isinstance(value, str | bytes):
            return [_stood_in(item, namespace) for item in value]
        case _:
            return value
