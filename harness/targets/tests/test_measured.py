import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from harness.targets.base.measured import DiskPressure, Gauge, MeasuredProcess, is_of_cgroup, with_children
from harness.tests.patience import wait_until
from harness.trace.starvation import Waits

PID = 7
MS = 1_000_000
"""In nanoseconds."""


def threads(proc: Path, delays_ms: Mapping[str, int]) -> None:
    """Write what a kernel tells of a process whose threads, by name, waited for a core."""
    for number, (name, delay_ms) in enumerate(delays_ms.items(), start=PID):
        task = proc / str(PID) / "task" / str(number)
        task.mkdir(parents=True, exist_ok=True)
        (task / "comm").write_text(f"{name}\n")
        (task / "schedstat").write_text(f"123 {delay_ms * MS} 9\n")


def gauge(tmp_path: Path, *, log: Path | None = None, in_container: bool = False) -> Gauge:
    process = MeasuredProcess(pid=PID, pause_log=log, in_container=in_container)
    return Gauge(process, proc=tmp_path / "proc", cgroups=tmp_path / "cgroup")


def test_the_thread_counts_that_waited_longest_since_the_last_reading(tmp_path: Path) -> None:
    threads(tmp_path / "proc", {"main": 100, "request-handler": 50})
    one = gauge(tmp_path)
    threads(tmp_path / "proc", {"main": 110, "request-handler": 90, "new": 15})
    assert one.read() == Waits(run_queue_ms=40.0)
    assert one.read() == Waits(run_queue_ms=0.0)


def test_nobody_waits_for_a_thread_that_compiles(tmp_path: Path) -> None:
    threads(tmp_path / "proc", {"main": 0, "C1 CompilerThre": 0})
    one = gauge(tmp_path)
    threads(tmp_path / "proc", {"main": 3, "C1 CompilerThre": 400})
    assert one.read().run_queue_ms == 3.0


def test_of_a_process_that_is_gone_nothing_is_reported(tmp_path: Path) -> None:
    one = gauge(tmp_path)
    assert (one.read(), one.is_stopped()) == (Waits(), False)


def test_a_state_is_read_behind_a_name_with_parentheses(tmp_path: Path) -> None:
    threads(tmp_path / "proc", {"main": 0})
    (tmp_path / "proc" / str(PID) / "stat").write_text(f"{PID} (odd) S name) T 1 2 3")
    assert gauge(tmp_path).is_stopped()


def test_a_disk_counts_while_a_thread_waits_for_it_and_the_machine_is_pressed(tmp_path: Path) -> None:
    threads(tmp_path / "proc", {"main": 0, "raft-io-thread": 0})
    one = gauge(tmp_path)
    state = tmp_path / "proc" / str(PID) / "task" / str(PID + 1) / "stat"
    state.write_text(f"{PID + 1} (raft-io-thread) D 1 2")
    one.count_disk(40.0)
    one.count_disk(0.0)
    state.write_text(f"{PID + 1} (raft-io-thread) S 1 2")
    one.count_disk(30.0)
    assert one.read().disk_ms == 40.0
    assert one.read().disk_ms is None


def test_pressure_on_disks_is_read_since_the_last_reading(tmp_path: Path) -> None:
    pressure = tmp_path / "pressure"
    assert DiskPressure(tmp_path).read_ms() is None
    pressure.mkdir()
    line = "some avg10=0.56 avg60=4.18 avg300=4.99 total={}\nfull avg10=0.28 avg60=2.92 avg300=3.53 total=9\n"
    (pressure / "io").write_text(line.format(5_000))
    disk = DiskPressure(tmp_path)
    (pressure / "io").write_text(line.format(47_500))
    assert (disk.read_ms(), disk.read_ms()) == (42.5, 0.0)


@pytest.fixture(name="sleeper")
def _sleeper() -> "Iterator[subprocess.Popen[bytes]]":
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_a_process_that_somebody_stops_is_found_stopped(sleeper: "subprocess.Popen[bytes]") -> None:
    one = Gauge(MeasuredProcess(pid=sleeper.pid))
    assert not one.is_stopped()
    sleeper.send_signal(signal.SIGSTOP)
    wait_until(one.is_stopped, what="the stop")
    sleeper.send_signal(signal.SIGCONT)
    wait_until(lambda: not one.is_stopped(), what="its end")


def test_what_a_process_started_is_found(sleeper: "subprocess.Popen[bytes]") -> None:
    with subprocess.Popen(["sh", "-c", "sleep 600 & echo; wait"], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        found = with_children(shell.pid)
        assert found[0] == shell.pid
        assert len(found) == 2
        for process in reversed(found):
            os.kill(process, signal.SIGKILL)
    assert with_children(sleeper.pid) == (sleeper.pid,)


def pause(total_ms: int) -> str:
    return f'Safepoint "Cleanup", Time since last: 5 ns, At safepoint: 7 ns, Total: {total_ms * MS} ns\n'


def test_pauses_are_read_from_where_the_log_was_read_before(tmp_path: Path) -> None:
    log = tmp_path / "safepoints.log"
    log.write_text(pause(900))
    one = gauge(tmp_path, log=log)
    assert one.read().pause_ms == 0.0
    with log.open("a") as lines:
        lines.write(pause(2) + pause(3) + pause(4)[:40])
    assert one.read().pause_ms == 5.0
    with log.open("a") as lines:
        lines.write(pause(4)[40:])
    assert one.read().pause_ms == 4.0


def test_a_jvm_that_was_started_again_begins_its_log_anew(tmp_path: Path) -> None:
    log = tmp_path / "safepoints.log"
    log.write_text(pause(900) * 3)
    one = gauge(tmp_path, log=log)
    log.write_text(pause(6))
    assert one.read().pause_ms == 6.0


def test_a_quota_is_read_from_the_second_version_of_control_groups(tmp_path: Path) -> None:
    group = tmp_path / "cgroup" / "docker" / "abc"
    group.mkdir(parents=True)
    (tmp_path / "proc" / str(PID)).mkdir(parents=True)
    (tmp_path / "proc" / str(PID) / "cgroup").write_text("0::/docker/abc\n")
    (group / "cpu.stat").write_text("usage_usec 5\nnr_throttled 1\nthrottled_usec 1000\n")
    (group / "cpu.pressure").write_text("some avg10=0.00 total=4000\nfull avg10=0.00 total=1\n")
    one = gauge(tmp_path, in_container=True)
    (group / "cpu.stat").write_text("usage_usec 9\nnr_throttled 2\nthrottled_usec 81000\n")
    (group / "cpu.pressure").write_text("some avg10=9.00 total=34000\nfull avg10=0.00 total=2\n")
    assert one.read() == Waits(throttled_ms=80.0, pressure_ms=30.0)


def test_a_quota_is_read_from_the_first_version_of_control_groups(tmp_path: Path) -> None:
    group = tmp_path / "cgroup" / "cpu" / "docker" / "abc"
    group.mkdir(parents=True)
    (tmp_path / "proc" / str(PID)).mkdir(parents=True)
    (tmp_path / "proc" / str(PID) / "cgroup").write_text("4:cpu,cpuacct:/docker/abc\n0::/\n")
    (group / "cpu.stat").write_text("nr_periods 2\nthrottled_time 0\n")
    one = gauge(tmp_path, in_container=True)
    (group / "cpu.stat").write_text(f"nr_periods 4\nthrottled_time {80 * MS}\n")
    assert one.read() == Waits(throttled_ms=80.0)


def test_a_process_that_is_in_no_container_of_that_id_runs_elsewhere(
    sleeper: "subprocess.Popen[bytes]",
) -> None:
    assert not is_of_cgroup(sleeper.pid, "f3a9c1d2e4b5")
