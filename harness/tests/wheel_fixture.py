"""Fixtures: the wheel of this checkout, and an environment that has it."""

import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from harness.tests.completed_runs import CHECKOUT
from harness.tests.wheels import install, site_of, succeeds


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
    (site_of(environment) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return install(wheel, environment)
