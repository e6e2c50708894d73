"""Brokers in containers: started, asked, disturbed, killed, and gone whatever happens to their harness."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import pytest
from testcontainers.core.container import DockerContainer

from harness.diff.model import Judgement
from harness.orchestration.run import orchestrate
from harness.results.status import ExitCode
from harness.runner.drive import Limits
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.interface import (
    Breakpoint,
    BrokerAction,
    BrokerSession,
    TargetError,
)
from harness.targets.containers.engine import OWNER_LABEL, SESSION_LABEL, engine, labels_for, remove_leftovers
from harness.targets.containers.sdk import Container
from harness.targets.containers.target import ContainerBroker
from harness.targets.spec import parse_target
from harness.tests.completed_runs import Quiet, command_line, plan_of
from harness.tests.container_broker import (
    JAVA,
    SCALA,
    ImageOf,
    ask,
    commits,
    fetched,
    names_of,
    still_has,
    with_broker,
)
from harness.tests.patience import awaited, wait_until
from harness.trace.files import RunFolder, read_events, read_records
from harness.verdict import Outcome
from harness.wire.codec import Fields

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("needs_docker")]
pytest_plugins = ["harness.tests.docker_fixture"]

SPINE: Final = (
    "classic/heartbeat",
    "classic/leave",
    "classic/sync",
    "offsets/simple",
    "offsets/fetch",
    "admin/list",
    "admin/delete",
)
"""Some of every part of the spine: those that are quick."""
SPINE_COUNT_MIN: Final = 40
EMPTIED: Final = "failures/too-large/emptied-group"
"""Answered by 4.3.1 as by no later release; no other test runs it there."""


def containers_of(pid: int) -> list[Container]:
    with engine() as client:
        found = client.containers.list(all=True, filters={"label": SESSION_LABEL}, ignore_removed=True)
    return [each for each in found if each.labels[OWNER_LABEL].startswith(f"{pid} ")]


@pytest.mark.parametrize("version", [SCALA, JAVA])
def test_a_started_container_serves_groups_has_the_topics_and_tells_its_image(
    tmp_path: Path, image_of: ImageOf, version: str
) -> None:
    async def play(broker: ContainerBroker, session: BrokerSession) -> None:
        heartbeat: Fields = {"group_id": "g", "generation_id": 0, "member_id": "m"}
        assert (await ask(session, "Heartbeat", 3, heartbeat)).text("error_code") == "UNKNOWN_MEMBER_ID"
        metadata = await ask(session, "Metadata", 7, {"topics": None})
        assert {
            row.text("name"): len(row.rows("partitions"))
            for row in metadata.rows("topics")
            if row.text("name") in CONFORMANCE_TOPICS
        } == dict(CONFORMANCE_TOPICS)
        assert broker.failure() is None

    broker = with_broker(image_of(version), tmp_path, play)

    assert broker.description.profile == version
    assert any(note.startswith("image ") and "sha256:" in note for note in broker.description.notes)
    assert "started" in (tmp_path / "container.log").read_text()
    assert broker.failure() is None


def test_a_broker_is_published_to_this_machine_alone(tmp_path: Path, image_of: ImageOf) -> None:
    async def play(broker: ContainerBroker, session: BrokerSession) -> None:
        (container,) = containers_of(os.getpid())
        settings = cast("Mapping[str, Mapping[str, list[Mapping[str, str]]]]", container.attrs["HostConfig"])
        published = [binding["HostIp"] for each in settings["PortBindings"].values() for binding in each]
        assert published == ["127.0.0.1"]

    with_broker(image_of(SCALA), tmp_path, play)


def test_a_scenarios_configuration_reaches_the_broker(tmp_path: Path, image_of: ImageOf) -> None:
    async def play(broker: ContainerBroker, session: BrokerSession) -> None:
        resource: Fields = {
            "resource_type": 4,
            "resource_name": "1",
            "configuration_keys": ["group.max.size"],
        }
        answer = await ask(session, "DescribeConfigs", 2, {"resources": [resource]})
        (config,) = answer.rows("results")[0].rows("configs")
        assert config.text("value") == "3"

    broker = with_broker(image_of(SCALA), tmp_path, play, broker_config={"group.max.size": "3"})

    assert broker.description.broker_config["group.max.size"] == "3"


def test_a_configuration_that_kafka_refuses_is_reported_and_leaves_nothing(
    tmp_path: Path, image_of: ImageOf
) -> None:
    async def play(broker: ContainerBroker, session: BrokerSession) -> None:
        pytest.fail("it cannot start")

    with pytest.raises(TargetError, match=r"offsets\.topic\.num\.partitions"):
        with_broker(image_of(SCALA), tmp_path, play, broker_config={"offsets.topic.num.partitions": "0"})

    assert names_of(os.getpid()) == []


def test_a_start_that_is_cancelled_leaves_nothing(tmp_path: Path, image_of: ImageOf) -> None:
    async def cancel_in_mid_start() -> None:
        start = asyncio.create_task(
            parse_target(image_of(SCALA)).start(broker_config={}, directory=tmp_path, progress=lambda _: None)
        )
        while not await asyncio.to_thread(containers_of, os.getpid()):
            assert not start.done()
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start

    asyncio.run(cancel_in_mid_start())

    assert names_of(os.getpid()) == []


@pytest.mark.parametrize("version", [pytest.param(SCALA, marks=pytest.mark.release), JAVA])
def test_a_single_broker_is_restarted_reconfigured_paused_and_killed_over_its_log(
    tmp_path: Path, image_of: ImageOf, version: str
) -> None:
    async def play(broker: ContainerBroker, session: BrokerSession) -> None:
        await commits(session, 7)
        for action, config in (
            (BrokerAction.RESTART, {}),
            (BrokerAction.RESTART, {"group.max.size": "3"}),
            (BrokerAction.KILL, {}),
        ):
            await session.carry_out(action, config)
            await still_has(session, 7)
            assert broker.failure() is None
        await session.carry_out(BrokerAction.PAUSE, {})
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(fetched(session), 0.5)
        await session.carry_out(BrokerAction.RESUME, {})
        await still_has(session, 7)

    with_broker(image_of(version), tmp_path, play)

    starts = (tmp_path / "container.log").read_text().count("Kafka version: ")
    assert starts >= 4, "the log has every life of the broker"


@pytest.mark.parametrize("version", [pytest.param(SCALA, marks=pytest.mark.release), JAVA])
def test_loading_is_paused_until_it_resumes(tmp_path: Path, image_of: ImageOf, version: str) -> None:
    async def play(broker: ContainerBroker, session: BrokerSession) -> None:
        await commits(session, 7)
        await session.pause_at(Breakpoint.LOADING)
        await session.carry_out(BrokerAction.RESTART, {})
        for _ in range(3):
            answer = await ask(session, "OffsetFetch", 5, {"group_id": "g", "topics": None})
            assert answer.text("error_code") == "COORDINATOR_LOAD_IN_PROGRESS"
            await session.elapse(200)
        await session.resume_from(Breakpoint.LOADING)
        await still_has(session, 7)

    with_broker(image_of(version), tmp_path, play, breakpoints=[Breakpoint.LOADING])


@pytest.mark.broker
@pytest.mark.parametrize("version", [pytest.param(SCALA, marks=pytest.mark.release), JAVA])
def test_the_spine_is_judged_alike_on_a_jvm_and_in_a_container(
    tmp_path: Path, image_of: ImageOf, version: str
) -> None:
    specs = (f"kafka:{version}", image_of(version))
    judged = judgements_of(specs, tmp_path / "first", *SPINE, EMPTIED)
    different = [id_ for id_, (jvm, container) in judged.items() if jvm != container]
    # A machine that is busy with other things may be late for a deadline once.
    again = judgements_of(specs, tmp_path / "second", *different, jobs=1) if different else {}

    assert {id_: pair for id_, pair in again.items() if pair[0] != pair[1]} == {}
    assert len(judged) >= SPINE_COUNT_MIN
    assert {outcome for outcome, _ in judged[EMPTIED]} <= {Outcome.CONFORMS, Outcome.NOT_APPLICABLE}
    assert sum(jvm[0] == Outcome.CONFORMS for jvm, _ in judged.values()) > len(judged) * 0.8


Judged = tuple[str, str | None]


def judgements_of(
    specs: tuple[str, str], directory: Path, *patterns: str, jobs: int = 64
) -> dict[str, tuple[Judged, Judged]]:
    """Return the outcome and signature of each scenario with either target."""
    run = orchestrate(plan_of(directory, specs, *patterns, limits=Limits(jobs=jobs)), Quiet())
    names = [parse_target(spec).name for spec in specs]

    def judged(name: str) -> dict[str, Judged]:
        own: list[Judgement] = [each for each in run.checked.judgements if each.target == name]
        return {each.scenario_id: (each.outcome, each.signature) for each in own}

    jvm, container = judged(names[0]), judged(names[1])
    assert jvm.keys() == container.keys()
    return {id_: (jvm[id_], container[id_]) for id_ in jvm}


def run_of(image_of: ImageOf) -> tuple[str, ...]:
    """Return a command whose scenarios mostly wait for their turn."""
    target = ("--target", image_of(SCALA))
    return ("run", *target, "--no-report", "--run-id", "run", "--jobs", "2", "classic/heartbeat")


def events_of(folder: RunFolder) -> Path:
    return folder.events(parse_target(f"container:apache/kafka:{SCALA}").name)


def wait_for_events(folder: RunFolder) -> None:
    path = events_of(folder)
    wait_until(lambda: path.exists() and path.stat().st_size, what="the first event")


def test_a_container_that_is_killed_in_mid_run_ends_the_run_cleanly(
    tmp_path: Path, image_of: ImageOf
) -> None:
    folder = RunFolder(tmp_path / "run")
    with command_line(*run_of(image_of), out=tmp_path) as process:
        wait_for_events(folder)
        with engine() as client:
            (killed,) = containers_of(process.pid)
            client.containers.get(killed.id).kill()
        awaited(process)
        assert names_of(process.pid) == []

    log = (tmp_path / "log").read_text()
    assert process.returncode == ExitCode.UNAVAILABLE, log
    assert "Traceback" not in log
    reasons = {each.reason for each in read_records(Judgement, folder.judgements)}
    assert any("target lost: container" in reason and "SIGKILL" in reason for reason in reasons)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda n: n.name)
def test_no_container_outlives_its_harness_however_that_ends(
    tmp_path: Path, image_of: ImageOf, number: signal.Signals
) -> None:
    folder = RunFolder(tmp_path / "run")
    with command_line(*run_of(image_of), out=tmp_path) as process:
        wait_for_events(folder)
        assert containers_of(process.pid)
        process.send_signal(number)
        awaited(process)
        wait_until(lambda: not names_of(process.pid), what="the container is gone with the harness")

    assert read_events(events_of(folder))


def test_what_a_dead_process_left_is_removed_and_what_a_living_one_has_is_not(image_of: ImageOf) -> None:
    script = f"""
import os
from harness.targets.containers import engine
from testcontainers.core.container import DockerContainer
engine._start_reaper = lambda: None
labels = engine.labels_for("left")
DockerContainer("{local_name(image_of)}").with_kwargs(labels=labels).start()
os._exit(0)
"""
    left = subprocess.Popen([sys.executable, "-c", script], cwd=Path(__file__).parents[3])
    awaited(left)
    assert left.returncode == 0
    assert len(names_of(left.pid)) == 1
    living = DockerContainer(local_name(image_of)).with_kwargs(labels=labels_for("living")).start()
    try:
        removed = remove_leftovers()
        assert any("(left)" in each for each in removed)
        assert not any("(living)" in each for each in removed)
        assert names_of(left.pid) == []
        assert len(names_of(os.getpid())) == 1
    finally:
        living.stop()


def local_name(image_of: ImageOf) -> str:
    """Return an image that is there."""
    with engine() as client:
        wanted = image_of(SCALA).removeprefix("container:")
        names = [tag for image in client.images.list(filters={}) for tag in image.tags]
    return wanted if wanted in names else f"kafka-conformance/kafka:{SCALA}"
