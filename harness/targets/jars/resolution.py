"""Which jars a broker of a version needs, for a version that no lock knows: its POMs say it."""

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from jgo.maven import MavenContext
from requests import RequestException

from harness.targets.jars.download import unreachable
from harness.targets.jars.repository import MissingError, repository_name, repository_url
from harness.targets.runtimes.certificates import trust_system_certificates

_BROKER: Final = "org.apache.kafka:kafka_2.13"
_DISPENSABLE: Final = ("org.apache.kafka", "kafka-tools-api")
"""A module that a broker's POM requires, but that the broker runs without: not every repository has it."""
_LOGGING: Final = "org.slf4j:slf4j-simple:1.7.36"
"""Kafka's jars contain no binding for their logging; this one works for all versions from 2.4 to 4.4."""
_AT_RUN_TIME: Final = frozenset({"compile", "runtime", None})
"""The scopes of what a broker needs; what is asked for has none."""


def broker_paths(version: str, *, poms: Path) -> tuple[str, ...]:
    """Return where the jars of a broker are in a Maven repository.

    Args:
        version: Kafka's version.
        poms: a directory in which the POMs that were read are kept.

    Raises:
        MissingError: the repository lacks a POM, or one is damaged.
        UnreachableError: the repository does not answer.
    """
    trust_system_certificates()
    root = repository_url()
    is_here = root.startswith("file:")
    context = MavenContext(
        repo_cache=poms,
        local_repos=[Path(url2pathname(urlsplit(root).path))] if is_here else [],
        remote_repos={} if is_here else {"repository": root},
    )
    wanted = [context.create_dependency(name) for name in (f"{_BROKER}:{version}", _LOGGING)]
    wanted[0].exclusions = (context.project(*_DISPENSABLE),)
    try:
        given, further = context.resolver.resolve(wanted)
    except RequestException as error:
        raise unreachable(error) from error
    except (RuntimeError, ValueError) as error:
        # What follows names the repository's address, which may contain a password.
        reason = str(error).partition(" in remote repositories")[0]
        raise MissingError(f"{repository_name()}: {reason}") from error
    jars = [each.artifact for each in (*given, *further) if each.scope in _AT_RUN_TIME]
    return tuple(sorted(f"{jar.component.path_prefix.as_posix()}/{jar.filename}" for jar in jars))
