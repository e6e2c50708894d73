"""`--maven-mirror`: where Kafka's jars come from, for every command that starts a Kafka."""

import os

import typer

from harness.targets.base.interface import TargetError
from harness.targets.jars.ivy import MIRROR_VARIABLE, mirror_url


def name_mirror(url: str | None) -> str | None:
    """Have jars come from a mirror from now on, in processes that are started too."""
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
