"""The folder of a run of client scripts, while it is written."""

from pathlib import Path

import pytest

from harness.clients.folder import ClientsFolder
from harness.results.client_results import ClientObservation, ScriptOutcome, read_outcomes
from harness.trace.files import write_whole
from harness.trace.schema import TraceError


def test_a_broker_runs_in_its_folder_wherever_that_is_named_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ClientsFolder(Path("here")).make_logs("kafka-4.4.0").is_relative_to(tmp_path)


def test_an_outcome_is_read_as_it_was_written_and_nothing_else_is(tmp_path: Path) -> None:
    folder = ClientsFolder(tmp_path)
    folder.of_target("here").mkdir(parents=True)
    one = ScriptOutcome(
        script_id="clients/one",
        library="kafka-python",
        ended="complete",
        observations=(ClientObservation(step=0, facts={"owns": {"ana": ["orders-0"]}}, at_ms=1.5),),
        duration_s=1.0,
    )
    folder.append("here", one)
    assert tuple(read_outcomes(folder, "here")) == (one,)

    for other in ('{"script_id": "x"}', '{"observations": [{"stop": 1}]}', "[]", "{"):
        write_whole(folder.outcomes("here"), f"{other}\n")
        with pytest.raises(TraceError, match=r"outcomes\.jsonl\.zst:1 is damaged"):
            tuple(read_outcomes(folder, "here"))
