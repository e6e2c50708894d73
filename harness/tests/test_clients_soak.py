"""Two groups of real clients under load and upheavals on the reference; every record is accounted for."""

import asyncio
from pathlib import Path

from harness.clients.libraries import LIBRARIES
from harness.clients.run import ClientsPlan
from harness.clients.soak import GroupAccount, SoakResult, soak_to_json
from harness.clients.soak_run import soak_all
from harness.report.clients_data import load_clients
from harness.report.clients_soak import soak_exit_code, soak_site
from harness.report.exit_code import ExitCode
from harness.targets.spec import parse_target
from harness.tests.made_up_clients import KAFKA_NAME, PYTHON, MadeUpClients


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


def test_a_short_soak_of_the_reference_loses_nothing(tmp_path: Path) -> None:
    plan = ClientsPlan(
        run_id="soak",
        scripts=(),
        libraries=(LIBRARIES["confluent-kafka"],),
        targets=(parse_target("reference-tcp"),),
        command="kafka-conformance clients --soak 6",
        out=tmp_path,
    )

    (soaked,) = asyncio.run(soak_all(plan, 6, 1, lambda *_: None))

    assert soaked.unexpected == ()
    assert soaked.result.produced > 0
    assert [each.delivered for each in soaked.result.groups] == [soaked.result.produced] * 2
    assert (tmp_path / "soak" / "reference-tcp" / "soak-confluent-kafka.json").exists()
    plan.folder.write_footer("complete")
    run = load_clients(tmp_path / "soak")
    assert soak_exit_code(run) is ExitCode.EXPECTED
    page = soak_site(run).read_text()
    assert f"{soaked.result.produced} of {soaked.result.produced}" in page
    assert page.count("<rect") == sum(len(each.happenings) for each in soaked.result.groups) > 0


def test_an_account_that_does_not_add_up_is_red_on_its_page_and_at_the_end(tmp_path: Path) -> None:
    result = SoakResult(
        library=PYTHON,
        produced=10,
        duration_s=6.0,
        groups=(account(delivered=9, lost=("<b>0#1",), happenings=((1.5, "error <i>", "<u>"),)),),
    )
    folder = MadeUpClients(judgements=[], soak_s=6.0).write(tmp_path / "soak")
    (folder / KAFKA_NAME / f"soak-{PYTHON}.json").write_text(soak_to_json(result))
    run = load_clients(folder)

    assert soak_exit_code(run) is ExitCode.UNEXPECTED
    page = soak_site(run).read_text()
    assert "Not all is as it should be" in page
    assert "1 records were lost, the first is &lt;b&gt;0#1" in page
    assert not any(f"<{tag}>" in page for tag in "iu")
