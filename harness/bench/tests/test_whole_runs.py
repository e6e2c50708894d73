"""The benchmark of whole runs, on targets that take no time."""

from pathlib import Path

import pytest

from harness.bench.slow_timers import SlowTimer, slow_timers
from harness.bench.whole_runs import WholeRunPlan, run_whole
from harness.targets.reference.tcp import REFERENCE_ROOT


@pytest.mark.slow
def test_a_run_is_measured_as_a_user_starts_it(tmp_path: Path) -> None:
    plan = WholeRunPlan(
        targets=("reference", "reference-tcp"),
        scenarios=("classic/heartbeat",),
        rounds=1,
        busy=1,
        with_report=False,
    )

    (run,) = run_whole(plan, tmp_path, lambda _: None)

    assert run.exit_code == 0
    assert run.red == ()
    assert run.brokers == {"reference-tcp": 1}
    assert run.jvms_at_once == 0
    # The test keeps a core busy itself, which may make a result flaky, but nothing else.
    assert run.standings["passed"] + run.standings.get("flaky", 0) == run.results > 0


@pytest.mark.parametrize("fault", list(slow_timers()), ids=str)
def test_each_fault_finds_its_place_in_the_reference(fault: SlowTimer, tmp_path: Path) -> None:
    root = fault.write(REFERENCE_ROOT, tmp_path / "mutant")

    source = (root / "reference_coordinator" / "core" / "timers.py").read_text(encoding="utf-8")

    compile(source, "timers.py", "exec")
    assert fault.deadline in source
    assert any(
        f"{fault.deadline}(" in path.read_text(encoding="utf-8")
        for path in (root / "reference_coordinator").rglob("classic/*.py")
    )
