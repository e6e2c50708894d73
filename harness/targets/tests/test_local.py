"""What local brokers are made of, without starting one."""

import asyncio
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from harness.targets import checks
from harness.targets.base.interface import Capability, TargetError
from harness.targets.base.ports import free_port
from harness.targets.base.program import Program
from harness.targets.jars import cache, locks
from harness.targets.jars.resolved import release_of
from harness.targets.kafka.local import local_capabilities
from harness.targets.kafka.path import jars_in, profile_of
from harness.targets.kafka.properties import (
    Ports,
    broker_properties,
    chooses_features,
    coordinator_properties,
    features_of,
    render_properties,
    uses_kraft,
)
from harness.targets.kafka.storage import cluster_id_of, new_cluster_id
from harness.tests.completed_runs import is_running
from harness.tests.fake_java import ALL_MODULES, fake_java
from harness.tests.patience import wait_until

_NEEDS_SETPRIV = pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv here")
_PORTS = Ports(broker=20001, controller=20002)


def test_a_scenario_sets_what_it_likes_but_not_where_the_broker_listens_or_stores() -> None:
    own = {"group.max.size": "2", "group.initial.rebalance.delay.ms": "50", "listeners": "x", "log.dirs": "x"}

    properties = broker_properties("3.9.2", own, ports=_PORTS, storage=Path("/s"))

    assert properties["group.max.size"] == "2"
    assert properties["group.initial.rebalance.delay.ms"] == "50"
    assert properties["group.min.session.timeout.ms"] == "100"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:20001,CONTROLLER://127.0.0.1:20002"
    assert properties["log.dirs"] == "/s"


def test_the_level_of_a_feature_is_no_property_of_a_broker() -> None:
    asked = {"group.version": "0", "group.max.size": "2"}

    properties = broker_properties("4.4.0", asked, ports=_PORTS, storage=Path("/s"))

    assert features_of(asked) == {"group.version": "0"}
    assert "group.version" not in properties
    assert [chooses_features(each) for each in ("3.9.2", "4.0.0", "latest")] == [False, True, True]


def test_a_broker_that_asks_who_connects_has_a_listener_for_it_and_keeps_the_first() -> None:
    ports = replace(_PORTS, principals=20003)

    properties = broker_properties("3.9.2", {}, ports=ports, storage=Path("/s"))

    assert properties["listeners"] == (
        "PLAINTEXT://127.0.0.1:20001,SASL_PLAINTEXT://127.0.0.1:20003,CONTROLLER://127.0.0.1:20002"
    )
    assert properties["advertised.listeners"] == (
        "PLAINTEXT://127.0.0.1:20001,SASL_PLAINTEXT://127.0.0.1:20003"
    )
    assert properties["inter.broker.listener.name"] == "PLAINTEXT"
    assert "user_ana=" in properties["listener.name.sasl_plaintext.plain.sasl.jaas.config"]
    assert Capability.PRINCIPALS in local_capabilities("3.9.2", java_coordinator=False)
    for version, node_count in (("3.2.3", 1), ("3.9.2", 2)):
        capabilities = local_capabilities(version, java_coordinator=False, node_count=node_count)
        assert Capability.PRINCIPALS not in capabilities


def test_a_broker_before_3_3_is_given_a_zookeeper_and_a_later_one_is_not() -> None:
    old, new = (broker_properties(v, {}, ports=_PORTS, storage=Path("/s")) for v in ("3.2.3", "3.3.0"))

    assert old["zookeeper.connect"] == "127.0.0.1:20002"
    assert "process.roles" not in old
    assert new["process.roles"] == "broker,controller"
    assert "zookeeper.connect" not in new


def test_versions_are_compared_as_numbers() -> None:
    assert release_of("3.10.1") == (3, 10)
    assert release_of("4.5.0-SNAPSHOT") == (4, 5)
    assert release_of("unknown") == (0, 0)
    assert uses_kraft("3.10.0")
    assert not uses_kraft("2.8.2")


def test_only_the_java_coordinator_is_reported_not_to_linger() -> None:
    assert "group.coordinator.append.linger.ms" not in coordinator_properties("3.9.2", {})
    assert coordinator_properties("4.0.0", {})["group.coordinator.append.linger.ms"] == "0"


def test_properties_are_sorted_and_escaped_as_java_reads_them() -> None:
    text = render_properties({"b": " a\\b\nc", "a key": "é"})

    assert text == "a\\ key=\\u00e9\nb=\\ a\\\\b\\nc\n"


def test_a_cluster_id_is_22_characters_and_read_from_the_directory(tmp_path: Path) -> None:
    cluster_id = new_cluster_id()
    assert cluster_id_of(tmp_path) is None

    (tmp_path / "meta.properties").write_text(f"#\nversion=1\ncluster.id={cluster_id}\nnode.id=1\n")

    assert len(cluster_id) == 22
    assert cluster_id_of(tmp_path) == cluster_id


def _touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_a_directory_of_jars_is_run_as_it_is(tmp_path: Path) -> None:
    _touch(tmp_path / "kafka_2.13-3.9.2.jar", tmp_path / "slf4j-simple-1.7.36.jar")

    jars = jars_in(tmp_path)

    assert jars.version == "3.9.2"
    assert jars.class_path == f"{tmp_path}/kafka_2.13-3.9.2.jar:{tmp_path}/slf4j-simple-1.7.36.jar"
    assert jars.home is None


def test_a_distribution_is_run_from_its_libs_without_its_tests(tmp_path: Path) -> None:
    _touch(*(tmp_path / "libs" / f"kafka_2.13-4.1.0{suffix}.jar" for suffix in ("", "-test", "-sources")))

    assert jars_in(tmp_path).version == "4.1.0"
    assert "-test" not in jars_in(tmp_path).class_path


def test_a_working_tree_puts_its_own_jars_before_what_they_depend_on(tmp_path: Path) -> None:
    _touch(
        tmp_path / "core/build/libs/kafka_2.13-4.5.0-SNAPSHOT.jar",
        tmp_path / "group-coordinator/group-coordinator-api/build/libs/api-4.5.0-SNAPSHOT.jar",
        tmp_path / "core/build/dependant-libs-2.13.18/slf4j-reload4j-1.7.36.jar",
    )

    jars = jars_in(tmp_path)

    assert jars.version == "4.5.0-SNAPSHOT"
    assert profile_of(jars.version) == "4.5.0"
    assert [Path(jar).name for jar in jars.class_path.split(":")] == [
        "kafka_2.13-4.5.0-SNAPSHOT.jar",
        "api-4.5.0-SNAPSHOT.jar",
        "slf4j-reload4j-1.7.36.jar",
    ]


def test_a_jar_without_a_version_in_its_name_tells_it_from_inside(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "kafka-clients.jar", "w") as archive:
        archive.writestr("kafka/kafka-version.properties", "commitId=abc\nversion=4.2.1\n")
    with pytest.raises(TargetError, match=r"no kafka_2\.13"):
        jars_in(tmp_path)

    _touch(tmp_path / "kafka_2.13-trunk.jar")

    assert jars_in(tmp_path).version == "4.2.1"


def test_a_version_that_names_no_release_asks_for_a_profile() -> None:
    with pytest.raises(TargetError, match="--profile"):
        profile_of("trunk")


def test_jars_without_a_logging_binding_get_one_from_the_cache_or_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path / "cache"))
    _touch(tmp_path / "kafka_2.13-3.9.2.jar")
    assert "no logging binding" in jars_in(tmp_path).notes[0]

    binding = tmp_path / "cache/3.9.2/libs/slf4j-simple-1.7.36.jar"
    _touch(binding)
    assert "no logging binding" in jars_in(tmp_path).notes[0], "it is not the jar that was recorded"

    monkeypatch.setattr(locks, "SHIPPED_LOCK", tmp_path / "lock")
    locks.write_lock(tmp_path / "lock", {"3.9.2": {binding.name: locks.sha512_of(binding)}}, {})
    assert jars_in(tmp_path).class_path.endswith("/slf4j-simple-1.7.36.jar")
    assert jars_in(tmp_path).notes == ()


def test_what_fails_half_way_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    def fail_half_way() -> None:
        with cache.made_at(tmp_path / "3.9.2") as temporary:
            (temporary / "half").touch()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()

    assert list(tmp_path.iterdir()) == []


async def test_the_cache_waits_for_the_owner_of_its_lock(tmp_path: Path) -> None:
    reported: list[str] = []
    entered = asyncio.Event()

    async def second() -> None:
        async with cache.locked(tmp_path, "jars", reported.append):
            entered.set()

    async with cache.locked(tmp_path, "jars", reported.append):
        task = asyncio.create_task(second())
        while not reported:  # noqa: ASYNC110 - what is told sets no event
            await asyncio.sleep(0)
        assert not entered.is_set()
    await task
    assert reported == ["waiting for another process to fill the cache"]


def test_a_cache_that_cannot_be_written_says_so_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(TargetError, match=cache.CACHE_VARIABLE):
        cache.prepared(tmp_path / "file" / "cache")


def test_a_free_port_is_given_once() -> None:
    ports = [free_port() for _ in range(50)]

    assert len(set(ports)) == 50
    assert all(20000 <= port < 32000 for port in ports)


def test_a_program_that_ends_by_itself_has_failed_and_its_last_lines_are_reported(tmp_path: Path) -> None:
    program = Program(
        [sys.executable, "-c", "print('the last line'); raise SystemExit(3)"],
        log=tmp_path / "program.log",
        directory=tmp_path,
    )
    assert asyncio.run(program.ended()) == 3

    failure = program.failure()

    assert failure is not None
    assert "exit status 3" in failure
    assert failure.endswith("the last line")


@pytest.mark.parametrize("grace_s", [0, 5])
async def test_a_stopped_program_is_gone_with_its_children_and_has_not_failed(
    tmp_path: Path, grace_s: float
) -> None:
    parent = (
        "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); sys.stdin.read()"
    )
    parent = f"{parent}; import time; time.sleep(60)"
    program = Program([sys.executable, "-c", parent], log=tmp_path / "p.log", directory=tmp_path)

    while not (text := program.log_tail()):  # noqa: ASYNC110 - a file sets no event
        await asyncio.sleep(0)
    await program.stop(grace_s=grace_s)

    assert not is_running(program.pid)
    if not grace_s:
        wait_until(
            lambda: not _running_and_not_a_zombie(int(text)), what="the end of the killed program's child"
        )
    assert program.failure() is None


def _running_and_not_a_zombie(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return is_running(pid) and not (status.exists() and ") Z " in status.read_text())


def test_the_checks_of_this_machine_each_say_something() -> None:
    found = {check.name: check for check in checks.all_checks()}

    assert {"java", "cache", "loopback port", "machine"} == found.keys()
    assert all(check.detail for check in found.values())
    assert all(check.ok or check.remedy for check in found.values())


def test_a_check_says_which_java_each_use_gets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = fake_java(tmp_path, modules=ALL_MODULES - {"java.compiler"})
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("harness.targets.runtimes.java.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))

    refused, taken = checks.check_java()

    assert taken.detail == f"brokers, brokers that are paused, Spark: {found}, Java 17 (JAVA_HOME)"
    assert not refused.ok
    assert refused.detail == f"no Java for the Java client ({found} (JAVA_HOME) lacks java.compiler)"
    assert "install Java 17" in refused.remedy


_STARTS_A_PROGRAM = """\
import sys
from pathlib import Path
from harness.targets.base.program import Program
program = Program(["sleep", "60"], log=Path(sys.argv[1]) / "sleep.log", directory=Path(sys.argv[1]))
pid = program.pid
"""
_TELLS = "print(pid, flush=True)\n"
_ONCE_IT_RUNS = "while Path(f'/proc/{pid}/comm').read_text() != 'sleep\\n': pass\n"
_WAITS = "sys.stdin.read()\n"


def _pid_started_by(directory: Path, *, is_killed: bool) -> int:
    """Start a harness that starts a program, and let it be killed or end without stopping the program."""
    reported = f"{_ONCE_IT_RUNS}{_TELLS}{_WAITS}" if is_killed else _TELLS
    with subprocess.Popen(
        [sys.executable, "-c", _STARTS_A_PROGRAM + reported, directory],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as harness:
        assert harness.stdout is not None
        pid = int(harness.stdout.readline())
        if is_killed:
            harness.kill()
    return pid


@pytest.mark.parametrize("is_killed", [False, pytest.param(True, marks=_NEEDS_SETPRIV)])
def test_a_harness_that_is_gone_leaves_no_program(tmp_path: Path, *, is_killed: bool) -> None:
    pid = _pid_started_by(tmp_path, is_killed=is_killed)

    wait_until(lambda: not _running_and_not_a_zombie(pid), what="the end of the program")


async def test_a_paused_program_does_nothing_until_it_goes_on_and_can_be_killed(tmp_path: Path) -> None:
    ticking = "import time\nwhile True: print('tick', flush=True); time.sleep(0.001)"
    program = Program([sys.executable, "-c", ticking], log=tmp_path / "p.log", directory=tmp_path)

    for _ in range(2):
        while not program.log.stat().st_size:  # noqa: ASYNC110 - a file sets no event
            await asyncio.sleep(0)
        await program.pause()
        paused_size = program.log.stat().st_size
        for _ in range(5_000):
            await asyncio.sleep(0)
        assert program.log.stat().st_size == paused_size
        program.resume()
        while program.log.stat().st_size == paused_size:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0)
    await program.pause()
    await program.stop()

    assert not is_running(program.pid)
    assert program.failure() is None
