"""Tests that need a Docker engine: not run without one, unless whoever runs them insists."""

import asyncio
from collections.abc import Callable

import pytest

from harness.targets.base.interface import TargetError
from harness.targets.containers.engine import engine
from harness.targets.containers.image import find_image, parse_image
from harness.targets.jars.resolved import kafka_jars
from harness.tests.images.kafka import build_image
from harness.tests.skipped import skip_without


@pytest.fixture(name="needs_docker", scope="session")
def _needs_docker() -> None:
    try:
        with engine():
            return
    except TargetError as error:
        skip_without("docker", str(error))


@pytest.fixture(name="image_of", scope="session")
def _image_of(needs_docker: None) -> Callable[[str], str]:
    """Give the spec of a Kafka version in a container, with an image that is there: a registry's, or ours."""
    ready: set[str] = set()

    def image_of(version: str) -> str:
        spec = f"apache/kafka:{version}"
        if version not in ready:
            try:
                find_image(parse_image(spec), lambda _: None)
            except TargetError:
                _build(version)
            ready.add(version)
        return f"container:{spec}"

    return image_of


def _build(version: str) -> None:
    try:
        build_image(asyncio.run(kafka_jars(version, lambda _: None)), lambda _: None)
    except TargetError as error:
        skip_without("docker", str(error))
