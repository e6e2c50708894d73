"""The options that let a run start an external broker again."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import typer

from harness.orchestration.plan import PlanError
from harness.scenario.script import Script
from harness.targets.base.interface import Capability, Target
from harness.targets.external.restarting import RestartCommand
from harness.targets.external.target import ExternalTarget

RESTART_COMMAND = typer.Option(
    "--restart-command",
    help="A shell command after which the external target's broker runs anew on the same data. With it, a "
    "run goes on after a scenario has ended the broker, and scenarios that restart the broker run.",
)
RESTART_SHARED = typer.Option(
    "--restart-shared", help="Restart the broker even if it has groups that are not the harness's."
)
_SHOWN: Final = 3


def add_restarts(targets: Sequence[Target], command: str | None, *, on: str | None, is_shared: bool) -> None:
    """Give an external target the command that starts its broker again.

    Args:
        targets: the targets of a run.
        command: the command; None if there is none.
        on: the master of the cluster that drives the run; None for this machine.
        is_shared: whether the command was given leave to cut others off.

    Raises:
        PlanError: the command concerns no target, or several, or a cluster would run it.
    """
    if command is None:
        if is_shared:
            raise PlanError("--restart-shared has no effect without --restart-command")
        return
    external = [target for target in targets if isinstance(target, ExternalTarget)]
    if len(external) != 1:
        raise PlanError(
            f"--restart-command restarts one external broker, but {len(external)} targets are external: "
            "name one `--target external:HOST:PORT`"
        )
    if on is not None:
        raise PlanError(f"--on {on}: executors do not run --restart-command; run it without --on")
    external[0].restart_command = RestartCommand(text=command)


def refuse_shared(targets: Sequence[Target]) -> None:
    """Check that brokers that will be restarted have no groups but those of runs.

    Raises:
        PlanError: one has.
        TargetError: one cannot be asked.
    """
    for target in targets:
        if isinstance(target, ExternalTarget) and target.restart_command is not None:
            _refuse(target, asyncio.run(target.groups_of_others(), debug=False))


def _refuse(target: ExternalTarget, groups: Sequence[str]) -> None:
    if groups:
        shown = ", ".join(map(repr, groups[:_SHOWN])) + (", …" if len(groups) > _SHOWN else "")
        raise PlanError(
            f"{target.spec} has groups that are not the harness's ({shown}), and --restart-command would cut "
            "them off: name another broker, or add --restart-shared"
        )


def restart_announcement(scripts: Mapping[str, Script]) -> str:
    """Return a line that says how many scenarios run only because a command restarts the broker."""
    count = sum(script.needs == (Capability.RESTART.value,) for script in scripts.values())
    return (
        f"--restart-command may end and start the broker at any time; {count} of {len(scripts)} scenarios "
        "need nothing but a broker that restarts, and run last, one at a time"
    )
