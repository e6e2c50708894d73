"""The packages that a basic installation lacks, and messages on how to install them."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "spark": ("pyarrow", "pyspark"),
    "clients": ("confluent_kafka", "kafka"),
    "containers": ("docker", "requests", "testcontainers"),
    "bench": ("duckdb",),
    "captures": ("dpkt",),
}
"""Imported packages, by the extra that installs them."""


def why_without(extra: str) -> str | None:
    """Return which package of an extra is not installed, with the remedy; None if all are."""
    lacking = [package for package in EXTRAS[extra] if find_spec(package) is None]
    return _remedy(lacking[0], extra) if lacking else None


def remedy_for(error: ImportError) -> str | None:
    """Return which extra has the package that could not be imported; None if none has."""
    package = (error.name or "").partition(".")[0]
    found = (extra for extra, packages in EXTRAS.items() if package in packages)
    extra = next(found, None)
    return None if extra is None else _remedy(package, extra)


def _remedy(package: str, extra: str) -> str:
    return f"{package} is not installed: pip install 'kafka-conformance[{extra}]'"
