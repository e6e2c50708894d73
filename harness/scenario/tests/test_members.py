"""Members of consumer groups: what scripts make of them, and what traces make of what they are assigned."""

from collections.abc import Mapping, Sequence

import pytest

from harness.scenario import Conversation, Member, ScenarioError, ask, expect, record, scenario
from harness.scenario.bindings import Bindings
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.registry import ScenarioFunction
from harness.scenario.script import Receive, Repeat, Script, Send, script_from_json, script_to_json, step_text
from harness.scenario.values import GroupRef, Plus, Ref, TopicId
from harness.trace.canonical import Canonicaliser

ORDERS_ID, PAYMENTS_ID = "11111111-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000009"


def recorded(function: ScenarioFunction) -> Script:
    return record(scenario("consumer_groups/test/one", source="GroupMetadataManager#x")(function))


def sent(script: Script) -> list[Mapping[str, object]]:
    return [step.fields for step in script.steps if isinstance(step, Send)]


def heartbeat_answer(
    topic_partitions: Sequence[object] | None, *, epoch: int = 2, error: str = "NONE"
) -> dict[str, object]:
    return {
        "error_code": error,
        "member_id": None if error != "NONE" else "member-ana",
        "member_epoch": epoch,
        "assignment": None if topic_partitions is None else {"topic_partitions": topic_partitions},
    }


def metadata(**ids: str) -> dict[str, object]:
    return {"topics": [{"name": name, "topic_id": each, "error_code": "NONE"} for name, each in ids.items()]}


def test_a_member_has_the_same_id_in_every_run_and_looks_topics_up_once() -> None:
    def joins_and_goes_on(conversation: Conversation) -> None:
        """A member says who it is."""
        ana = conversation.member("ana", instance_id="one")
        joined = ana.enters("orders", assigned={"orders": (0, 1)})
        ana.heartbeats(owned={"orders": (0,)}, member_epoch=joined["member_epoch"] + 1)

    script = recorded(joins_and_goes_on)

    first, second = sent(script)
    assert (first["member_id"], first["member_epoch"], first["instance_id"]) == ("member-ana", 0, "one")
    assert first["topic_partitions"] == ()
    assert second["member_epoch"] == Ref("ana", "member_epoch")
    assert second["topic_partitions"] == ({"topic_id": TopicId("orders"), "partitions": (0,)},)
    assert [type(step) for step in script.steps] == [Repeat, Send, Receive, Send, Receive]
    last = script.steps[-1]
    assert isinstance(last, Receive)
    assert isinstance(last.fields["member_epoch"], Plus)
    assert script_from_json(script_to_json(script)) == script


def test_an_empty_list_is_said_and_null_is_not() -> None:
    def says_what_it_owns(conversation: Conversation) -> None:
        """A member says what it owns."""
        ana = conversation.member("ana")
        ana.heartbeats(epoch=1, owned={}, topics=())
        ana.heartbeats(epoch=1)

    script = recorded(says_what_it_owns)

    texts = [step_text(step) for step in script.steps if isinstance(step, Send)]
    assert "subscribed_topic_names [], topic_partitions []" in texts[0]
    assert "topic" not in texts[1]


def test_a_topic_that_nobody_looked_up_is_a_fault_of_the_script() -> None:
    def names_an_unknown_topic(conversation: Conversation) -> None:
        """A member names a topic."""
        ana = conversation.member("ana")
        conversation.known_topics.add("orders")
        ana.heartbeats(epoch=1, owned={"orders": (0,)})

    with pytest.raises(ScenarioError, match="topic:orders, which nobody has looked up"):
        recorded(names_an_unknown_topic)


def test_a_topic_is_known_from_any_answer_to_metadata() -> None:
    def asks_for_it(conversation: Conversation) -> None:
        """Somebody asks for a topic, and a member names it."""
        ana = conversation.member("ana")
        ana.asks(ask.metadata(("orders",)), expect.metadata(("orders",)))
        conversation.known_topics.add("orders")
        ana.heartbeats(epoch=1, owned={"orders": (0,)})

    script = recorded(asks_for_it)

    assert "topic:orders" in step_text(script.steps[-2])


def test_who_reconciles_owns_what_it_was_heartbeat_answer() -> None:
    def two_share(conversation: Conversation) -> None:
        """Members share partitions."""
        ana, bob = conversation.members("ana", "bob")
        ana.enters()
        bob.enters()
        conversation.reconciles(ana, bob, rounds=2)

    script = recorded(two_share)

    owned = [fields["topic_partitions"] for fields in sent(script)[2:]]
    assert owned == [Ref("ana", "topic_partitions"), Ref("bob", "topic_partitions")] * 2
    last = script.steps[-1]
    assert isinstance(last, Receive)
    assert last.fields == {
        "error_code": "NONE",
        "member_epoch": Ref("bob", "member_epoch"),
        "assignment": None,
    }


def test_a_member_learns_its_epoch_and_partitions_but_nothing_from_an_error() -> None:
    bindings = Bindings(groups={})
    part = [{"topic_id": ORDERS_ID, "partitions": [0]}]
    epoch, assigned = Ref("ana", "member_epoch"), Ref("ana", "topic_partitions")

    def hears(answer: Mapping[str, object]) -> tuple[object, object]:
        bindings.learn(step=0, actor="ana", api="ConsumerGroupHeartbeat", fields=answer)
        return bindings.resolve(epoch), bindings.resolve(assigned)

    assert hears(heartbeat_answer(part)) == (2, part)
    assert hears(heartbeat_answer(None, epoch=3)) == (3, part)
    assert hears(heartbeat_answer(None, epoch=0, error="FENCED_MEMBER_EPOCH")) == (3, part)
    assert hears(heartbeat_answer([], epoch=4)) == (4, [])


def test_a_topic_is_named_by_its_newest_id() -> None:
    bindings = Bindings(groups={"topic": "run.topic"})
    with pytest.raises(UnboundReferenceError, match="topic:orders"):
        bindings.resolve(TopicId("orders"))

    learnt = metadata(**{"orders": ORDERS_ID, "run.topic": PAYMENTS_ID})
    bindings.learn(step=0, actor="ana", api="Metadata", fields=learnt)
    assert bindings.resolve(TopicId(GroupRef("topic"))) == PAYMENTS_ID
    bindings.learn(step=1, actor="bob", api="Metadata", fields=metadata(orders=PAYMENTS_ID))
    assert bindings.resolve(TopicId("orders")) == PAYMENTS_ID


def test_assignments_read_alike_whatever_the_ids_and_the_order() -> None:
    def canonical(orders: str, payments: str, *, turned: bool) -> object:
        canonicaliser = Canonicaliser(groups={})
        known = metadata(orders=orders, payments=payments)
        canonicaliser.canonical(actor="ana", api="Metadata", fields=known)  # type: ignore[arg-type] # plain data
        parts = [{"topic_id": orders, "partitions": [2, 10, 0]}, {"topic_id": payments, "partitions": [1]}]
        answer = heartbeat_answer(parts[::-1] if turned else parts)
        return canonicaliser.canonical(actor="ana", api="ConsumerGroupHeartbeat", fields=answer)  # type: ignore[arg-type] # plain data

    one = canonical(ORDERS_ID, PAYMENTS_ID, turned=False)
    assert one == canonical(PAYMENTS_ID, ORDERS_ID, turned=True)
    assert isinstance(one, dict)
    assert one["member_id"] == "member:ana"
    assert one["assignment"] == {
        "topic_partitions": [
            {"topic_id": "topic:orders", "partitions": [0, 2, 10]},
            {"topic_id": "topic:payments", "partitions": [1]},
        ]
    }


def test_another_connection_is_of_the_same_member() -> None:
    ana = Conversation().member("ana")
    assert isinstance(ana.aside, Member)
    assert ana.aside.member_id == ana.member_id
