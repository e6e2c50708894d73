"""Parses target specs, as users write them, into targets."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.suggestions import close_to
from harness.targets.base.interface import Target, TargetError
from harness.targets.external.stated import Stated
from harness.targets.external.target import EXTERNAL_TIMEOUT_MS, ExternalTarget
from harness.targets.jars.repository import PUBLISHED, TABLE_DATE, newest_patch
from harness.targets.jars.resolved import LATEST, release_of
from harness.targets.kafka.local import START_TIMEOUT_MS
from harness.targets.kafka.path import PathTarget
from harness.targets.kafka.released import JAVA_BY_CHOICE, JAVA_SUFFIX, KafkaTarget
from harness.targets.librdkafka.mock import INFLEXIBLE_SUFFIX, SPEC, LibrdkafkaMockTarget
from harness.targets.reference.target import ReferenceTarget
from harness.targets.reference.tcp import ReferenceTcpTarget
from harness.targets.secured.properties import configured_security

SPEC_FORMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "reference[:PROFILE]": "the reference coordinator in process, in virtual time",
        "reference-tcp[:PROFILE][*N]": "the reference coordinator's server, in real time, or a cluster of N",
        "kafka:VERSION[+java][*N]": "Apache Kafka in a local JVM, e.g. kafka:3.9.2, kafka:3.9 for its newest "
        "patch, or kafka:latest; "
        "kafka:3.9.2+java has the Java coordinator, which is a choice from 3.7 to 3.9; "
        "kafka:4.3.1*3 is a cluster of three",
        "path:DIR": "a local JVM from a directory of jars, a distribution or a working tree",
        "container:IMAGE[*N]": "a broker or a cluster of N in containers, e.g. container:apache/kafka:4.3.1, "
        "container:confluentinc/cp-kafka:8.1.0 or container:redpandadata/redpanda:v25.2.1",
        "external:HOST:PORT": "a broker that runs already",
        "librdkafka-mock[+inflexible]": "the mock cluster of the librdkafka that confluent-kafka brings; "
        "+inflexible speaks to it in versions that it can read",
    }
)
"""Every kind of target: the form of its spec, and a description."""
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
_RELEASE: Final = re.compile(r"\d+\.\d+")
_ADDRESS: Final = re.compile(r"(?:\[(?P<ipv6>[^\]]+)\]|(?P<host>[^:\s]+)):(?P<port>\d{1,5})")
_PORT_MAX: Final = 65535
_NODE_COUNT_MAX: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    profile: str | None
    start_timeout_ms: float | None
    stated: Stated


def parse_target(
    spec: str,
    *,
    profile: str | None = None,
    start_timeout_ms: float | None = None,
    stated: Stated | None = None,
) -> Target:
    """Return the target that a spec names.

    Args:
        spec: one of `SPEC_FORMS`.
        profile: the reference's profile to compare the target with; by default a version's own, or a
            guess for a broker that does not report its version.
        start_timeout_ms: how long a broker may take to get ready; by default the time for its kind.
        stated: what is stated about a broker that runs already.

    Raises:
        TargetError: the spec names no target; the message lists the valid forms.
        CommandConfigError: the security settings for external brokers are wrong.
    """
    kind, separator, rest = spec.partition(":")
    if not separator:
        # A spec without a colon may still have a count: reference-tcp*3.
        kind, star, count = spec.partition("*")
        rest = f"{star}{count}"
    parse = _PARSERS.get(kind)
    if parse is None:
        raise TargetError(f"{spec!r} is not a target; {_meant(spec, kind)}choose from {_forms()}")
    if separator and not rest:
        raise TargetError(f"{spec!r} ends where something is missing; there is {_forms()}")
    options = _Options(profile=profile, start_timeout_ms=start_timeout_ms, stated=stated or Stated())
    return parse(spec, rest, options)


def _meant(spec: str, kind: str) -> str:
    """Return a hint for a spec of an unknown kind, or an empty string if there is none."""
    is_version = _VERSION.fullmatch(spec) is not None
    hint = f"write kafka:{spec}" if is_version else close_to(kind.lower(), _PARSERS, otherwise="")
    return f"{hint}; " if hint else ""


def _forms() -> str:
    return ", ".join(SPEC_FORMS)


def _reference(spec: str, rest: str, options: _Options) -> Target:
    _refuse_two_profiles(spec, rest, options)
    return ReferenceTarget(rest or options.profile, profile_in_spec=bool(rest))


def _reference_tcp(spec: str, rest: str, options: _Options) -> Target:
    profile, node_count = _counted(spec, rest)
    _refuse_two_profiles(spec, profile, options)
    return ReferenceTcpTarget(
        profile or options.profile, profile_in_spec=bool(profile), node_count=node_count
    )


def _refuse_two_profiles(spec: str, rest: str, options: _Options) -> None:
    if rest and options.profile not in (None, rest):
        raise TargetError(f"{spec!r} names a profile, and so does --profile {options.profile}: say one")


def _kafka(spec: str, rest: str, options: _Options) -> Target:
    named, node_count = _counted(spec, rest)
    version, java = named.removesuffix(JAVA_SUFFIX), named.endswith(JAVA_SUFFIX)
    if _RELEASE.fullmatch(version):
        version = newest_patch(release_of(version)) or version
    has_choice = _VERSION.fullmatch(version) and JAVA_BY_CHOICE[0] <= release_of(version) <= JAVA_BY_CHOICE[1]
    if java and not has_choice:
        raise TargetError(
            f"{spec!r}: only 3.7 to 3.9 have a choice of coordinators; write for instance kafka:3.9.2+java, "
            f"or kafka:{version} for the one that it has"
        )
    if version != LATEST and _VERSION.fullmatch(version) is None:
        meant = close_to(
            version, PUBLISHED, otherwise="write for instance kafka:3.9.2 or kafka:latest", cutoff=0.5
        )
        raise TargetError(f"{spec!r}: {rest!r} is not a version that was known on {TABLE_DATE}; {meant}")
    return KafkaTarget(
        version,
        profile=options.profile,
        start_timeout_ms=options.start_timeout_ms or START_TIMEOUT_MS,
        java_coordinator=java,
        node_count=node_count,
    )


def _path(spec: str, rest: str, options: _Options) -> Target:
    directory = Path(rest).expanduser()
    if not directory.is_dir():
        raise TargetError(f"{spec!r}: there is no directory {rest!r}")
    return PathTarget(
        directory, profile=options.profile, start_timeout_ms=options.start_timeout_ms or START_TIMEOUT_MS
    )


def _container(spec: str, rest: str, options: _Options) -> Target:
    # Docker's client is only imported for container targets, since that takes time.
    from harness.targets.containers.image import parse_image  # noqa: PLC0415 - see above
    from harness.targets.containers.target import (  # noqa: PLC0415 - likewise
        CONTAINER_START_TIMEOUT_MS,
        ContainerTarget,
    )

    name, node_count = _counted(spec, rest)
    try:
        return ContainerTarget(
            parse_image(name),
            profile=options.profile,
            start_timeout_ms=options.start_timeout_ms or CONTAINER_START_TIMEOUT_MS,
            node_count=node_count,
        )
    except TargetError as error:
        raise TargetError(f"{spec!r}: {error}") from error


def _counted(spec: str, rest: str) -> tuple[str, int]:
    """Split the number of brokers off a spec; it is 1 if the spec contains none."""
    name, star, count = rest.partition("*")
    if not star:
        return rest, 1
    if not count.isdecimal() or not 1 <= int(count) <= _NODE_COUNT_MAX:
        raise TargetError(
            f"{spec!r}: a cluster has 2 to {_NODE_COUNT_MAX} brokers; write for instance {name}*3"
        )
    return name, int(count)


def _external(spec: str, rest: str, options: _Options) -> Target:
    found = _ADDRESS.fullmatch(rest)
    if found is None or not 0 < int(found["port"]) <= _PORT_MAX:
        raise TargetError(f"{spec!r}: {rest!r} is not an address; write for instance external:127.0.0.1:9092")
    host = found["ipv6"] or found["host"]
    return ExternalTarget(
        host,
        int(found["port"]),
        profile=options.profile,
        timeout_ms=options.start_timeout_ms or EXTERNAL_TIMEOUT_MS,
        security=configured_security(),
        stated=options.stated,
    )


def _librdkafka_mock(spec: str, rest: str, options: _Options) -> Target:
    if rest:
        raise TargetError(f"{spec!r}: there is one librdkafka, the installed one; write {SPEC}")
    return LibrdkafkaMockTarget(
        profile=options.profile,
        start_timeout_ms=options.start_timeout_ms,
        is_inflexible=spec.endswith(INFLEXIBLE_SUFFIX),
    )


_PARSERS: Final[Mapping[str, Callable[[str, str, _Options], Target]]] = MappingProxyType(
    {
        "reference": _reference,
        "reference-tcp": _reference_tcp,
        "kafka": _kafka,
        "path": _path,
        "container": _container,
        "external": _external,
        SPEC: _librdkafka_mock,
        f"{SPEC}{INFLEXIBLE_SUFFIX}": _librdkafka_mock,
    }
)
