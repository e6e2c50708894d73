"""`--answer-mib`, `--trace-mib`, `--page-mib`: limits on the data of a target that is read and shown."""

from collections.abc import Callable

import typer

from harness.targets.base.limits import ANSWER_BYTES, MIB, PAGE_BYTES, TRACE_BYTES, ByteLimit


def _setting(limit: ByteLimit) -> Callable[[float | None], float | None]:
    def set_it(mebibytes: float | None) -> float | None:
        if mebibytes is not None:
            limit.set(mebibytes)
        return mebibytes

    return set_it


def _help(limit: ByteLimit) -> str:
    return (
        f"The most MiB of {limit.what} ({limit.default // MIB} by default); a target that sends more is lost."
    )


ANSWER_MIB = typer.Option(
    ANSWER_BYTES.option, min=0.001, help=_help(ANSWER_BYTES), callback=_setting(ANSWER_BYTES)
)
TRACE_MIB = typer.Option(
    TRACE_BYTES.option, min=0.001, help=_help(TRACE_BYTES), callback=_setting(TRACE_BYTES)
)
PAGE_MIB = typer.Option(
    PAGE_BYTES.option,
    min=0.001,
    help=f"The most MiB of {PAGE_BYTES.what} of the report, {PAGE_BYTES.default // MIB} if not given; "
    "the report leaves out the rest.",
    callback=_setting(PAGE_BYTES),
)
