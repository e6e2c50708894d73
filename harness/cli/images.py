"""`images`: manage broker images built on this machine, and clean up what killed runs left in the engine."""

import asyncio
import time
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.status import Status
from rich.table import Table

from harness.cli.errors import ends_with_exit_code
from harness.images.kafka import build_image, built_images, remove_built_images
from harness.results.exit_code import ExitCode
from harness.targets.base.interface import Lasting
from harness.targets.containers.engine import engine_description, remove_leftovers
from harness.targets.jars.resolved import kafka_jars

images = typer.Typer(
    help="Build images of Kafka where no registry is reached; use them as `container:apache/kafka:VERSION`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
_BASE: Final = typer.Option(help="An image with Java and bash to build on, instead of a Debian made here.")


@images.command("build")
@ends_with_exit_code
def build(
    versions: Annotated[
        list[str], typer.Argument(help="Kafka versions, e.g. `3.9.2 4.3.1`, or `latest`.", metavar="VERSION…")
    ],
    *,
    base: Annotated[str | None, _BASE] = None,
) -> ExitCode:
    """Build images that are configured as `apache/kafka` is.

    Root makes their base once, with debootstrap. The jars come from the cache of `kafka:VERSION`.
    """
    console = Console()
    engine_description()  # before jars are fetched
    for version in versions:
        began_s = time.monotonic()
        with console.status(version) as status:

            def tell(text: str, *, version: str = version, status: Status = status) -> None:
                status.update(f"{version}: {text}")
                if isinstance(text, Lasting):
                    console.print(text, markup=False, highlight=False, soft_wrap=True)

            jars = asyncio.run(kafka_jars(version, tell))
            image = build_image(jars, tell, base=base)
        how = "is up to date" if image.was_there else f"built in {time.monotonic() - began_s:.1f} s"
        console.print(f"{image.name}  {how}  [dim]{image.digest}[/]", highlight=False, soft_wrap=True)
    return ExitCode.EXPECTED


@images.command("list")
@ends_with_exit_code
def list_images() -> ExitCode:
    """List the images of Kafka that were built here."""
    found = built_images()
    if not found:
        typer.echo("no image was built here yet; `kafka-conformance images build VERSION…` builds some")
        return ExitCode.EXPECTED
    table = Table(box=None, pad_edge=False)
    for title in ("image", "used by", "built", "size", "digest"):
        table.add_column(title, overflow="fold")
    for image in found:
        size = f"{image.size_bytes / 1e6:.0f} MB"
        spec = f"container:apache/kafka:{image.version}"
        table.add_row(image.name, spec, image.created[:19], size, image.digest.removeprefix("sha256:")[:12])
    Console().print(table)
    return ExitCode.EXPECTED


@images.command("prune")
@ends_with_exit_code
def prune(
    *,
    built: Annotated[
        bool, typer.Option("--built", help="Also remove the images that were built here.")
    ] = False,
) -> ExitCode:
    """Remove containers and networks that killed runs have left on this machine."""
    removed = (*remove_leftovers(), *(remove_built_images() if built else ()))
    for what in removed:
        typer.echo(f"removed {what}")
    if not removed:
        typer.echo("nothing was left")
    return ExitCode.EXPECTED
