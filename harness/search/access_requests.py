"""Choose the arguments of requests about configurations and about the rights of principals."""

from collections.abc import Iterator
from random import Random
from typing import Final

from harness.scenario.ask import TRANSACTION
from harness.search.moves import OTHER_GROUP, PRINCIPALS
from harness.search.situation import Arguments, Situation
from harness.search.tool_requests import MAIN, form, of_forms

_TOPIC, _GROUP, _CLUSTER, _TRANSACTIONAL_ID = 2, 3, 4, 5
"""Source: ResourceType."""
_ALL, _READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _CLUSTER_ACTION = range(2, 10)
_DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = range(10, 13)
"""Source: AclOperation."""
_DENY, _ALLOW = 2, 3
"""Source: AclPermissionType."""
_LITERAL, _PREFIXED = 3, 4
"""Source: PatternType."""
_RARELY: Final = 0.12
_THE_CLUSTER: Final = "kafka-cluster"
_RIGHTS: Final = (
    *((_GROUP, MAIN, _READ),) * 5,
    *((_GROUP, MAIN, _DESCRIBE),) * 2,
    (_GROUP, MAIN, _DELETE),
    (_GROUP, MAIN, _ALL),
    (_GROUP, MAIN, _DESCRIBE_CONFIGS),
    (_GROUP, MAIN, _ALTER_CONFIGS),
    (_GROUP, OTHER_GROUP, _READ),
    (_GROUP, "*", _READ),
    *((_TOPIC, "orders", _READ),) * 4,
    *((_TOPIC, "orders", _DESCRIBE),) * 2,
    (_TOPIC, "orders", _WRITE),
    (_TOPIC, "orders", _DELETE),
    (_TOPIC, "orders", _ALTER),
    (_TOPIC, "payments", _DESCRIBE),
    (_TOPIC, "payments", _READ),
    (_TOPIC, "*", _READ),
    (_TOPIC, "*", _CREATE),
    *((_TRANSACTIONAL_ID, TRANSACTION, _WRITE),) * 3,
    (_TRANSACTIONAL_ID, TRANSACTION, _DESCRIBE),
    (_CLUSTER, _THE_CLUSTER, _CREATE),
    (_CLUSTER, _THE_CLUSTER, _DESCRIBE),
    (_CLUSTER, _THE_CLUSTER, _ALTER),
    (_CLUSTER, _THE_CLUSTER, _ALTER_CONFIGS),
    (_CLUSTER, _THE_CLUSTER, _CLUSTER_ACTION),
    (_CLUSTER, _THE_CLUSTER, _IDEMPOTENT_WRITE),
)
"""Rights that a principal may have: a type of resource, a name and an operation."""


def entries(rng: Random, least: int, most: int) -> tuple[Arguments, ...]:
    """Choose some entries for an authorizer; few of them deny something, or are about another host."""
    return tuple(_entry(rng) for _ in range(rng.randint(least, most)))


def _entry(rng: Random) -> Arguments:
    kind, name, operation = rng.choice(_RIGHTS)
    return {
        **_allowed(kind, name, operation, f"User:{rng.choice((*PRINCIPALS * 3, '*'))}"),
        "resource_pattern_type": _PREFIXED if rng.random() < _RARELY else _LITERAL,
        "host": rng.choice((*("*",) * 8, "127.0.0.1", "192.0.2.1")),
        "permission_type": _DENY if rng.random() < _RARELY else _ALLOW,
    }


def readers() -> Iterator[Arguments]:
    """Yield entries with which the principals may be members of the group, and see one of its topics."""
    for kind, name in ((_GROUP, MAIN), (_TOPIC, "orders")):
        for principal in PRINCIPALS:
            yield _allowed(kind, name, _READ, f"User:{principal}")


def _allowed(kind: int, name: object, operation: int, principal: str) -> Arguments:
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": _LITERAL,
        "principal": principal,
        "host": "*",
        "operation": operation,
        "permission_type": _ALLOW,
    }


def _creations(at: Situation) -> Arguments:
    return {"creations": entries(at.rng, 1, 3)}


def _sought(at: Situation) -> Arguments:
    entry = _entry(at.rng)
    return {
        "resource_type_filter": at.rng.choice((1, entry["resource_type"])),
        "resource_name_filter": at.rng.choice((None, entry["resource_name"])),
        "pattern_type_filter": at.rng.choice((1, _LITERAL)),
        "principal_filter": at.rng.choice((None, entry["principal"])),
        "host_filter": at.rng.choice((None, entry["host"])),
        "operation": at.rng.choice((1, entry["operation"])),
        "permission_type": at.rng.choice((1, entry["permission_type"])),
    }


create_acls: Final = of_forms("CreateAcls", _creations)
describe_acls: Final = of_forms("DescribeAcls", _sought)

_OF_TOPIC, _OF_BROKER, _OF_METRICS, _OF_GROUP = 2, 4, 16, 32
"""Source: ConfigResource.Type."""
_SET, _REMOVE, _APPEND, _SUBTRACT = range(4)
"""Source: AlterConfigOp.OpType."""
_GROUP_VALUES: Final = (
    ("consumer.session.timeout.ms", "45000", "50000", "60000", "60001", "10000", "99"),
    ("consumer.heartbeat.interval.ms", "5000", "10000", "15000", "x"),
    ("consumer.assignment.interval.ms", "0", "2000", "15000", "-1"),
    ("share.session.timeout.ms", "45000", "50000", "60000", "10000", "99"),
    ("share.heartbeat.interval.ms", "5000", "10000", "15000"),
    ("share.record.lock.duration.ms", "15000", "20000", "1000", "60000"),
    ("share.delivery.count.limit", "2", "3", "10", "1"),
    ("share.partition.max.record.locks", "100", "200", "4000"),
    ("share.auto.offset.reset", "earliest", "latest", "by_duration:PT1H", "never"),
    ("share.isolation.level", "read_committed", "read_uncommitted", "none"),
    ("share.renew.acknowledge.enable", "false", "true", "no"),
    ("streams.session.timeout.ms", "45000", "50000", "60000", "10000"),
    ("streams.heartbeat.interval.ms", "5000", "10000", "15000"),
    ("streams.num.standby.replicas", "1", "2", "3", "-1"),
    ("streams.num.warmup.replicas", "1", "2", "20"),
    ("streams.initial.rebalance.delay.ms", "0", "2000", "-1"),
    ("streams.assignment.interval.ms", "0", "2000", "15000"),
    ("streams.task.offset.interval.ms", "15000", "1"),
    ("streams.rack.aware.assignment.tags", "zone", "zone,rack", "zone,zone", ""),
    ("streams.acceptable.recovery.lag", "0", "10", "-1"),
    ("streams.assignor.name", "sticky", "other", ""),
    ("errors.deadletterqueue.topic.name", "dlq.made", "dead", "orders", ""),
    ("errors.deadletterqueue.copy.record.enable", "true", "false"),
    ("no.such.config", "1"),
)
"""Configurations of groups, with values of which some are refused."""
_OF_ALL_RELEASES: Final = (
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.heartbeat.interval.ms",
    "share.record.lock.duration.ms",
    "share.auto.offset.reset",
)
_TOPIC_VALUES: Final = (
    ("max.message.bytes", "100", "1000", "-1"),
    ("message.timestamp.type", "LogAppendTime", "CreateTime", "none"),
    ("cleanup.policy", "compact", "delete", "compact,delete"),
    ("retention.ms", "1000", "-1"),
    ("errors.deadletterqueue.group.enable", "true", "false"),
    ("min.insync.replicas", "2", "1"),
    ("no.such.config", "1"),
)
_BROKER_VALUES: Final = (
    ("message.max.bytes", "1000"),
    ("group.consumer.session.timeout.ms", "50000"),
    ("group.share.delivery.count.limit", "2"),
    ("no.such.config", "1"),
)
_NAMES: Final = {_OF_GROUP: _GROUP_VALUES, _OF_TOPIC: _TOPIC_VALUES, _OF_BROKER: _BROKER_VALUES}


_FIRST_NAMES: Final = {
    _OF_GROUP: tuple(each for each in _GROUP_VALUES if each[0] in _OF_ALL_RELEASES),
    _OF_TOPIC: _TOPIC_VALUES[:4],
    _OF_BROKER: _BROKER_VALUES[:1],
}
"""The same, as far as all releases have them that can configure groups."""


def _resource(at: Situation) -> tuple[int, object]:
    kind = at.rng.choice((*(_OF_GROUP,) * 4, *(_OF_TOPIC,) * 3, _OF_BROKER))
    names: dict[int, tuple[object, ...]] = {
        _OF_GROUP: (MAIN, MAIN, MAIN, MAIN, OTHER_GROUP, ""),
        _OF_TOPIC: ("orders", "orders", "payments", "dlq.made", "nowhere"),
        _OF_BROKER: ("1", "", "2"),
    }
    return kind, at.rng.choice(names[kind])


def _altered(at: Situation) -> Arguments:
    kind, name = _resource(at)
    # Between releases, a configuration that one of them lacks would be a difference.
    known = _NAMES[kind] if "DescribeConfigs" in at.versions else _FIRST_NAMES[kind]
    own = [each for each in known if each[0].startswith(at.speaker.group_type.value)]
    chosen = at.rng.choices(own if own and at.chance(0.6) else known, k=at.rng.choice((1, 1, 1, 2)))
    configs = tuple(
        {
            "name": key,
            "config_operation": at.rng.choice((*(_SET,) * 7, _REMOVE, _APPEND, _SUBTRACT)),
            "value": at.rng.choice(values),
        }
        for key, *values in chosen
    )
    return {"resources": ({"resource_type": kind, "resource_name": name, "configs": configs},)}


def _described(at: Situation) -> Arguments:
    kind, name = _resource(at)
    some = at.rng.sample(_NAMES[kind], 2)
    keys = at.rng.choice((None, tuple(each[0] for each in some)))
    return {
        "resources": ({"resource_type": kind, "resource_name": name, "configuration_keys": keys},),
        "include_synonyms": at.chance(0.5),
    }


def _of_metrics(_: Situation) -> Arguments:
    return {"resources": ({"resource_type": _OF_METRICS, "resource_name": "metrics", "configs": ()},)}


incremental_alter_configs: Final = of_forms("IncrementalAlterConfigs", *(_altered,) * 9, _of_metrics)
describe_configs: Final = of_forms(
    "DescribeConfigs",
    *(_described,) * 9,
    form(resources=({"resource_type": _OF_METRICS, "resource_name": "metrics", "configuration_keys": None},)),
)
