"""Who may share a broker: shown on the reference, kept on disk, and turned into brokers."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from harness.orchestration.packing import is_alike, minds_topics, pack
from harness.orchestration.packings import packings
from harness.orchestration.reference_runs import Left, ReferenceRuns
from harness.orchestration.run_cache import RunCache
from harness.runner.sharing import BrokerGroup, Packing, asked_config, broker_groups
from harness.scenario import Capability, Conversation, Script, ask, expect, record, scenario
from harness.scenario.registry import collect
from harness.targets.base.conformance import CHECK_INTERVAL
from harness.targets.kafka.released import KafkaTarget

CAN = frozenset(Capability) - {Capability.CLUSTER}
LONG_METADATA = 100


def script(
    name: str, conversations: Callable[[Conversation], None], broker_config: Mapping[str, str] | None = None
) -> Script:
    def reported(conversation: Conversation) -> None:
        """Something is said."""
        conversations(conversation)

    needs = (Capability.RESTART,)
    return record(scenario(f"a/b/{name}", source="A#b", needs=needs, broker_config=broker_config)(reported))


def is_nobody(conversation: Conversation) -> None:
    heartbeat = ask.heartbeat(member_id="nobody", generation_id=1)
    conversation.actor("ana").asks(heartbeat, error_code="UNKNOWN_MEMBER_ID")


def three_join(conversation: Conversation) -> None:
    conversation.stable_group("ana", "bob", "eve")


def commits_much(conversation: Conversation) -> None:
    commit = ask.offset_commit(
        generation_id=-1, member_id="", topics={"orders": {0: (7, "m" * LONG_METADATA)}}
    )
    conversation.actor("ana").asks(commit, expect.offset_commit({"orders": {0: "NONE"}}))


def leaves_and_looks(conversation: Conversation) -> None:
    (ana,) = conversation.stable_group("ana")
    ana.asks(ask.leave_group(), expect.leave_group(error_code="NONE"))
    ana.asks(ask.describe_groups(), expect.describe_groups(error_code="NONE", group_state="Empty"))


def deletes_the_log(conversation: Conversation) -> None:
    deletion = ask.delete_topic("__consumer_offsets")
    conversation.actor("eve").asks(deletion, expect.delete_topic(error_code="NONE"))


def restarts(conversation: Conversation, config: Mapping[str, int] | None = None) -> None:
    is_nobody(conversation)
    conversation.restarts_coordinator(config)


class Counted(ReferenceRuns):
    """Runs that count themselves."""

    def __init__(self, profile: str = "4.4") -> None:
        super().__init__(profile)
        self.count = 0

    async def trace(self, script: Script, config: Mapping[str, str]) -> str:
        self.count += 1
        return await super().trace(script, config)


def runs_in(directory: Path, runs: ReferenceRuns | None = None, *, code: str = "code") -> RunCache:
    return RunCache(runs or Counted(), directory / "known.json", code)


def packed(directory: Path, *scripts: Script, merges: bool = True) -> Packing:
    return asyncio.run(pack(scripts, CAN, runs_in(directory), merges=merges))


def brokers_of(directory: Path, *scripts: Script, merges: bool = True) -> Sequence[BrokerGroup]:
    return broker_groups(scripts, CAN, packed(directory, *scripts, merges=merges))


def names(scripts: Sequence[Script]) -> list[str]:
    return [each.id.rpartition("/")[2] for each in scripts]


@pytest.mark.slow
def test_a_script_about_requests_that_the_release_does_not_serve_starts_no_broker(tmp_path: Path) -> None:
    # Kafka 3.9 refuses to start with fewer than ten members of a share group.
    scripts = [collect("suites")["share_groups/membership/full"]]

    for profile, configs in (("3.9", [{}]), ("4.4", [{"group.share.max.size": "2"}])):
        runs = runs_in(tmp_path / profile, Counted(profile))
        packing = asyncio.run(pack(scripts, CAN, runs))
        assert [each.broker_config for each in broker_groups(scripts, CAN, packing)] == configs


def test_scripts_that_do_not_notice_what_others_ask_for_share_a_broker(tmp_path: Path) -> None:
    scripts = (
        script("small", is_nobody, {"group.max.size": "2"}),
        script("short", is_nobody, {"offset.metadata.max.bytes": "10"}),
    )

    (broker_group,) = brokers_of(tmp_path, *scripts)

    assert dict(broker_group.broker_config) == {"group.max.size": "2", "offset.metadata.max.bytes": "10"}
    assert len(brokers_of(tmp_path, *scripts, merges=False)) == 2


@pytest.mark.parametrize("minds", [three_join, commits_much], ids=["members", "metadata"])
def test_a_script_that_notices_a_property_keeps_its_own_broker(
    minds: Callable[[Conversation], None], tmp_path: Path
) -> None:
    asked = {"group.max.size": "2", "offset.metadata.max.bytes": "10"}
    scripts = (script("other", is_nobody, asked), script("minds", minds, {"min.insync.replicas": "1"}))

    assert len(brokers_of(tmp_path, *scripts)) == 2


def test_scripts_that_ask_for_nothing_go_where_they_notice_nothing(tmp_path: Path) -> None:
    def acting(conversations: Callable[[Conversation], None]) -> Callable[[Conversation], None]:
        def reported(conversation: Conversation) -> None:
            conversations(conversation)
            conversation.restarts_coordinator()

        return reported

    small, large = {"group.max.size": "2"}, {"group.max.size": "9", "offset.metadata.max.bytes": "10"}
    scripts = (
        script("small", is_nobody, small),
        script("large", is_nobody, large),
        script("members", acting(three_join)),
        script("metadata", acting(commits_much)),
    )

    configs = packed(tmp_path, *scripts).configs

    assert (configs["a/b/small"], configs["a/b/large"]) == (small, large)
    assert (configs["a/b/members"], configs["a/b/metadata"]) == (large, small)
    assert len(configs) == 4


def test_two_values_of_one_property_are_never_one_broker(tmp_path: Path) -> None:
    scripts = [script(f"s{size}", is_nobody, {"group.max.size": size}) for size in ("2", "3")]
    assert len(brokers_of(tmp_path, *scripts)) == 2


PARTITIONS = "offsets.topic.num.partitions"


def is_placed(conversation: Conversation) -> None:
    conversation.group("main", partition=0)
    is_nobody(conversation)


@pytest.mark.parametrize(
    ("does", "broker_count"),
    [(is_nobody, 1), (restarts, 2), (deletes_the_log, 2), (is_placed, 2)],
)
def test_a_script_runs_with_more_partitions_if_nothing_shows_which_is_its_own(
    does: Callable[[Conversation], None], broker_count: int, tmp_path: Path
) -> None:
    scripts = (
        script("spread", restarts, {PARTITIONS: "5"}),
        script("anywhere", does, {"group.max.size": "2"}),
    )

    assert len(brokers_of(tmp_path, *scripts)) == broker_count


def test_a_script_alone_runs_with_what_it_asked_for(tmp_path: Path) -> None:
    alone = script("alone", is_nobody, {"group.max.size": "2"})
    (broker_group,) = brokers_of(tmp_path, alone)
    assert dict(broker_group.broker_config) == {"group.max.size": "2"}


def test_a_sweep_that_may_come_between_two_requests_is_found(tmp_path: Path) -> None:
    runs = runs_in(tmp_path)
    frequent = {CHECK_INTERVAL: "500"}
    one = script("leaves", leaves_and_looks)

    # In virtual time nothing comes between leaving and looking: the plain trace does not show it.
    assert asyncio.run(runs.trace(one, frequent)) == asyncio.run(runs.trace(one, {}))
    assert not asyncio.run(is_alike(one, frequent, runs))
    assert asyncio.run(is_alike(script("nobody", is_nobody), frequent, runs))


def test_whoever_changes_what_others_are_reported_has_a_broker_alone_for_its_time(tmp_path: Path) -> None:
    asked = {"group.max.size": "2"}
    scripts = (
        script("takes-all", deletes_the_log, asked),
        script("one", is_nobody, asked),
        script("two", is_nobody, asked),
    )

    (broker_group,) = brokers_of(tmp_path, *scripts)

    assert [names(each.scripts) for each in broker_group.cohorts] == [["one", "two"], ["takes-all"]]


def test_who_limits_what_all_clients_of_a_broker_use_is_alone_on_it(tmp_path: Path) -> None:
    asked = {"group.share.max.share.sessions": "1"}
    scripts = (
        script("one", is_nobody, asked),
        script("two", is_nobody, asked),
        script("other", is_nobody, {"group.max.size": "2"}),
        script("deletes", deletes_the_log),
    )

    limited, *others = brokers_of(tmp_path, *scripts)

    assert [names(each.scripts) for each in limited.cohorts] == [["one"], ["two"]]
    assert [names(each.scripts) for each in others] == [["other", "deletes"]]


@pytest.mark.parametrize("capabilities", [CAN, CAN | {Capability.CLUSTER}, frozenset[Capability]()])
def test_whoever_takes_the_log_away_is_alone_on_a_usual_broker(
    tmp_path: Path, capabilities: frozenset[Capability]
) -> None:
    scripts = (script("takes-log", deletes_the_log), script("one", is_nobody), script("two", is_nobody))
    packing = asyncio.run(pack(scripts, capabilities, runs_in(tmp_path)))

    for known in (packing, None):
        found = broker_groups(scripts, capabilities, known)
        cohorts = [names(each.scripts) for broker_group in found for each in broker_group.cohorts]
        assert cohorts == [["one", "two"], ["takes-log"]]
    # Only the brokers that the harness starts are packed, and no others' log is ever cleared.
    assert packing.to_clear == (
        {"a/b/takes-log"} if Capability.BROKER_CONFIG in capabilities else frozenset()
    )


def test_whoever_takes_the_log_away_acts_on_its_broker_alone(tmp_path: Path) -> None:
    def restarts_and_deletes(conversation: Conversation) -> None:
        restarts(conversation)
        deletes_the_log(conversation)

    scripts = (script("takes-log", restarts_and_deletes), script("one", restarts), script("two", restarts))
    found = brokers_of(tmp_path, *scripts)
    cohorts = [set(names(each.scripts)) for broker_group in found for each in broker_group.cohorts]
    assert {"takes-log"} in cohorts
    assert {"one", "two"} in cohorts


@pytest.mark.parametrize("profile", ["4.0.0", "4.4.0"])
def test_what_is_known_of_who_takes_the_log_away_needs_no_configuration(profile: str, tmp_path: Path) -> None:
    scripts = (script("takes-log", deletes_the_log), script("one", is_nobody))
    packing = asyncio.run(pack(scripts, CAN, runs_in(tmp_path, ReferenceRuns(profile))))
    assert bool(packing.final) is (profile == "4.0.0")


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "disturbs"), [("4.1.0", True), ("4.4", False), ("3.9.2", False)])
def test_a_write_that_delays_others_disturbs_them_where_the_release_has_that_fault(
    profile: str, *, disturbs: bool
) -> None:
    too_large = collect()["failures/too-large/commit"]
    runs = ReferenceRuns(profile)
    assert asyncio.run(runs.disturbs(too_large, too_large.broker_config)) is disturbs


@pytest.mark.slow
@pytest.mark.parametrize(("name", "is_minded"), [("refreshed", True), ("topic-deleted", False)])
def test_who_resolves_a_regular_expression_again_minds_topics_of_others(
    name: str, *, is_minded: bool
) -> None:
    waits = collect()[f"consumer_groups/regex/{name}"]
    assert asyncio.run(minds_topics(waits, asked_config(waits), ReferenceRuns("4.4"))) is is_minded


@pytest.mark.slow
def test_who_minds_topics_of_others_is_alone_on_its_broker(tmp_path: Path) -> None:
    waits = collect()["consumer_groups/regex/refreshed"]
    beside = script("one", is_nobody, waits.broker_config)
    packing = asyncio.run(pack((waits, beside), CAN, runs_in(tmp_path, ReferenceRuns("4.4"))))
    (broker_group,) = broker_groups((waits, beside), CAN, packing)
    assert sorted(names(each.scripts) for each in broker_group.cohorts) == [["one"], ["refreshed"]]


@pytest.mark.slow
def test_who_writes_nothing_minds_no_time_for_writes(tmp_path: Path) -> None:
    impatient = {"offsets.commit.timeout.ms": "2000"}
    heard = {"group.coordinator.rebalance.protocols": "classic"}
    disabled = collect()["consumer_groups/unavailable/disabled"]
    writes = script("writes", commits_much, impatient)
    for other, broker_count in ((disabled, 1), (script("other", commits_much, heard), 2)):
        packing = asyncio.run(pack((writes, other), CAN, runs_in(tmp_path, ReferenceRuns("4.4"))))
        assert len(broker_groups((writes, other), CAN, packing)) == broker_count


@pytest.mark.slow
async def test_what_a_script_leaves_behind_is_reported() -> None:
    runs = ReferenceRuns("4.4")
    unreadable = collect()["loading/unreadable/costs-the-partition"]
    assert await runs.left(script("restarts", restarts), {}) is Left.CLEAN
    assert await runs.left(unreadable, unreadable.broker_config) is Left.TO_CLEAR
    for limit in ("group.max.size", "group.consumer.max.size"):
        over_full = script("over-full", partial(restarts, config={limit: 1}))
        assert await runs.left(over_full, {}) is Left.SPOILT


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoils", ["loading/unreadable/every-api", "consumer_groups/loading/truncated-member"]
)
def test_a_partition_that_is_lost_to_others_is_found_wherever_it_is(spoils: str) -> None:
    lost = collect()[spoils]
    left = asyncio.run(ReferenceRuns("4.4").left(lost, lost.broker_config))
    assert left is Left.TO_CLEAR


def test_what_was_run_once_is_known_to_the_next_process_until_the_code_changes(tmp_path: Path) -> None:
    one = script("one", is_nobody)
    first, second, third = Counted(), Counted(), Counted()
    for runs, code in ((first, "code"), (second, "code"), (third, "changed")):
        known = runs_in(tmp_path, runs, code=code)
        asyncio.run(known.trace(one, {}))
        asyncio.run(known.trace(one, {}))
        known.keep()

    assert [first.count, second.count, third.count] == [1, 0, 1]


@pytest.mark.parametrize("content", ["", "[]", '{"code": "code"}', '{"code": "code", "known": 1}'])
def test_a_damaged_file_is_as_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(content)
    runs = Counted()
    asyncio.run(runs_in(tmp_path, runs).trace(script("one", is_nobody), {}))
    assert runs.count == 1


def test_a_target_of_a_profile_that_nobody_knows_shares_no_configured_broker() -> None:
    scripts = [script(f"s{number}", is_nobody, {"group.max.size": "2"}) for number in range(2)]
    target = KafkaTarget("3.9.2", profile="0.9")
    (packing,) = packings(scripts, [target]).values()
    found = broker_groups(scripts, target.capabilities, packing)
    assert [names(each.scripts) for each in found] == [["s0"], ["s1"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "left"), [("3.9.2-java", Left.SPOILT), ("4.0.0", Left.SPOILT), ("4.4.0", Left.CLEAN)]
)
def test_who_deletes_the_topic_of_all_groups_shares_a_broker_with_nobody(profile: str, left: Left) -> None:
    # The first Java coordinators answer others as before, and can write no more: no look at others shows it.
    takes_away = collect("suites")["admin/no-log/nobody-coordinates"]
    runs = ReferenceRuns(profile)

    assert asyncio.run(runs.disturbs(takes_away, takes_away.broker_config))
    assert asyncio.run(runs.left(takes_away, takes_away.broker_config)) is left
