"""The wheel: everything that the packages need is in it, and it works from an empty folder."""

import hashlib
import json
import runpy
import subprocess
import venv
import zipfile
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness import __version__
from harness.tests.completed_runs import CHECKOUT
from harness.tests.wheels import install, site_of, succeeds
from harness.trace.schema import json_object

pytest_plugins = ["harness.tests.wheel_fixture"]

SCENARIO = "classic/heartbeat/before-assignments"
pytestmark = pytest.mark.slow


def required(wheel: Path, extra: str) -> dict[str, Distribution]:
    """Find what the wheel needs with an extra, and what that needs, as pip would."""
    found: dict[str, Distribution] = {}
    (built,) = distributions(path=[str(wheel)])
    _add_required(built, extra, found)
    return found


def _add_required(of: Distribution, extra: str, found: dict[str, Distribution]) -> None:
    for line in of.requires or ():
        needed = Requirement(line)
        is_due = needed.marker is None or needed.marker.evaluate({"extra": extra})
        if is_due and needed.name not in found:
            found[needed.name] = distribution(needed.name)
            _add_required(found[needed.name], "", found)


@pytest.fixture(
    name="basic",
    scope="module",
    params=["", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.release])],
)
def _basic(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """Install the wheel beside nothing but what it requires with an extra, or with none."""
    extra = str(request.param)
    environment = tmp_path_factory.mktemp("basic")
    venv.create(environment, symlinks=True)
    site = site_of(environment)
    # Spark needs a Java, which this machine need not have.
    for each in (required(wheel, extra) | (required(wheel, "java") if extra else {})).values():
        for top in {file.parts[0] for file in each.files or () if file.parts[0] not in {"..", "__pycache__"}}:
            source = Path(str(each.locate_file(top)))
            if source.exists() and not (site / top).exists():
                (site / top).symlink_to(source)
    return extra, install(wheel, environment)


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


def ends(*command: str | Path, cwd: Path) -> tuple[int, str]:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    # A terminal is no wider, and breaks what it is told.
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_a_basic_installation_gives_a_verdict_and_names_the_extra_that_is_missing(
    basic: tuple[str, Path], tmp_path: Path
) -> None:
    extra, command = basic
    remedy = "pip install 'kafka-conformance[{}]'"
    targets = ("--target", "reference", "--target", "reference-tcp")
    code, said = ends(command, "run", *targets, "--run-id", "one", SCENARIO, cwd=tmp_path)
    assert (code, "Every result was expected." in said) == (0, True), said
    assert (tmp_path / "reports" / "one" / "index.html").is_file()

    (tmp_path / "broker.pcap").write_bytes(bytes.fromhex("d4c3b2a1"))
    lacking = {
        ("clients", "--target", "reference-tcp"): "clients",
        ("run", "--target", "container:apache/kafka:4.3.1", SCENARIO): "containers",
        ("judge", "broker.pcap"): "captures",
    }
    if not extra:
        lacking[("trend", "reports/one")] = "spark"
    for verb, needed in lacking.items():
        code, said = ends(command, *verb, cwd=tmp_path)
        assert (code, said.endswith(remedy.format(needed))) in {(78, True), (69, True), (75, True)}, (
            verb,
            said,
        )
    covered = ("list", "--coverage", "reports/one", "--minimum", "0")
    for verb in (("gate", "reports/one"), ("judge", "reports/one"), covered, ("doctor",)):
        code, said = ends(command, *verb, cwd=tmp_path)
        assert code == 0, said


def test_an_sbom_says_of_which_wheel_it_is_and_what_that_needs(wheel: Path, tmp_path: Path) -> None:
    """As the SBOM's maker leaves it: without version, wheel and dependencies of what it is about."""
    sbom = tmp_path / "sbom.json"
    made = {
        "metadata": {"component": {"bom-ref": "root-component", "name": "kafka-conformance"}},
        "components": [{"bom-ref": "requirements-L1"}],
        "dependencies": [{"ref": "requirements-L1"}, {"ref": "root-component"}],
    }
    sbom.write_text(json.dumps(made))

    tool = runpy.run_path(str(CHECKOUT / "tools" / "finish_sbom.py"))
    tool["finish_sbom"](sbom, wheel)

    finished = json_object(sbom.read_bytes(), where=str(sbom))
    assert finished["metadata"] == {
        "component": {
            "bom-ref": "root-component",
            "name": "kafka-conformance",
            "version": __version__,
            "purl": f"pkg:pypi/kafka-conformance@{__version__}",
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}],
        }
    }
    assert finished["dependencies"][1] == {"ref": "root-component", "dependsOn": ["requirements-L1"]}


def test_the_constraints_name_all_that_the_wheel_needs_with_any_extra(wheel: Path) -> None:
    lines = (CHECKOUT / "constraints.txt").read_text().splitlines()
    named = {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}
    needed = {name for extra in ("", "all", "bench", "connect") for name in required(wheel, extra)}

    assert {canonicalize_name(each) for each in needed} - {"kafka-conformance"} <= named


def test_a_basic_installation_is_small(wheel: Path) -> None:
    needed = required(wheel, "").values()
    files = [Path(str(file.locate())) for each in needed for file in each.files or ()]
    assert sum(file.stat().st_size for file in files if file.is_file()) < 60_000_000
