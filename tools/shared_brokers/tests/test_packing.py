"""Who may share a broker: shown on the reference, and turned into brokers."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest

from harness.orchestration.reference_runs import is_alike
from harness.runner.sharing import BrokerGroup, Packing, asked_config, broker_groups
from harness.scenario import Capability, Conversation, Script, ask, expect, record, scenario
from harness.targets.base.conformance import CHECK_INTERVAL
from harness.tests.completed_runs import catalogue
from shared_brokers.packing import pack
from shared_brokers.proofs import Left, Proofs

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


def packed(*scripts: Script, profile: str = "4.4") -> Packing:
    return asyncio.run(pack(scripts, Proofs(profile)))


def brokers_of(*scripts: Script) -> Sequence[BrokerGroup]:
    return broker_groups(scripts, CAN, packed(*scripts))


def names(scripts: Sequence[Script]) -> list[str]:
    return [each.id.rpartition("/")[2] for each in scripts]


def test_scripts_that_do_not_notice_what_others_ask_for_share_a_broker() -> None:
    scripts = (
        script("small", is_nobody, {"group.max.size": "2"}),
        script("short", is_nobody, {"offset.metadata.max.bytes": "10"}),
    )

    (broker_group,) = brokers_of(*scripts)

    assert dict(broker_group.broker_config) == {"group.max.size": "2", "offset.metadata.max.bytes": "10"}


@pytest.mark.parametrize("minds", [three_join, commits_much], ids=["members", "metadata"])
def test_a_script_that_notices_a_property_keeps_its_own_broker(minds: Callable[[Conversation], None]) -> None:
    asked = {"group.max.size": "2", "offset.metadata.max.bytes": "10"}
    scripts = (script("other", is_nobody, asked), script("minds", minds, {"min.insync.replicas": "1"}))

    assert len(brokers_of(*scripts)) == 2


def test_scripts_that_ask_for_nothing_go_where_they_notice_nothing() -> None:
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

    configs = packed(*scripts).configs

    assert (configs["a/b/small"], configs["a/b/large"]) == (small, large)
    assert (configs["a/b/members"], configs["a/b/metadata"]) == (large, small)
    assert len(configs) == 4


def test_two_values_of_one_property_are_never_one_broker() -> None:
    scripts = [script(f"s{size}", is_nobody, {"group.max.size": size}) for size in ("2", "3")]
    assert len(brokers_of(*scripts)) == 2
    asked = {"message.max.bytes": "9000"}, {"offsets.topic.compression.codec": "1"}
    scripts = [script(next(iter(each)), is_nobody, each) for each in asked]
    assert len(brokers_of(*scripts)) == 2, "what is compressed fits"


PARTITIONS = "offsets.topic.num.partitions"


def is_placed(conversation: Conversation) -> None:
    conversation.group("main", partition=0)
    is_nobody(conversation)


@pytest.mark.parametrize(
    ("does", "broker_count"),
    [(is_nobody, 1), (restarts, 2), (deletes_the_log, 2), (is_placed, 2)],
)
def test_a_script_runs_with_more_partitions_if_nothing_shows_which_is_its_own(
    does: Callable[[Conversation], None], broker_count: int
) -> None:
    scripts = (
        script("spread", restarts, {PARTITIONS: "5"}),
        script("anywhere", does, {"group.max.size": "2"}),
    )

    assert len(brokers_of(*scripts)) == broker_count


def test_a_script_alone_runs_with_what_it_asked_for() -> None:
    alone = script("alone", is_nobody, {"group.max.size": "2"})
    (broker_group,) = brokers_of(alone)
    assert dict(broker_group.broker_config) == {"group.max.size": "2"}


def test_a_sweep_that_may_come_between_two_requests_is_found() -> None:
    runs = Proofs("4.4")
    frequent = {CHECK_INTERVAL: "500"}
    one = script("leaves", leaves_and_looks)

    # In virtual time nothing comes between leaving and looking: the plain trace does not show it.
    assert asyncio.run(runs.trace(one, frequent)) == asyncio.run(runs.trace(one, {}))
    assert not asyncio.run(is_alike(one, frequent, runs))
    assert asyncio.run(is_alike(script("nobody", is_nobody), frequent, runs))


def test_whoever_changes_what_others_are_reported_has_a_broker_alone_for_its_time() -> None:
    asked = {"group.max.size": "2"}
    scripts = (
        script("takes-all", deletes_the_log, asked),
        script("one", is_nobody, asked),
        script("two", is_nobody, asked),
    )

    (broker_group,) = brokers_of(*scripts)

    assert [names(each.scripts) for each in broker_group.cohorts] == [["one", "two"], ["takes-all"]]


def test_who_limits_what_all_clients_of_a_broker_use_is_alone_on_it() -> None:
    asked = {"group.share.max.share.sessions": "1"}
    scripts = (
        script("one", is_nobody, asked),
        script("two", is_nobody, asked),
        script("other", is_nobody, {"group.max.size": "2"}),
        script("deletes", deletes_the_log),
    )

    limited, *others = brokers_of(*scripts)

    assert [names(each.scripts) for each in limited.cohorts] == [["one"], ["two"]]
    assert [names(each.scripts) for each in others] == [["other", "deletes"]]


@pytest.mark.parametrize("capabilities", [CAN, CAN | {Capability.CLUSTER}, frozenset[Capability]()])
def test_whoever_takes_the_log_away_is_alone_on_a_usual_broker(capabilities: frozenset[Capability]) -> None:
    scripts = (script("takes-log", deletes_the_log), script("one", is_nobody), script("two", is_nobody))
    packing = packed(*scripts)

    for known in (packing, None):
        found = broker_groups(scripts, capabilities, known)
        cohorts = [names(each.scripts) for broker_group in found for each in broker_group.cohorts]
        assert cohorts == [["one", "two"], ["takes-log"]]
    assert packing.to_clear == {"a/b/takes-log"}


def test_whoever_takes_the_log_away_acts_on_its_broker_alone() -> None:
    def restarts_and_deletes(conversation: Conversation) -> None:
        restarts(conversation)
        deletes_the_log(conversation)

    scripts = (script("takes-log", restarts_and_deletes), script("one", restarts), script("two", restarts))
    found = brokers_of(*scripts)
    cohorts = [set(names(each.scripts)) for broker_group in found for each in broker_group.cohorts]
    assert {"takes-log"} in cohorts
    assert {"one", "two"} in cohorts


@pytest.mark.parametrize("profile", ["4.0.0", "4.4.0"])
def test_what_is_known_of_who_takes_the_log_away_needs_no_configuration(profile: str) -> None:
    scripts = (script("takes-log", deletes_the_log), script("one", is_nobody))
    packing = packed(*scripts, profile=profile)
    assert bool(packing.final) is (profile == "4.0.0")


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "disturbs"), [("4.1.0", True), ("4.4", False), ("3.9.2", False)])
def test_a_write_that_delays_others_disturbs_them_where_the_release_has_that_fault(
    profile: str, *, disturbs: bool
) -> None:
    too_large = catalogue()["failures/too-large/commit"]
    runs = Proofs(profile)
    assert asyncio.run(runs.disturbs(too_large, too_large.broker_config)) is disturbs


@pytest.mark.slow
@pytest.mark.parametrize(("name", "is_minded"), [("refreshed", True), ("topic-deleted", False)])
def test_who_resolves_a_regular_expression_again_minds_topics_of_others(
    name: str, *, is_minded: bool
) -> None:
    waits = catalogue()[f"consumer_groups/regex/{name}"]
    assert asyncio.run(Proofs("4.4").minds_topics(waits, asked_config(waits))) is is_minded


@pytest.mark.slow
def test_who_minds_topics_of_others_is_alone_on_its_broker() -> None:
    waits = catalogue()["consumer_groups/regex/refreshed"]
    beside = script("one", is_nobody, waits.broker_config)
    packing = packed(waits, beside)
    (broker_group,) = broker_groups((waits, beside), CAN, packing)
    assert sorted(names(each.scripts) for each in broker_group.cohorts) == [["one"], ["refreshed"]]


@pytest.mark.slow
def test_who_writes_nothing_minds_no_time_for_writes() -> None:
    impatient = {"offsets.commit.timeout.ms": "2000"}
    heard = {"group.coordinator.rebalance.protocols": "classic"}
    disabled = catalogue()["consumer_groups/unavailable/disabled"]
    writes = script("writes", commits_much, impatient)
    for other, broker_count in ((disabled, 1), (script("other", commits_much, heard), 2)):
        packing = packed(writes, other)
        assert len(broker_groups((writes, other), CAN, packing)) == broker_count


@pytest.mark.slow
async def test_what_a_script_leaves_behind_is_reported() -> None:
    runs = Proofs("4.4")
    unreadable = catalogue()["loading/unreadable/costs-the-partition"]
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
    lost = catalogue()[spoils]
    left = asyncio.run(Proofs("4.4").left(lost, lost.broker_config))
    assert left is Left.TO_CLEAR


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "left"), [("3.9.2-java", Left.SPOILT), ("4.0.0", Left.SPOILT), ("4.4.0", Left.CLEAN)]
)
def test_who_deletes_the_topic_of_all_groups_shares_a_broker_with_nobody(profile: str, left: Left) -> None:
    # The first Java coordinators answer others as before, and can write no more: no look at others shows it.
    takes_away = catalogue()["admin/no-log/nobody-coordinates"]
    runs = Proofs(profile)

    assert asyncio.run(runs.disturbs(takes_away, takes_away.broker_config))
    assert asyncio.run(runs.left(takes_away, takes_away.broker_config)) is left
