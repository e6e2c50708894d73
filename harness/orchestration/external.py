"""What a run will do to external brokers, reported before the first request to them."""

from collections import Counter
from collections.abc import Iterator, Mapping

from harness.runner.applicable import why_not_harmless
from harness.runner.placing import group_names
from harness.scenario.script import Script
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.interface import Capability, Target
from harness.targets.base.layout import Endpoint, Layout
from harness.targets.external.guard import Guard
from harness.targets.external.namespace import MARK, Namespace, TopicNames
from harness.targets.external.run_namespace import RunNamespace
from harness.targets.external.target import ExternalTarget


def announcement(target: Target, *, topics: str | None = None) -> str:
    """Return a line that says what a run creates on an external broker, and what becomes of it.

    By default it creates the topics of scenarios that nothing stands in for.
    """
    existing = _existing(target)
    made = topics or f"{len(CONFORMANCE_TOPICS) - len(existing)} topics"
    read = f", reads {', '.join(existing.values())}" if existing else ""
    return (
        f"{target.spec} is an external broker: the run makes groups, {made} and "
        f"transactional ids, all called {MARK}…{read}, touches nothing else, and deletes them at the end "
        "(Kafka itself forgets transactional ids); --dry-run lists it"
    )


def _existing(target: Target) -> Mapping[str, str]:
    return target.stated.topics if isinstance(target, ExternalTarget) else {}


def tap_announcement(target: Target) -> str:
    """Return a line that says what a tap creates on an external broker, and what passes through it."""
    return (
        f"{target.spec} is an external broker: the tap makes {len(CONFORMANCE_TOPICS)} topics called {MARK}… "
        "and deletes them at the end; your clients' requests pass unchanged; "
        "--dry-run lists it"
    )


def outline(run_id: str, existing: Mapping[str, str] | None = None) -> Iterator[str]:
    """List the prefix of the names that a run creates, and its topics."""
    namespace = Namespace.new(run_id, existing=existing)
    yield f"prefix: {namespace.prefix} (time and random part are new in each run)"
    for name, count in CONFORMANCE_TOPICS.items():
        real = namespace.topic(name)
        is_made = namespace.owns(real)
        yield (
            f"topic: {real}, {count} partitions" if is_made else f"topic: {real}, which is there, for {name}"
        )


def dry_run(target: Target, scripts: Mapping[str, Script], *, run_id: str) -> Iterator[str]:
    """List what a run would do to a target, as far as that is known without a request to it."""
    existing = _existing(target)
    namespace = Namespace.new(run_id, existing=existing)
    run_namespace = RunNamespace(
        namespace=namespace,
        guard=Guard(namespace=namespace),
        layout=Layout(nodes={-1: Endpoint(node_id=-1, host="", port=0)}),
        topics=TopicNames(namespace, tuple(CONFORMANCE_TOPICS)),
    )
    refused = {
        script.id: why for script in scripts.values() if (why := _why_not(script, target, run_namespace))
    }
    carried_out = [script for script in scripts.values() if script.id not in refused]
    yield announcement(target)
    yield from outline(run_id, existing)
    names = sum(len(group_names(script)) for script in carried_out)
    yield f"scenarios: at most {len(carried_out)} of {len(scripts)}"
    yield f"groups and transactional ids: {names}"
    requests = Counter(api for script in carried_out for api in script.apis)
    for api, count in sorted(requests.items()):
        yield f"request: {api}, by {count} scenarios"
    for reason, count in sorted(Counter(refused.values()).items()):
        yield f"not applicable: {count} scenarios: {reason}"


def _why_not(script: Script, target: Target, run_namespace: RunNamespace) -> str | None:
    lacking = [name for name in script.needs if Capability(name) not in target.capabilities]
    if lacking:
        return f"an external broker lacks the capability {', '.join(lacking)}"
    return why_not_harmless(script, run_namespace)
