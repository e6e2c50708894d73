"""Fixtures: the wheel of this checkout, and an environment that has it."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from harness.tests.completed_runs import CHECKOUT


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


def install(wheel: Path, environment: Path) -> Path:
    """Install the wheel alone into an environment and return its command."""
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "--quiet")
    succeeds(*pip, "--no-deps", "--no-index", "--force-reinstall", wheel, cwd=environment)
    return environment / "bin" / "kafka-conformance"


def site_of(environment: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))


@pytest.fixture(name="installed", scope="module")
def _installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment that has the checkout's dependencies and not the checkout."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, symlinks=True)
    (site_of(environment) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return install(wheel, environment)
