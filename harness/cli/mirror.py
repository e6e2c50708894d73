"""`--maven-mirror`: the source of Kafka's jars, for every command that starts a Kafka broker."""

import os

import typer

from harness.targets.base.interface import TargetError
from harness.targets.jars.repository import MIRROR_VARIABLE, mirror_url


def name_mirror(url: str | None) -> str | None:
    """Fetch jars from a mirror from now on, also in processes that are started."""
    if url is not None:
        os.environ[MIRROR_VARIABLE] = url
    try:
        mirror_url()
    except TargetError as error:
        raise typer.BadParameter(str(error)) from error
    return url


MAVEN_MIRROR = typer.Option(
    metavar="URL",
    help=f"A mirror of Maven Central to get Kafka's jars from; {MIRROR_VARIABLE} names one too.",
    show_default=False,
    callback=name_mirror,
    is_eager=True,
)
