"""Two groups of real clients under load and upheavals on the reference; every record is accounted for."""

import asyncio
from pathlib import Path

from harness.clients.libraries import LIBRARIES
from harness.clients.run import ClientsPlan
from harness.clients.soak import GroupAccount
from harness.clients.soak_run import soak_all
from harness.targets.spec import parse_target


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
