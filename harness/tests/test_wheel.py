"""The wheel: everything that the packages need is in it, and it works from an empty folder."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from harness.tests.completed_runs import CHECKOUT

SCENARIO = "classic/heartbeat/before-assignments"
pytestmark = pytest.mark.slow


def succeeds(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(name="wheel", scope="module")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of a copy, since a build leaves a folder of its own beside what it builds."""
    source = tmp_path_factory.mktemp("source")
    names = succeeds(
        "git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=CHECKOUT
    ).splitlines()
    for name in names:
        if (CHECKOUT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((CHECKOUT / name).read_bytes())
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check")
    succeeds(
        *pip, "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, source, cwd=folder
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(name="installed", scope="module")
def _installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment that has the checkout's dependencies and not the checkout."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "--quiet")
    succeeds(*pip, "--no-deps", "--no-index", "--force-reinstall", wheel, cwd=environment)
    return environment / "bin" / "kafka-conformance"


def test_every_file_that_lies_in_a_package_is_in_the_wheel(wheel: Path) -> None:
    tracked = succeeds(
        "git", "ls-files", "harness", "kio_extension", "reference_coordinator", "suites", cwd=CHECKOUT
    ).splitlines()
    wanted = {name for name in tracked if "/tests/" not in name and (CHECKOUT / name).is_file()}

    assert wanted <= set(zipfile.ZipFile(wheel).namelist())


def test_a_run_from_an_empty_folder_writes_reports_and_nothing_else(installed: Path, tmp_path: Path) -> None:
    reported = succeeds(
        installed, "run", "--target", "reference", "--no-report", "--run-id", "one", SCENARIO, cwd=tmp_path
    )

    assert "Every result was expected." in reported
    assert [each.name for each in tmp_path.iterdir()] == ["reports"]
    assert (tmp_path / "reports" / "one" / "run.json").is_file()


def test_its_scenarios_are_those_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    program = "import harness, suites; print(harness.__file__); print(suites.__path__[0])"
    reported = succeeds(installed.with_name("python"), "-c", program, cwd=tmp_path)

    assert str(CHECKOUT) not in reported
    assert SCENARIO in succeeds(installed, "list", "classic/heartbeat/**", cwd=tmp_path)
