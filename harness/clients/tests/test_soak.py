"""Two groups of real clients under load and upheavals on the reference; every record is accounted for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.clients.libraries import LIBRARIES
from harness.clients.process import ClientGone
from harness.clients.report import write_report
from harness.clients.run import ClientsPlan
from harness.clients.soak import together
from harness.clients.soak_account import GroupAccount
from harness.clients.soak_run import soak_all
from harness.clients.soak_share import Ledger, behind
from harness.report.model.clients import client_conversation_key, client_talks
from harness.report.model.run_data import Run
from harness.report.site.pages import INDEX
from harness.report.site.run_site import exit_code_of
from harness.results.client_results import SOAK, ClientResult
from harness.results.status import ExitCode
from harness.targets.base.interface import TargetError
from harness.tests.client_plans import clients_plan
from harness.tests.site_reading import document_of, talks_of


def account(**changes: object) -> GroupAccount:
    usual: dict[str, object] = {
        "group": "eager",
        "delivered": 10,
        "repeated": 0,
        "lost": (),
        "committed": True,
        "upheavals": {},
        "errors": {},
    }
    return GroupAccount(**{**usual, **changes})  # type: ignore[arg-type] # checked by the constructor's names


def test_what_is_lost_or_not_committed_or_refused_for_no_reason_is_unexpected() -> None:
    assert account().unexpected == ()
    assert account(repeated=3, errors={"REBALANCE_IN_PROGRESS": 2}).unexpected == ()
    assert account(lost=("0#1",)).unexpected == ("1 records were lost, the first is 0#1",)
    assert account(committed=False).unexpected == ("not everything is committed",)
    assert account(errors={"UNKNOWN_SERVER_ERROR": 1}).unexpected == ("error UNKNOWN_SERVER_ERROR",)


def ledger_of(*events: tuple[str, str, float, int | None]) -> Ledger:
    """Keep that members were delivered records, with a count, or had them acknowledged, without one."""
    ledger = Ledger()
    for member, value, at_ms, count in events:
        if count is None:
            ledger.note(member, {"event": "acknowledging", "at_ms": at_ms, "values": [value]})
            ledger.note(member, {"event": "processed", "at_ms": at_ms, "values": [value]})
        else:
            row = ["load", 0, 0, value, count]
            ledger.note(member, {"event": "delivered", "at_ms": at_ms, "records": [row]})
    return ledger


def test_a_record_that_came_again_before_it_was_acknowledged_is_accounted_for() -> None:
    ledger = ledger_of(("ana", "0#0", 1, 1), ("bob", "0#0", 2, 3), ("bob", "0#0", 3, None))

    assert [*ledger.wrong({"0#0"})] == []
    assert ledger.is_done({"0#0"})


def test_what_a_commit_left_in_doubt_may_be_acknowledged_and_nothing_else() -> None:
    ledger = ledger_of(("ana", "0#0", 1, 1), ("bob", "0#1", 1, 1), ("cid", "0#2", 1, 1))
    ledger.note("ana", {"event": "acknowledging", "at_ms": 2, "values": ["0#0"]})
    ledger.crash("ana")
    ledger.crash("bob")

    [wrong] = ledger.wrong({"0#0", "0#1", "0#2"})
    assert wrong == (
        "2 records were not acknowledged, and nobody crashed while it acknowledged them, the first is 0#1"
    )
    assert not ledger.is_done({"0#0", "0#1", "0#2"})


def test_a_commit_that_was_answered_leaves_nothing_in_doubt() -> None:
    ledger = ledger_of(("ana", "0#0", 1, 1))
    ledger.note("ana", {"event": "acknowledging", "at_ms": 2, "values": ["0#0"]})
    ledger.note("ana", {"event": "processed", "at_ms": 3, "values": []})
    ledger.crash("ana")

    assert ledger.unaccounted({"0#0"}) == {"0#0"}


def test_a_start_offset_that_stays_behind_the_load_is_wrong() -> None:
    assert [*behind({0: 500, 1: 500}, {0: 500, 1: 501})] == []
    assert [*behind({0: 500, 1: 500}, {0: 499})] == [
        "a record of partition 0 is not settled: its start offset is 499 of 500",
        "a record of partition 1 is not settled: its start offset is -1 of 500",
    ]


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([("ana", 1, 1), ("ana", 2, None), ("bob", 3, None)], "were acknowledged more than once"),
        ([("ana", 1, 1), ("ana", 2, None), ("bob", 3, 2)], "came again after they were acknowledged"),
        ([("ana", 1, 6), ("ana", 2, None)], "came more than 5 times"),
        ([("ana", 1, 1), ("bob", 2, 1), ("bob", 3, None)], "a count that is no higher than before"),
    ],
)
def test_a_record_that_is_not_counted_as_it_must_be_is_wrong(
    events: list[tuple[str, float, int | None]], says: str
) -> None:
    ledger = ledger_of(*((member, "0#0", at_ms, count) for member, at_ms, count in events))

    [wrong] = ledger.wrong({"0#0"})
    assert says in wrong


def test_a_share_group_whose_records_are_wrong_is_unexpected() -> None:
    assert account(wrong=("1 records came again",)).unexpected == ("1 records came again",)


def plan_of(out: Path, target: str = "reference-tcp") -> ClientsPlan:
    return clients_plan(out, target, libraries=[LIBRARIES["confluent-kafka"]], run_id="soak")


@pytest.mark.slow
def test_a_short_soak_of_the_reference_loses_nothing(tmp_path: Path) -> None:
    asyncio.run(soak_all(plan_of(tmp_path), 6, 1, lambda *_: None))

    run = Run.load(tmp_path / "soak")
    (soaked,) = run.results
    assert isinstance(soaked, ClientResult)
    assert soaked.mismatches == ()
    assert run.clients is not None
    facts = [each.facts for each in run.clients.outcomes[soaked.place].observations]
    seen: list[dict[str, Any]] = [dict(each) for each in facts]
    assert [each["delivered"] for each in seen] == [each["produced"] for each in seen]
    assert sum(each["produced"] > 0 for each in seen) == 3
    assert ["acknowledged" in each for each in seen] == [False, False, True]
    assert (run.clients.ended, exit_code_of(run)) == ("complete", ExitCode.EXPECTED)
    write_report(run)
    page = document_of(run.directory, SOAK)["html"]
    assert f"<code>{seen[0]['produced']}</code>" in page
    talk = talks_of(run.directory, client_talks(soaked.place))[client_conversation_key(soaked.place)]
    rows = talk["targets"][soaked.target]["seen"]["rows"]
    upheavals = [row for row in rows if not row[3].startswith("error")]
    assert len(upheavals) == sum(sum(each["upheavals"].values()) for each in seen) > 0


@pytest.mark.slow
@pytest.mark.parametrize("error", [TargetError("producing was refused"), TimeoutError(), ClientGone("gone")])
def test_a_soak_that_cannot_go_on_says_so_on_file(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("harness.clients.soak_run.soak", fails)

    with pytest.raises(TargetError, match="clients cannot go on"):
        asyncio.run(soak_all(plan_of(tmp_path), 6, 1, lambda *_: None))

    run = Run.load(tmp_path / "soak")
    lost = f"target lost: clients cannot go on: {str(error) or 'no answer in time'}"
    assert run.clients is not None
    assert (run.clients.ended, exit_code_of(run)) == (lost, ExitCode.UNAVAILABLE)
    write_report(run)
    assert "This run is not complete: target lost: clients" in (run.directory / INDEX).read_text()


@pytest.mark.slow
def test_a_library_without_the_wanted_groups_is_no_verdict(tmp_path: Path) -> None:
    older = plan_of(tmp_path, "reference-tcp:4.1")

    asyncio.run(soak_all(older, 6, 1, lambda *_: None, groups=("share",)))

    run = Run.load(tmp_path / "soak")
    assert [each.observed for each in run.results] == ["not run: it and the target have no share groups"]
    assert exit_code_of(run) is ExitCode.NOTHING_RAN


async def test_what_goes_on_beside_a_failure_is_stopped_before_it_is_reported() -> None:
    stopped: list[str] = []

    async def endures() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append("endures")

    async def fails() -> None:
        raise TargetError("lost")

    with pytest.raises(TargetError, match="lost"):
        await together(endures(), fails())
    assert stopped == ["endures"]
