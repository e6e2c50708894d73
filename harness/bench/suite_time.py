"""Measurement of how long the whole suite takes with a target."""

import time
from collections.abc import Mapping
from pathlib import Path

from harness.bench.model import SuiteTime
from harness.runner.drive import Drive, DriveSinks, Limits
from harness.runner.watcher import Watcher
from harness.scenario.script import Script
from harness.targets.base.interface import Target, TargetError
from harness.trace.events import Event
from harness.trace.files import EventWriter

_MILLIS_PER_SECOND = 1000


async def time_suite(
    target: Target, scripts: Mapping[str, Script], *, number: int, directory: Path, watcher: Watcher
) -> SuiteTime:
    """Run every scenario once, as a run does, and write the traces into an existing directory.

    Raises:
        TargetError: the target cannot be started, or was lost.
    """
    lasted_ms: dict[str, float] = {}
    began_s = time.monotonic()
    with EventWriter(directory / f"{target.name}.jsonl") as writer:

        def write(event: Event) -> None:
            lasted_ms[event.scenario_id] = max(lasted_ms.get(event.scenario_id, 0.0), event.at_ms)
            writer.write(event)

        drive = Drive(
            run_id=f"bench-{number}",
            target=target,
            target_name=target.name,
            limits=Limits(),
            sinks=DriveSinks(
                write=write, broker_ready=lambda _description, _start_ms: None, logs=directory / "logs"
            ),
            watcher=watcher,
        )
        result = await drive.run(tuple(scripts.values()))
    if result.lost is not None:
        raise TargetError(f"{target.spec} was lost: {result.lost}")
    longest = max(lasted_ms, key=lambda scenario_id: lasted_ms[scenario_id])
    return SuiteTime(
        round=number,
        subject=target.name,
        scenarios=len(scripts),
        drive_s=round(result.drive_ms / _MILLIS_PER_SECOND, 2),
        total_s=round(time.monotonic() - began_s, 2),
        longest_scenario=longest,
        longest_s=round(lasted_ms[longest] / _MILLIS_PER_SECOND, 2),
    )
