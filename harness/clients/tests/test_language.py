"""Client scripts as data, and the assignments that suites compute for themselves."""

import subprocess
import sys

import pytest

from harness.clients.collect import collect_client_scripts, record, select_client_scripts
from harness.clients.language import COOPERATIVE, Feature, Play, again, client_script
from harness.clients.names import Names
from harness.clients.steps import Deliver, Launch, Settle, Verb, step_text, step_to_json
from harness.scenario.errors import ScenarioError
from suites.clients.assignments import by_range, by_round_robin


def test_every_script_of_the_suites_says_itself_in_words_and_as_data() -> None:
    for script in collect_client_scripts().values():
        for step in script.steps:
            assert step_to_json(step)["text"] == step_text(step) != ""


def test_what_a_script_expects_gives_each_partition_to_one_member() -> None:
    for script in collect_client_scripts().values():
        for step in script.steps:
            if isinstance(step, Settle):
                assert len(set(step.partitions)) == len(step.partitions), script.id
                assert step.owns is not None or sum(step.sizes) == len(step.partitions), script.id


def test_a_group_that_may_be_shared_out_freely_says_why() -> None:
    settles = [
        step for each in collect_client_scripts().values() for step in each.steps if isinstance(step, Settle)
    ]

    assert all(step.because for step in settles if step.owns is None)


def test_settings_tell_what_a_script_needs_of_a_library() -> None:
    scripts = collect_client_scripts()

    assert Feature.COOPERATIVE in scripts["clients/rebalance/cooperative"].uses
    assert Feature.STATIC in scripts["clients/static/older-is-fenced"].uses
    assert Feature.TRANSACTIONS in scripts["clients/delivery/exactly-once"].uses


def test_a_pattern_that_names_no_script_is_refused() -> None:
    scripts = collect_client_scripts()

    assert [each.id for each in select_client_scripts(scripts, ["clients/position/*"])] == [
        "clients/position/pause",
        "clients/position/seek",
    ]
    with pytest.raises(ScenarioError, match="no client script"):
        select_client_scripts(scripts, ["clients/nothing"])


def test_two_clients_cannot_have_one_name() -> None:
    @client_script("clients/faulty/twice", source="none")
    def twice(play: Play) -> None:
        """Someone comes twice."""
        play.client("ana")
        play.client("ana")

    with pytest.raises(ScenarioError, match="there is a client ana already"):
        record(twice)


def test_range_gives_the_first_members_the_rest_of_each_topic() -> None:
    play = Play()
    first, second = play.topic("t0", partitions=3), play.topic("t1", partitions=3)
    ana, bob = play.client("ana"), play.client("bob")

    assert by_range({ana: [first, second], bob: [first, second]}) == {
        ana: ["t0-0", "t0-1", "t1-0", "t1-1"],
        bob: ["t0-2", "t1-2"],
    }


def test_round_robin_passes_over_who_has_not_subscribed() -> None:
    play = Play()
    topics = [play.topic(f"t{number}", partitions=number + 1) for number in range(3)]
    ana, bob, cid = (play.client(name) for name in ("ana", "bob", "cid"))

    assert by_round_robin({ana: topics[:1], bob: topics[:2], cid: topics}) == {
        ana: ["t0-0"],
        bob: ["t1-0"],
        cid: ["t1-1", "t2-0", "t2-1", "t2-2"],
    }


def test_members_learn_soon_of_a_rebalance_unless_a_script_says_otherwise() -> None:
    play = Play()
    play.client("ana", assignor=COOPERATIVE)
    play.client("bob", heartbeat_interval_ms=3000)

    launches = [step for step in play.steps if isinstance(step, Launch)]
    assert [step.settings["heartbeat_interval_ms"] for step in launches] == [500, 3000]


def test_what_was_produced_is_what_must_be_delivered() -> None:
    play = Play()
    orders = play.topic("orders", partitions=2)
    writer = play.client("writer", group=None)
    writer.produces(orders, each=2)
    writer.produces(orders, each=1)
    play.delivers([writer], orders.values(since=2))

    (deliver,) = (step for step in play.steps if isinstance(step, Deliver))
    assert deliver.values == {"orders-0": ("orders-0#2",), "orders-1": ("orders-1#2",)}


def test_what_comes_again_is_called_by_its_delivery() -> None:
    assert again({"orders-0": ("orders-0#0",)}, 3) == {"orders-0": ("orders-0#0, delivery 3",)}
    assert again({"orders-0": ("orders-0#0",)}, 1) == {"orders-0": ("orders-0#0",)}


def test_of_repeated_deliveries_it_may_not_matter_which_it_is() -> None:
    play = Play()
    ana = play.client("ana")
    for delivery in (2, 3, 1):
        play.delivers([ana], again({"orders-0": ("orders-0#0",)}, delivery), counted=False)

    names = [step.values["orders-0"] for step in play.steps if isinstance(step, Deliver)]
    assert names == [("orders-0#0, again",), ("orders-0#0, again",), ("orders-0#0",)]


def test_a_clients_process_loads_nothing_of_targets_and_of_the_wire() -> None:
    loads = "import sys, harness.clients.apps.application; print(*sys.modules)"

    reported = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)

    modules = [each for each in reported.stdout.split() if each.startswith("harness.")]
    assert "harness.clients.steps" in modules
    assert not any(each.startswith(("harness.targets", "harness.wire")) for each in modules)


def test_names_are_a_runs_own_and_come_back_as_the_scripts() -> None:
    names = Names("pause.1a2b.")

    assert names.split("orders.east-3") == ("pause.1a2b.orders.east", 3)
    assert names.partitions([["pause.1a2b.orders.east", 3], ["pause.1a2b.orders", 0]]) == (
        "orders-0",
        "orders.east-3",
    )
    assert names.settings({"group_id": "group", "assignor": "range"}) == {
        "group_id": "pause.1a2b.group",
        "assignor": "range",
    }
    assert names.arguments(Verb.SUBSCRIBE_PATTERN, {"pattern": "orders.*"}) == {
        "pattern": r"pause\.1a2b\.orders.*"
    }
    offsets = [["pause.1a2b.orders", 1, 4], ["pause.1a2b.orders", 0, None]]
    assert names.answer(Verb.COMMITTED, {"facts": offsets}) == {"orders-1": 4, "orders-0": None}
    assert names.answer(Verb.LOST_COMMITS, {"facts": [["pause.1a2b.orders", 1, 4, 2]]}) == [
        ["orders-1", 4, 2]
    ]
    assert names.answer(Verb.TAKE, {"facts": 3}) == 3
    described = {
        "state": "STABLE",
        "members": [["ana", [["pause.1a2b.orders", 1], ["pause.1a2b.orders", 0]]]],
        "offsets": [["pause.1a2b.orders", 0, 2, 5]],
    }
    assert names.answer(Verb.DESCRIBE, {"facts": described}) == {
        "state": "STABLE",
        "members": {"ana": ["orders-0", "orders-1"]},
        "offsets": {"orders-0": [2, 5]},
    }
    assert names.arguments(Verb.SEEK, {"partition": "orders-1", "offset": 4}) == {
        "partitions": [["pause.1a2b.orders", 1]],
        "offset": 4,
    }


def test_what_is_reported_of_new_groups_comes_back_in_the_scripts_names() -> None:
    names = Names("pause.1a2b.")
    shared = {
        "state": "STABLE",
        "members": [["ana", [["pause.1a2b.orders", 0]]]],
        "offsets": [["pause.1a2b.orders", 0, None]],
    }
    assert names.answer(Verb.DESCRIBE_SHARE, {"facts": shared}) == {
        "state": "STABLE",
        "members": {"ana": ["orders-0"]},
        "offsets": {"orders-0": None},
    }
    streams = {"state": "STABLE", "tasks": {"ana": [1, 0, 0]}, "offsets": [["pause.1a2b.orders", 0, 2]]}
    assert names.answer(Verb.DESCRIBE_STREAMS, {"facts": streams}) == {
        "state": "STABLE",
        "tasks": {"ana": [1, 0, 0]},
        "offsets": {"orders-0": 2},
    }
