"""Every setting that the reference follows is read from a broker of others, or there is a reason not to."""

import re
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.targets.kafka.properties import matters_to_a_coordinator
from reference_coordinator.profile.config import GroupCoordinatorConfig

ROOT: Final = Path(__file__).parents[3]
NOT_READ: Final = MappingProxyType(
    {
        "allow.everyone.if.no.acl.found": "the run's principal has its rights, which are found by trying",
        "authorizer.class.name": "likewise: the reference would refuse what the broker's ACLs allow",
        "super.users": "likewise, and names are nobody's business",
        "group.version": "a feature: brokers report it in ApiVersions, and as no property",
        "share.version": "likewise",
        "streams.version": "likewise",
        "log.cleaner.backoff.ms": "no script waits for the cleaner of a broker of others",
        "log.retention.bytes": "no script fills a log of others",
        "log.retention.check.interval.ms": "likewise",
        "log.segment.bytes": "likewise",
        "min.insync.replicas": "the reference has one replica, and a broker of others as many as it wants",
        "socket.request.max.bytes": "a guard sends no request of that size to a broker of others",
    }
)
"""The settings that the reference follows for its own brokers only."""
DEFAULTS: Final = re.compile(r"default of `([a-z][a-z.]+)`")


def test_every_setting_of_the_reference_is_read_from_a_broker_or_named_here() -> None:
    read = {name for name in GroupCoordinatorConfig.property_names() if matters_to_a_coordinator(name)}

    assert set(GroupCoordinatorConfig.property_names()) - read == {
        name for name in NOT_READ if not matters_to_a_coordinator(name)
    }
    assert read.isdisjoint(name for name in NOT_READ if not name.endswith(".version"))


def test_no_number_stands_for_a_setting_that_the_reference_does_not_follow() -> None:
    """A constant that stands for a default would make any broker with another value look wrong."""
    files = [path for path in (ROOT / "reference_coordinator").rglob("*.py") if "tests" not in path.parts]
    named = {name for path in files for name in DEFAULTS.findall(path.read_text(encoding="utf-8"))}

    assert named <= set(GroupCoordinatorConfig.property_names())
