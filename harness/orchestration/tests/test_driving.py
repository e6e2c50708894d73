"""Several targets driven in one run, with what each is compared with."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from harness.orchestration.driving import DriveReport, RunDrive
from harness.runner.drive import Limits
from harness.targets.base.interface import Broker, Connection, Role, Target, TargetError
from harness.targets.reference.session import ReferenceSession
from harness.targets.reference.target import ReferenceTarget
from harness.tests.completed_runs import Quiet, plan_of
from harness.trace.events import Event, EventKind
from harness.trace.files import RunFolder, read_events

SUITE = "classic/heartbeat"


class Disguised(ReferenceTarget):
    """The reference under another name, so that it is compared with the reference like any broker."""

    def __init__(self, name: str, profile: str, *, reported: str | None = None) -> None:
        super().__init__(profile)
        self._disguise = name
        self._reported = reported or profile

    @property
    @override
    def spec(self) -> str:
        return f"disguised:{self._disguise}"

    @property
    @override
    def name(self) -> str:
        return self._disguise

    @override
    async def start(self, **asked: Any) -> Broker:
        broker = await super().start(**asked)
        broker._description = replace(broker.description, profile=self._reported)  # type: ignore[attr-defined] # of the reference's broker
        return broker


class Missing(Disguised):
    """A target that cannot be had."""

    @override
    async def start(self, **_: object) -> Broker:
        raise TargetError("no jar was found\nthe whole log")


def driven(
    directory: Path, *targets: Target | str, watcher: Quiet | None = None, jobs: int = 64
) -> tuple[DriveReport, RunFolder]:
    plan = plan_of(directory, targets, SUITE, limits=Limits(jobs=jobs))
    folder = RunFolder.create(directory, plan.run_id)
    drive = RunDrive(plan=plan, folder=folder, watcher=watcher or Quiet())

    async def drive_it() -> DriveReport:
        task = asyncio.create_task(drive.run())
        if isinstance(watcher, Impatient):
            watcher.task = task
        return await task

    return asyncio.run(drive_it()), folder


def events_of(folder: RunFolder, target: str) -> tuple[Event, ...]:
    return read_events(folder.events(target))


@pytest.mark.slow
def test_each_target_is_compared_with_the_reference_of_its_profile(tmp_path: Path) -> None:
    report, folder = driven(tmp_path, Disguised("old", "2.6.0"), Disguised("new", "4.3.1"))
    assert report.ended == "complete"
    assert folder.targets() == ("new", "old", "reference-2.6.0", "reference-4.3.1")
    assert {header.oracle for header in folder.read_headers("old")} == {"reference-2.6.0"}
    assert {header.oracle for header in folder.read_headers("new")} == {"reference-4.3.1"}
    assert folder.read_headers("reference-2.6.0")[0].oracle is None


def test_a_reference_that_was_asked_for_and_is_the_same_is_not_driven_again(tmp_path: Path) -> None:
    _, folder = driven(tmp_path, "reference:4.4", Disguised("new", "4.4.0"), Disguised("newer", "4.4.0"))
    assert folder.targets() == ("new", "newer", "reference-4.4")
    assert folder.read_headers("newer")[0].oracle == "reference-4.4"


def test_a_target_that_cannot_be_had_is_on_record_and_does_not_stop_the_others(tmp_path: Path) -> None:
    report, folder = driven(tmp_path, Missing("gone", "4.4"), Disguised("there", "4.4"))
    assert report.ended == "target lost: gone: no jar was found"
    lost = events_of(folder, "gone")
    assert {(event.kind, event.note) for event in lost} == {
        (EventKind.ABANDONED, "target lost: no jar was found")
    }
    there = {event.scenario_id for event in events_of(folder, "there")}
    assert there == {event.scenario_id for event in lost}
    (header,) = folder.read_headers("gone")
    assert header.notes == ("no jar was found\nthe whole log",)
    assert header.oracle is None


def test_a_target_of_a_profile_that_nobody_knows_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    report, folder = driven(tmp_path, Disguised("odd", "4.4", reported="0.9"))
    assert report.ended.startswith("target lost: odd: nothing to compare it with: ")
    assert folder.targets() == ("odd",)
    assert any(event.kind == EventKind.RESPONSE for event in events_of(folder, "odd"))


class Impatient(Quiet):
    """Asks a run to stop as soon as a scenario has come to its end."""

    task: asyncio.Task[DriveReport]

    @override
    def scenario_ended(self, target: str, scenario_id: str) -> None:
        self.task.cancel()


def test_a_run_that_is_asked_to_stop_tells_of_every_scenario_what_became_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = ReferenceSession.connect

    async def connect_slowly(
        session: ReferenceSession, role: Role = Role.COORDINATOR, *, principal: str | None = None
    ) -> Connection:
        for _ in range(100):
            await asyncio.sleep(0)
        return await connect(session, role)

    monkeypatch.setattr(ReferenceSession, "connect", connect_slowly)
    report, folder = driven(tmp_path, Disguised("slow", "4.4"), watcher=Impatient(), jobs=1)
    assert report.ended == "interrupted"
    assert folder.targets() == ("slow",)
    last = {event.scenario_id: event for event in events_of(folder, "slow")}
    assert last.keys() == plan_of(tmp_path, ["reference"], SUITE).scripts.keys()
    interrupted = [event for event in last.values() if event.kind == EventKind.ABANDONED]
    assert len(interrupted) == len(last) - 1
    assert {event.note for event in interrupted} == {"interrupted"}


def test_the_header_says_what_was_driven(tmp_path: Path) -> None:
    _, folder = driven(tmp_path, "reference:3.9")
    headers = folder.read_headers("reference-3.9")
    assert {header.profile for header in headers} == {"3.9"}
    assert all('"group.min.session.timeout.ms": "100"' in header.broker_config for header in headers)
    assert all('"Heartbeat": [0, 4]' in header.api_ranges for header in headers)
