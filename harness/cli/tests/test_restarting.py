"""What a command line says about restarts of an external broker, before anything is restarted."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.run import add_restarts, refuse_shared, restart_announcement
from harness.orchestration.plan import PlanError, parse_targets
from harness.runner.applicable import why_not_applicable
from harness.runner.sharing import broker_groups
from harness.scenario import Conversation, ask, record, scenario
from harness.targets.base.dialogue import Dialogue
from harness.targets.base.interface import ApiRange, Capability
from harness.targets.base.prepare import ask_until
from harness.targets.base.tcp import asking
from harness.targets.external.restarting import RestartCommand
from harness.targets.external.target import ExternalTarget
from harness.targets.secured.security import PLAINTEXT
from harness.targets.tests.test_guard import run_namespace
from harness.tests.completed_runs import catalogue
from harness.tests.made_events import BARE_BROKER
from harness.tests.mortal_broker import mortal_broker
from harness.wire.schema import api_key

EXTERNAL = "external:127.0.0.1:1"


@pytest.mark.parametrize(
    ("specs", "on", "command", "why"),
    [
        (["reference"], None, "true", "0 targets are external"),
        ([EXTERNAL, "external:127.0.0.1:2"], None, "true", "2 targets are external"),
        ([EXTERNAL], "spark://there:7077", "true", "executors do not run"),
        ([EXTERNAL], None, None, "no effect without --restart-command"),
    ],
)
def test_a_restart_command_for_anything_but_one_external_broker_is_refused(
    specs: list[str], on: str | None, command: str | None, why: str
) -> None:
    targets = parse_targets(specs, guards_external=True)
    with pytest.raises(PlanError, match=why):
        add_restarts(targets, command, on=on, is_shared=True)


@pytest.mark.slow
def test_a_broker_with_groups_of_others_is_not_restarted(tmp_path: Path) -> None:
    async def commit(dialogue: Dialogue) -> None:
        await dialogue.learn_versions()
        partition = {"partition_index": 0, "committed_offset": 7}
        fields = {"group_id": "payroll", "topics": [{"name": "orders", "partitions": [partition]}]}
        answer = await dialogue.ask("OffsetCommit", 2, fields)  # type: ignore[arg-type] # plain fields
        assert answer.rows("topics")

    async def have_group(port: int) -> None:
        async with asking("127.0.0.1", port) as session:
            await ask_until(session, commit, timeout_ms=20_000, failure=lambda: None)

    with mortal_broker(tmp_path) as broker:
        asyncio.run(RestartCommand(text=broker.restart_command).run("127.0.0.1", broker.port, PLAINTEXT))
        targets = parse_targets([f"external:{broker.address}"], guards_external=True)
        add_restarts(targets, broker.restart_command, on=None, is_shared=False)
        refuse_shared(targets)
        asyncio.run(have_group(broker.port))
        with pytest.raises(PlanError, match=r"groups that are not the harness's \('payroll'\)"):
            refuse_shared(targets)


def test_what_restarts_the_broker_runs_last_and_one_at_a_time() -> None:
    target = ExternalTarget("127.0.0.1", 1)
    target.restart_command = RestartCommand(text="true")
    scripts = [each for name, each in catalogue().items() if name.startswith(("loading/", "classic/"))]
    (group,) = broker_groups(scripts, target.capabilities)
    first, *others = group.cohorts
    assert not first.acts
    assert [len(each.scripts) for each in others] == [1] * len(others)
    assert [each.acts for each in others] == sorted(each.acts for each in others)
    assert others
    alone = sum(each.needs == (Capability.RESTART.value,) for each in scripts)
    assert f"{alone} of {len(scripts)} scenarios" in restart_announcement({each.id: each for each in scripts})


def test_a_restart_with_another_configuration_is_beyond_the_command() -> None:
    @scenario("loading/made/reconfigured", source="GroupCoordinator#x", needs=(Capability.RESTART,))
    def reconfigures(conversation: Conversation) -> None:
        """The broker restarts with another limit."""
        conversation.restarts_coordinator({"group.max.size": 2})
        conversation.actor("ana").asks(ask.heartbeat(member_id="m", generation_id=1), error_code="NONE")

    heartbeat = ApiRange(api_key=api_key("Heartbeat"), min_version=0, max_version=4)
    broker = replace(BARE_BROKER, api_ranges=(heartbeat,))
    restarting = {Capability.RESTART}
    why = why_not_applicable(record(reconfigures), restarting, broker, run_namespace=run_namespace(port=1))
    assert why is not None
    assert why.endswith("cannot set group.max.size")
