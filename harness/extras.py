"""What a basic installation leaves out, and the words that tell you how to have it."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "spark": ("pyarrow", "pyspark"),
    "clients": ("confluent_kafka", "kafka"),
    "containers": ("docker", "requests", "testcontainers"),
    "allure": ("allure_commons",),
    "bench": ("duckdb",),
    "captures": ("dpkt",),
}
"""Packages that are imported, by the extra of ours that installs them."""


def why_without(extra: str) -> str | None:
    """Say what of an extra is not installed, with the remedy; None where all of it is."""
    lacking = [package for package in EXTRAS[extra] if find_spec(package) is None]
    return _remedy(lacking[0], extra) if lacking else None


def remedy_for(error: ImportError) -> str | None:
    """Say which extra has what could not be imported; None where none has."""
    package = (error.name or "").partition(".")[0]
    found = (extra for extra, packages in EXTRAS.items() if package in packages)
    extra = next(found, None)
    return None if extra is None else _remedy(package, extra)


def _remedy(package: str, extra: str) -> str:
    return f"{package} is not installed: pip install 'kafka-conformance[{extra}]'"
