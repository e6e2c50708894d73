"""Settings from the environment that are, or may contain, secrets: no child process inherits them.

They leave the environment once any of them is read. This process remembers them, to read them again.
"""

import os
from collections.abc import Mapping
from typing import Final

PROPERTY_PREFIX: Final = "KAFKA_CONFORMANCE_CLIENT_"
"""Prefix of a property's environment variable: `KAFKA_CONFORMANCE_CLIENT_SASL_PASSWORD`."""
MIRROR_VARIABLE: Final = "KAFKA_CONFORMANCE_MAVEN_MIRROR"
"""Environment variable with the address of a mirror of Maven Central, which may contain a password."""
_taken: dict[str, str] = {}


def take_secrets() -> Mapping[str, str]:
    """Take all secrets out of the environment; return them, with those that were taken before."""
    for name in [each for each in os.environ if each.startswith(PROPERTY_PREFIX) or each == MIRROR_VARIABLE]:
        _taken[name] = os.environ.pop(name)
    return dict(_taken)


def environment_with_secrets() -> Mapping[str, str]:
    """Return the environment as this process got it; after this, its children do not get the secrets."""
    return {**take_secrets(), **os.environ}


def forget_secrets() -> None:
    """Forget all secrets that were taken, for tests that share a process."""
    _taken.clear()
