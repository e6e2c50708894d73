"""What watches over our tests finds a mark that is missing and a process that is left, and sizes workers."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.capacity import machine
from harness.tests.completed_runs import environment

pytestmark = pytest.mark.slow

Ran = subprocess.CompletedProcess[str]
PLUG_INS = ("may_start", "left_over", "workers")
MARKS = "markers = broker\n    spark\n    docker\n    browser\n    history\n    slow\n"
_HURRY = """
def pytest_sessionstart():
    from harness.tests import left_over
    left_over.GOODBYE_S = 0.5
"""
_BEGIN = "import os, pathlib, subprocess, sys\nimport pytest\n"


@pytest.fixture(name="ran")
def _ran(tmp_path: Path) -> Callable[..., Ran]:
    """Run tests in a process of their own, with a Java that only says that it was started."""

    def ran(text: str, *arguments: str) -> Ran:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name in ("java", "chromium"):
            (folder / name).write_text(f"#!/bin/sh\necho real {name}: $*\n")
            (folder / name).chmod(0o755)
        names = [f"harness.tests.{name}" for name in PLUG_INS]
        (tmp_path / "conftest.py").write_text(f"pytest_plugins = {names}\n{_HURRY}")
        (tmp_path / "pytest.ini").write_text(f"[pytest]\ntestpaths = .\nfilterwarnings = error\n{MARKS}")
        (tmp_path / "test_it.py").write_text(_BEGIN + text)
        inherited = {name: value for name, value in environment().items() if not name.startswith("PYTEST_")}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments],
            cwd=tmp_path,
            env={
                **inherited,
                "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
                "JAVA_HOME": str(tmp_path),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    return ran


CALLS = """
def test_java():
    told = subprocess.run([sys.executable, "-c", "import os; os.execvp('java', ['java', 'kafka.Kafka'])"])
"""


def test_a_test_that_starts_java_without_a_mark_fails_however_far_down_it_does(
    ran: Callable[..., Ran],
) -> None:
    done = ran(CALLS)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert "mark the test by what it starts:\njava kafka.Kafka" in done.stdout
    assert "real java" not in done.stdout


def test_a_test_with_the_mark_starts_java(ran: Callable[..., Ran]) -> None:
    marks = ("broker", "spark", "docker", "history")
    done = ran("".join(f"@pytest.mark.{mark}{CALLS.replace('java()', f'{mark}()')}" for mark in marks))
    assert done.returncode == pytest.ExitCode.OK, done.stdout
    assert done.stdout.count("real java: kafka.Kafka") == len(marks)


def test_a_fixture_of_a_module_starts_only_what_the_test_may_start(ran: Callable[..., Ran]) -> None:
    fixture = "@pytest.fixture(scope='module')\ndef page():\n    subprocess.run(['chromium', '--headless'])\n"
    done = ran(f"{fixture}@pytest.mark.broker\ndef test_page(page):\n    assert True\n")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert "chromium --headless" in done.stdout
    assert "real chromium" not in done.stdout


def test_which_java_there_is_may_be_asked_and_no_engine_is_there(ran: Callable[..., Ran]) -> None:
    done = ran(
        "from harness.targets.runtimes.java import JavaUse, find_java\n"
        "def test_asks():\n    found = find_java(JavaUse.BROKER)\n"
        "    assert found.reason == 'on the PATH'\n    print('guarded', found.java.program)\n"
        "    assert os.environ['DOCKER_HOST'].startswith('unix:///nonexistent')\n"
        "    assert 'JAVA_HOME' not in os.environ\n"
    )
    assert done.returncode == pytest.ExitCode.OK, done.stdout
    assert "guarded" in done.stdout
    assert "kafka-conformance-guards-" in done.stdout


@pytest.mark.parametrize(("mark", "code"), [("slow", 1), ("broker", 0)])
def test_the_environments_own_java_is_guarded_too(ran: Callable[..., Ran], mark: str, code: int) -> None:
    done = ran(
        "from harness.targets.runtimes.java import JavaUse, find_java\n"
        f"@pytest.mark.{mark}\ndef test_own(monkeypatch):\n    monkeypatch.setenv('PATH', '/bin/nothing')\n"
        "    monkeypatch.delenv('JAVA_HOME', raising=False)\n    found = find_java(JavaUse.BROKER)\n"
        '    assert found.reason == "the environment\'s own"\n'
        "    subprocess.run([found.java.program, '-version'])\n"
    )
    assert done.returncode == code, done.stdout
    assert ("mark the test by what it starts:\njava -version" in done.stdout) is bool(code)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="Linux alone tells what processes there are")
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_process_that_outlives_its_test_fails_the_session_and_is_ended(
    ran: Callable[..., Ran], tmp_path: Path, workers: str
) -> None:
    """Its parent has ended, and it has a session of its own: only what it inherited tells whose it is."""
    orphan = "import time; time.sleep(600)  # an orphan"
    quiet = "start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
    starts = (
        f"import os, subprocess, sys; left = subprocess.Popen([sys.executable, '-c', {orphan!r}], {quiet})"
    )
    starts += "; print(left.pid, flush=True); os._exit(0)"
    done = ran(
        f"def test_leaves():\n    told = subprocess.run([sys.executable, '-c', {starts!r}],"
        f" capture_output=True, text=True, check=True)\n"
        f"    pathlib.Path({str(tmp_path / 'pid')!r}).write_text(told.stdout)\n",
        "-n",
        workers,
    )
    assert "1 passed" in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    process = (tmp_path / "pid").read_text().strip()
    assert f"left behind by a test: process {process}: " in done.stdout
    assert "an orphan" in done.stdout
    status = Path("/proc", process, "status")
    assert not status.exists() or "State:\tZ" in status.read_text()


WHERE = """
def where():
    return os.environ.get("PYTEST_XDIST_WORKER", "here")

@pytest.fixture(scope="module")
def shared():
    return where()

@pytest.mark.parametrize("number", range(6))
def test_shares(shared, number):
    print("shared", where())

@pytest.mark.slow
def test_slow():
    print("slow", where())

@pytest.mark.broker
def test_broker():
    print("brokers", where())

@pytest.mark.docker
def test_container():
    print("brokers", where())
"""


def places(done: Ran, name: str) -> set[str]:
    return {line.split()[1] for line in done.stdout.splitlines() if line.startswith(f"{name} ")}


def test_what_brokers_and_what_shares_a_fixture_stays_in_one_worker(ran: Callable[..., Ran]) -> None:
    done = ran(WHERE, "-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder")
    assert done.returncode == pytest.ExitCode.OK, done.stdout
    assert len(places(done, "shared")) == len(places(done, "brokers")) == 1


def test_brokers_come_first_and_then_what_is_slow(ran: Callable[..., Ran]) -> None:
    done = ran(WHERE)
    reported = [line.split()[0] for line in done.stdout.splitlines() if line.endswith(" here")]
    assert reported[:4] == ["brokers", "brokers", "slow", "shared"]


def test_there_is_a_worker_more_than_cores_and_none_for_chosen_files(
    ran: Callable[..., Ran],
) -> None:
    everything = ran(WHERE, "-n", "auto", "--dist", "loadgroup")
    count = machine().cores + 1
    assert f"created: {count}/{count} worker" in everything.stdout
    assert places(ran(WHERE, "test_it.py", "-n", "auto"), "shared") == {"here"}
