"""`--jar-lock`: the file for SHA-512 hashes of Kafka versions that this package has no lock for."""

import os

import typer

from harness.targets.jars.locks import LOCK_VARIABLE


def name_lock(file: str | None) -> str | None:
    """Record hashes in a file from now on, also in processes that are started."""
    if file is not None:
        os.environ[LOCK_VARIABLE] = file
    return file


JAR_LOCK = typer.Option(
    metavar="FILE",
    help="Records the SHA-512 of the jars of Kafka versions that are newer than this package, so that you "
    f"can keep it under version control; by default it lies in the cache. {LOCK_VARIABLE} names one too.",
    show_default=False,
    callback=name_lock,
    is_eager=True,
)
