"""A soak of a reference with a planted fault is red, and names what is wrong."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.clients import soak_group, soak_share
from harness.clients.libraries import LIBRARIES
from harness.clients.soak_run import soak_all
from harness.report.model.run_data import Run
from harness.report.site.run_site import exit_code_of
from harness.results.client_results import ClientResult
from harness.results.status import ExitCode
from harness.targets.reference.tcp import REFERENCE_ROOT, ReferenceTcpTarget
from harness.tests.client_plans import clients_plan

pytestmark = pytest.mark.slow
_LOCK_S = 2
_QUIET_S = 5


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault: what the reference's code says, and what it says instead."""

    module: str
    right: str
    wrong: str

    def plant(self, root: Path) -> None:
        path = root / "reference_coordinator" / "shares" / f"{self.module}.py"
        code = path.read_text()
        assert code.count(self.right) == 1
        path.write_text(code.replace(self.right, self.wrong))


FORGETS_ACKNOWLEDGEMENTS = Planted(
    "acknowledging",
    "is_written = error is Errors.NONE\n",
    "is_written = transitions[0].first_offset % 4 != 0\n",
)
LOSES_RECORDS = Planted(
    "acquiring",
    "first, last = first_offset, last_offset\n",
    "first, last = min(first_offset + (first_offset > 40), last_offset), last_offset\n",
)
KEEPS_LOCKS = (
    Planted("acknowledging", "state.state is RecordState.ACQUIRED and _has_ended(state, now_ms)", "False"),
    Planted("acknowledging", "state.state is RecordState.ACQUIRED and state.member_id == member_id", "False"),
)
"""Neither the end of a connection nor that of a lock releases records."""
COUNTS_NO_DELIVERY = Planted(
    "acquiring",
    "state.try_update(RecordState.ACQUIRED, 1, self.partition.settings(), self.member_id)",
    "state.try_update(RecordState.ACQUIRED, 0, self.partition.settings(), self.member_id)",
)

SETTLES_WHAT_NOBODY_ACKNOWLEDGED = Planted(
    "acknowledging",
    "RecordState.AVAILABLE\n                state.start_transition(to, 0 if keeps",
    "RecordState.ARCHIVED\n                state.start_transition(to, 0 if keeps",
)
"""What a member has in its hands when its connection ends does not come again."""


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let members crash often and locks expire early, so that seconds do."""
    for other in ("_close", "_guest"):
        monkeypatch.setattr(soak_group.SoakGroup, other, soak_group.SoakGroup._crash)
    monkeypatch.setattr(soak_group, "_UPHEAVAL_PAUSE_S", (0.2, 0.6))
    monkeypatch.setattr(soak_group, "_AWAY_S", (0.1, 0.3))
    monkeypatch.setattr(soak_share, "DRAIN_S", 2 * _QUIET_S)
    monkeypatch.setattr(soak_share, "_LOCK_S", _LOCK_S)
    monkeypatch.setattr(soak_share, "_QUIET_S", _QUIET_S)
    monkeypatch.setattr(soak_share, "_SETTLE_S", 2 * _QUIET_S)


def soaked(tmp_path: Path, *faults: Planted) -> tuple[ExitCode, tuple[str, ...]]:
    """Soak a reference with faults; return the verdict, and all that is unexpected."""
    root = tmp_path / "root"
    ignored = shutil.ignore_patterns("tests", "__pycache__")
    shutil.copytree(REFERENCE_ROOT / "reference_coordinator", root / "reference_coordinator", ignore=ignored)
    shutil.copytree(REFERENCE_ROOT / "kio_extension", root / "kio_extension", ignore=ignored)
    for each in faults:
        each.plant(root)
    library, target = LIBRARIES["confluent-kafka"], ReferenceTcpTarget(root=root)
    plan = clients_plan(tmp_path, target, libraries=[library], run_id="soak")
    asyncio.run(soak_all(plan, 8, 3, lambda *_: None, groups=("share",)))
    run = Run.load(tmp_path / "soak")
    (only,) = run.results
    assert isinstance(only, ClientResult)
    return exit_code_of(run), tuple(each.says for each in only.mismatches)


@pytest.mark.usefixtures("hurry")
def test_a_share_group_of_the_reference_itself_is_right(tmp_path: Path) -> None:
    assert soaked(tmp_path) == (ExitCode.EXPECTED, ())


@pytest.mark.usefixtures("hurry")
@pytest.mark.parametrize(
    ("faults", "says"),
    [
        pytest.param(
            (FORGETS_ACKNOWLEDGEMENTS,),
            "came again after they were acknowledged",
            id="forgets-acknowledgements",
            marks=pytest.mark.release,
        ),
        pytest.param((LOSES_RECORDS,), "records were lost", id="loses-records"),
        pytest.param(
            KEEPS_LOCKS,
            "is not settled: its start offset is",
            id="keeps-locks",
            marks=pytest.mark.release,
        ),
        pytest.param(
            (SETTLES_WHAT_NOBODY_ACKNOWLEDGED,),
            "on the wire,",
            id="settles-unasked",
            marks=pytest.mark.release,
        ),
        pytest.param(
            (FORGETS_ACKNOWLEDGEMENTS, COUNTS_NO_DELIVERY),
            "with a count that is no higher than before",
            id="counts-no-delivery",
            marks=pytest.mark.release,
        ),
    ],
)
def test_a_planted_fault_makes_a_soak_red(faults: tuple[Planted, ...], says: str, tmp_path: Path) -> None:
    code, unexpected = soaked(tmp_path, *faults)

    assert code is ExitCode.UNEXPECTED
    assert any(says in each for each in unexpected), unexpected
