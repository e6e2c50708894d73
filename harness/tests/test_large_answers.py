"""Answers that are large within the limits: they take no memory without bound, and cost one target alone."""

from pathlib import Path
from typing import Final

import pytest

from harness.results.status import ExitCode
from harness.tests.completed_runs import reference_server
from harness.tests.forked_command import forked
from harness.tests.lying_broker import Lie, lying, serving, with_field
from harness.wire.codec import Fields

CHOSEN: Final = ("admin/describe/static-member", "classic/heartbeat/empty-group-id")
MEMBERS: Final = 20_000
MEMORY_MIB: Final = 1_000
GIVEN_UP_S: Final = 240


def members() -> list[Fields]:
    return [
        {
            "member_id": f"member-{number}",
            "group_instance_id": None,
            "client_id": "ana",
            "client_host": "/127.0.0.1",
            "member_metadata": b"m" * 30,
            "member_assignment": b"a" * 30,
        }
        for number in range(MEMBERS)
    ]


@pytest.mark.slow
def test_a_group_of_twenty_thousand_members_again_and_again_takes_little_memory(tmp_path: Path) -> None:
    lie = Lie(with_field("members", members()), api="DescribeGroups")
    with (
        reference_server("4.4", log=tmp_path / "truth.log") as truth,
        serving(lying(truth, lie)) as port,
    ):
        targets = ("--target", "reference", "--target", f"external:127.0.0.1:{port}", "--profile", "4.4")
        command = ("run", *targets, "--no-report", "--no-confirm", *CHOSEN, "--out", str(tmp_path))
        with forked(command, tmp_path) as process:
            process.join(GIVEN_UP_S)
            # Reading so much keeps the harness itself from running, and then the difference is open.
            ends = {ExitCode.UNEXPECTED, ExitCode.INDETERMINATE}
            assert process.exitcode in ends, (tmp_path / "log").read_text()
    assert float((tmp_path / "peak").read_text()) < MEMORY_MIB
    assert "Traceback" not in (tmp_path / "log").read_text()
