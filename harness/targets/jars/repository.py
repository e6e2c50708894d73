"""The Maven repository that Kafka's jars come from: Maven Central, or the mirror that the user names."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from harness.targets.base.interface import TargetError
from harness.targets.secured.variables import MIRROR_VARIABLE, environment_with_secrets

_REMOTE: Final = frozenset({"http", "https"})


class MissingError(TargetError):
    """The repository does not have a file."""


class UnreachableError(TargetError):
    """The repository does not answer, or not to its end."""


def mirror_url(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the user's mirror of Maven Central, or None if there is none.

    Raises:
        TargetError: the configured value is not the address of a repository.
    """
    environment = environment_with_secrets() if environment is None else environment
    named = environment.get(MIRROR_VARIABLE, "").strip()
    if not named:
        return None
    try:
        url = urlsplit(named)
        is_usable = url.scheme == "file" or (url.scheme in _REMOTE and bool(url.hostname))
    except ValueError:
        is_usable = False
    if not is_usable:
        shown = named.rpartition("@")[2]  # what stands before it may be a password
        raise TargetError(
            f"{shown!r} is not a mirror of Maven Central: --maven-mirror (or {MIRROR_VARIABLE}) takes the "
            "address of a Maven repository, which begins with https://, http:// or file://"
        )
    return named


def repository_url() -> str:
    """Return the address of the repository, without a slash at its end.

    Raises:
        TargetError: the configured mirror is not the address of a repository.
    """
    from jgo.constants import MAVEN_CENTRAL_URL  # noqa: PLC0415 - slow to import, and seldom needed

    return (mirror_url() or MAVEN_CENTRAL_URL).rstrip("/")


def repository_name() -> str:
    """Return the name of the repository for messages."""
    mirror = mirror_url()
    if mirror is None:
        return "Maven Central"
    # The mirror's address may contain a password.
    return f"the mirror at {urlsplit(mirror).hostname or urlsplit(mirror).path}"
