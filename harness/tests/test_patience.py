from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.tests import patience
from harness.tests.patience import Patience, completed, unhindered_s


def test_it_is_over_after_so_many_seconds_and_says_what_did_not_come() -> None:
    clock: Iterator[float] = iter([0.0, 9.9, 10.0])
    waiting = Patience(10, clock=lambda: next(clock))
    waiting.check("a broker")
    with pytest.raises(AssertionError, match="a broker: not within 10 s"):
        waiting.check("a broker")


def test_what_somebody_waits_for_a_core_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressure = tmp_path / "cpu"
    pressure.write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 total=0\n")
    monkeypatch.setattr(patience, "_PRESSURE", pressure)
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    assert unhindered_s() == 100.0
    pressure.write_text("some avg10=99.00 avg60=9.00 avg300=9.00 total=2500000\nfull avg10=0.00 total=0\n")
    assert unhindered_s() == 97.5
    pressure.unlink()
    assert unhindered_s() == 100.0


def test_a_command_is_waited_for_and_reported() -> None:
    done = completed(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
