"""The compiled reference: built from the source at hand, once, and apart from the checkout."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.bench import compiled
from harness.bench.compiled import CompiledReferenceTarget
from harness.targets.base.interface import TargetError
from harness.targets.reference.tcp import REFERENCE_ROOT

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(name="package")
def small_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "checkout" / "reference_coordinator"
    (package / "tests").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "core").mkdir()
    (package / "core" / "__init__.py").write_text("")
    (package / "core" / "timers.py").write_text("NUMBER: int = 1\n")
    (package / "shard.py").write_text("def answer() -> int:\n    return 41 + 1\n")
    (package / "tests" / "test_shard.py").write_text("this is not even Python\n")
    monkeypatch.setattr(compiled, "REFERENCE_ROOT", package.parent)
    return package


def root_of(target: CompiledReferenceTarget) -> Path:
    return target._root


@pytest.mark.slow
@needs_compiler
def test_what_is_compiled_is_the_same_package_with_modules_in_c(package: Path, tmp_path: Path) -> None:
    root = root_of(CompiledReferenceTarget(cache=tmp_path / "cache"))

    reported = "from reference_coordinator import shard\nfrom reference_coordinator.core import timers\n"
    reported += "print(shard.answer(), shard.__file__, timers.__file__)"
    out = subprocess.run(
        [sys.executable, "-c", reported], cwd=root, capture_output=True, text=True, check=True
    )
    answer, shard_file, timers_file = out.stdout.split()
    assert (answer, Path(shard_file).suffix, Path(timers_file).suffix) == ("42", ".so", ".py")
    assert not list(package.rglob("*.so"))


@needs_compiler
def test_what_cannot_be_compiled_is_said(package: Path, tmp_path: Path) -> None:
    (package / "shard.py").write_text("answer: int = 'none'\n")

    with pytest.raises(TargetError, match=r"shard.py:1: error: Incompatible types"):
        CompiledReferenceTarget(cache=tmp_path / "cache")

    assert not list((tmp_path / "cache").iterdir())


def test_the_same_source_is_compiled_once_and_another_again(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Path] = []
    monkeypatch.setattr(compiled, "_compile", runs.append)
    first, again = (root_of(CompiledReferenceTarget(cache=tmp_path / "cache")) for _ in range(2))
    (package / "shard.py").write_text("def answer() -> int:\n    return 43\n")

    other = root_of(CompiledReferenceTarget(cache=tmp_path / "cache"))

    assert first == again != other
    assert len(runs) == 2
    assert list((tmp_path / "cache").iterdir()) == [other]


def test_every_module_that_stays_interpreted_is_there() -> None:
    package = REFERENCE_ROOT / "reference_coordinator"

    assert [pattern for pattern in compiled._INTERPRETED if not list(package.glob(pattern))] == []
