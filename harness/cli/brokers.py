"""The option for properties of a run's brokers, and a summary of how many brokers the run needed."""

import typer
from rich.console import Console

from harness.trace.files import RunFolder

BROKER_PROPERTY = typer.Option(
    "--broker-property",
    help="A property for every broker that is started, e.g. `group.max.size=2`; may be repeated. "
    "A scenario's own properties come first.",
)


def print_brokers(folder: RunFolder, console: Console) -> None:
    """Print how many brokers each target needed, where scenarios with other properties shared some."""
    for target, reported in folder.read_brokers().items():
        if len(reported.brokers) == reported.unpacked:
            continue
        line = f"{target}  brokers: {len(reported.brokers)} instead of {reported.unpacked}"
        console.print(line, highlight=False)
