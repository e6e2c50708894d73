"""What tests of the wheel do with it."""

import subprocess
import sys
import sysconfig
from pathlib import Path


def succeeds(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(wheel: Path, environment: Path) -> Path:
    """Install the wheel alone into an environment and return its command."""
    pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "--quiet")
    succeeds(*pip, "--no-deps", "--no-index", "--force-reinstall", wheel, cwd=environment)
    return environment / "bin" / "kafka-conformance"


def site_of(environment: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
