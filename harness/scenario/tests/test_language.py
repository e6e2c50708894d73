import json
import sys
from types import FunctionType, ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scenario import (
    ANY,
    NON_EMPTY,
    Breakpoint,
    Capability,
    Conversation,
    ScenarioError,
    ask,
    containing,
    expect,
    in_any_order,
    one_of,
    record,
    scenario,
    script_from_json,
    script_to_json,
    starting_with,
    step_text,
)
from harness.scenario.bindings import Bindings
from harness.scenario.errors import UnboundReferenceError
from harness.scenario.matching import mismatches
from harness.scenario.registry import ScenarioFunction, collect, scenario_functions
from harness.scenario.script import Receive, Send
from harness.scenario.values import AnswerRef, Plus, Ref, from_json, to_json


def made(function: ScenarioFunction, **sheet: object) -> ScenarioFunction:
    facts: dict[str, object] = {"scenario_id": "classic/test/one", "source": "GroupMetadataManager#x"}
    return scenario(**{**facts, **sheet})(function)  # type: ignore[arg-type] # some are wrong on purpose


def beat(conversation: Conversation) -> None:
    """A member without a group is told so."""
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(member_id="nobody", generation_id=1))
    ana.receives(expect.heartbeat(error_code="UNKNOWN_MEMBER_ID"))


def test_who_asks_sends_and_receives() -> None:
    def in_one(conversation: Conversation) -> None:
        """A member without a group is told so."""
        conversation.actor("ana").asks(
            ask.heartbeat(member_id="nobody", generation_id=1), error_code="UNKNOWN_MEMBER_ID"
        )

    def by_response(conversation: Conversation) -> None:
        """A member without a group is told so."""
        refused = expect.heartbeat(error_code="UNKNOWN_MEMBER_ID")
        conversation.actor("ana").asks(ask.heartbeat(member_id="nobody", generation_id=1), refused)

    assert record(made(beat)) == record(made(in_one)) == record(made(by_response))


def test_nobody_asks_while_an_answer_is_awaited() -> None:
    def impatient(conversation: Conversation) -> None:
        """A member asks twice at once."""
        (ana,) = conversation.stable_group("ana")
        ana.sends(ask.heartbeat())
        ana.asks(ask.heartbeat(), error_code="NONE")

    with pytest.raises(ScenarioError, match="still awaits an answer"):
        record(made(impatient))


def test_recording_twice_gives_the_same_script() -> None:
    assert record(made(beat)) == record(made(beat))
    assert record(made(beat)).digest() == record(made(beat)).digest()


def test_a_script_survives_json() -> None:
    def everything(conversation: Conversation) -> None:
        """Every kind of step and value is written and read again."""
        ana, bob = conversation.stable_group("ana", "bob")
        answer = ana.repeats(
            ask.heartbeat(), until=expect.heartbeat(error_code=one_of("NONE", "UNKNOWN_MEMBER_ID"))
        )
        ana.sends(ask.heartbeat(generation_id=ana.generation_id - 1))
        ana.stays_parked(for_ms=10)
        ana.receives(expect.heartbeat(error_code=answer["error_code"]), not_before_ms=1, not_after_ms=9)
        bob.aside.sends(ask.leave_group(members=((bob.member_id, None),)))
        bob.aside.disconnects()
        bob.sends(ask.join_group(protocols=(("range", b"\x00\xff"),)))
        bob.receives(
            expect.join_group(members=in_any_order({"member_id": NON_EMPTY}), leader=starting_with("a"))
        )
        ana.sends_bytes(b"\x00\x01", says="two bytes")
        ana.finds_connection_closed()
        conversation.elapses(5)
        conversation.pauses_at(Breakpoint.LOADING)
        conversation.restarts_coordinator({"group.max.size": 1})
        conversation.resumes_from(Breakpoint.LOADING)
        conversation.moves_coordinator()
        ana.elsewhere.sends(ask.heartbeat())
        conversation.pauses_coordinator()
        conversation.resumes_coordinator()
        conversation.kills_coordinator()

    needs = tuple(Capability)
    script = record(made(everything, needs=needs, broker_config={"group.max.size": 2}))
    again = script_from_json(json.loads(json.dumps(script_to_json(script))))
    assert again == script
    assert [step_text(step) for step in again.steps] == [step_text(step) for step in script.steps]


def test_what_is_left_out_of_a_request_is_the_actors_own() -> None:
    conversation = Conversation()
    ana = conversation.actor("ana", group_instance_id="i-1")
    ana.sends(ask.join_group())
    ana.receives(expect.join_group(error_code="NONE"))
    ana.sends(ask.join_group())

    first, _, second = conversation.steps
    assert isinstance(first, Send)
    assert isinstance(second, Send)
    assert (first.fields["member_id"], first.fields["group_instance_id"]) == ("", "i-1")
    assert second.fields["member_id"] == Ref("ana", "member_id")


def test_a_field_that_the_version_lacks_is_left_out_only_when_nobody_named_it() -> None:
    conversation = Conversation()
    ana = conversation.actor("ana", group_instance_id="i-1")
    ana.sends(ask.heartbeat(version=2, member_id="m", generation_id=1))
    step = conversation.steps[0]
    assert isinstance(step, Send)
    assert "group_instance_id" not in step.fields


def test_an_answer_goes_to_the_oldest_open_request_of_its_connection() -> None:
    conversation = Conversation()
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(member_id="a", generation_id=1))
    ana.aside.sends(ask.heartbeat(member_id="b", generation_id=1))
    ana.sends(ask.heartbeat(member_id="c", generation_id=1))
    ana.receives(expect.heartbeat(error_code="NONE"))
    ana.receives(expect.heartbeat(error_code="NONE"))
    ana.aside.receives(expect.heartbeat(error_code="NONE"))
    assert [step.sent_at for step in conversation.steps if isinstance(step, Receive)] == [0, 2, 1]


def faulty(conversation: Conversation) -> None:
    """No full stop"""
    conversation.elapses(1)


def refers_to_nobody(conversation: Conversation) -> None:
    """A reference to an actor that never joined is refused."""
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(generation_id=1, member_id=ana.member_id))
    ana.receives(expect.heartbeat(error_code="NONE"))


def receives_too_much(conversation: Conversation) -> None:
    """An answer without a request is refused."""
    conversation.actor("ana").receives(expect.heartbeat(error_code="NONE"))


def receives_another_api(conversation: Conversation) -> None:
    """An answer of another API is refused."""
    ana = conversation.actor("ana")
    ana.sends(ask.heartbeat(generation_id=1, member_id="m"))
    ana.receives(expect.sync_group(error_code="NONE"))


def expects_a_field_of_another_version(conversation: Conversation) -> None:
    """A field that the response of that version lacks is refused."""
    ana = conversation.actor("ana")
    ana.sends(ask.join_group(version=6))
    ana.receives(expect.join_group(protocol_type="consumer"))


def restarts(conversation: Conversation) -> None:
    """A restart that was not announced is refused."""
    conversation.restarts_coordinator()
    beat(conversation)


def pins_nothing(conversation: Conversation) -> None:
    """An answer of which nothing is expected is no claim."""
    ana = conversation.actor("ana")
    ana.sends(ask.join_group())
    ana.receives(expect.join_group(error_code=ANY))


def fails(conversation: Conversation) -> None:
    """A function that fails is refused by name."""
    raise ZeroDivisionError


def misspells_a_keyword(conversation: Conversation) -> None:
    """An argument that a request does not have is refused where it is given."""
    conversation.actor("ana").sends(ask.heartbeat(member_id="m", generation=1))  # type: ignore[call-arg] # on purpose


def misspells_an_error_code(conversation: Conversation) -> None:
    """An error code that Kafka does not have is refused."""
    conversation.actor("ana").asks(
        ask.heartbeat(member_id="m", generation_id=1), error_code=one_of("NONE", "UNKNOWN_MEMBR_ID")
    )


@pytest.mark.parametrize(
    ("function", "sheet", "says"),
    [
        (faulty, {}, "one sentence.*expects nothing"),
        (beat, {"scenario_id": "Classic/x"}, "an id reads suite/subject"),
        (beat, {"source": "somewhere"}, "names no Kafka Class#method"),
        (beat, {"clauses": ("12",)}, "not a row of the catalogue"),
        (refers_to_nobody, {}, "refers to ana.member_id, who has received no answer"),
        (receives_too_much, {}, "no request of its own is open"),
        (receives_another_api, {}, "sent Heartbeat and cannot receive SyncGroup"),
        (
            expects_a_field_of_another_version,
            {},
            "expects 'protocol_type', which a JoinGroup v6 response lacks",
        ),
        (restarts, {}, "step 0 needs Capability.RESTART"),
        (pins_nothing, {}, "it expects nothing"),
        (
            fails,
            {},
            r"classic/test/one: its function fails: ZeroDivisionError\(\) in .*test_language.py, line \d+",
        ),
        (misspells_a_keyword, {}, r"unexpected keyword.* in .*test_language.py, line \d+"),
        (
            misspells_an_error_code,
            {},
            "step 1 expects the error code 'UNKNOWN_MEMBR_ID'; close to it: UNKNOWN_MEMBER_ID",
        ),
    ],
)
def test_a_faulty_scenario_is_refused_by_name(
    function: ScenarioFunction, sheet: dict[str, object], says: str
) -> None:
    with pytest.raises(ScenarioError, match=f"(?s){says}"):
        record(made(function, **sheet))


def test_two_scenarios_cannot_share_an_id(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("twins")
    module.__path__ = []
    for name in ("one", "two"):
        twin = FunctionType(beat.__code__, globals(), name)
        twin.__doc__, twin.__module__ = beat.__doc__, "twins"
        setattr(module, name, made(twin))
    monkeypatch.setitem(sys.modules, "twins", module)

    assert len(scenario_functions(module)) == 2
    with pytest.raises(ScenarioError, match="written twice"):
        collect("twins")


def test_a_scenario_that_another_module_made_is_collected_and_one_that_is_imported_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    makes, uses = ModuleType("makes"), ModuleType("uses")
    for name in ("own", "for_another"):
        scenario_made = FunctionType(beat.__code__, globals(), name)
        scenario_made.__doc__, scenario_made.__module__ = beat.__doc__, "makes"
        setattr(uses, name, made(scenario_made))
    makes.own = uses.own  # type: ignore[attr-defined]
    for module in (makes, uses):
        monkeypatch.setitem(sys.modules, module.__name__, module)

    assert [each.__name__ for each in scenario_functions(makes)] == ["own"]
    assert [each.__name__ for each in scenario_functions(uses)] == ["for_another"]


def test_several_packages_are_collected_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine", "others"):
        module = ModuleType(name)
        module.__path__ = []
        own = FunctionType(beat.__code__, globals(), name)
        own.__doc__, own.__module__ = beat.__doc__, name
        setattr(module, name, made(own, scenario_id=f"classic/beat/{name}"))
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("harness.scenario.registry.load_clauses", lambda _: {})

    assert list(collect("mine, others")) == ["classic/beat/mine", "classic/beat/others"]
    with pytest.raises(ScenarioError, match="written twice"):
        collect("mine,others,mine")


def test_nothing_but_data_can_stand_within_a_field() -> None:
    with pytest.raises(ScenarioError, match="ANY cannot stand within a field"):
        to_json({"groups": ({"error_code": ANY},)})  # type: ignore[dict-item] # wrong on purpose


def test_references_resolve_to_what_was_learnt_last_and_answers_to_their_step() -> None:
    bindings = Bindings(groups={"main": "g-1"})
    bindings.learn(step=1, actor="ana", api="JoinGroup", fields={"member_id": "m1", "generation_id": 4})
    bindings.learn(step=3, actor="ana", api="JoinGroup", fields={"member_id": "", "generation_id": -1})
    bindings.learn(step=5, actor="ana", api="JoinGroup", fields={"member_id": "m2", "generation_id": 5})
    assert bindings.resolve(Ref("ana", "member_id")) == "m2"
    assert bindings.resolve(AnswerRef(1, ("member_id",))) == "m1"
    assert bindings.resolve(Plus(Ref("ana", "generation_id"), -1)) == 4
    with pytest.raises(UnboundReferenceError, match=r"no answer brought bob\.member_id"):
        bindings.resolve(Ref("bob", "member_id"))


@pytest.mark.parametrize(
    ("pattern", "actual", "paths"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": 1}, {}, ["a"]),
        ({"a": 0}, {"a": False}, ["a"]),
        ({"a": ({"b": 1}, {"b": 2})}, {"a": [{"b": 1}, {"b": 3}]}, ["a[1].b"]),
        ({"a": ()}, {"a": [1]}, ["a"]),
        ({"a": in_any_order(1, 2)}, {"a": [2, 1]}, []),
        ({"a": in_any_order(1, 1)}, {"a": [2, 1]}, ["a"]),
        ({"a": containing(1)}, {"a": [2, 1]}, []),
        ({"a": containing(3)}, {"a": [2, 1]}, ["a"]),
        ({"a": one_of("x", "y")}, {"a": "y"}, []),
        ({"a": starting_with("x-")}, {"a": "y-1"}, ["a"]),
        ({"a": NON_EMPTY}, {"a": ""}, ["a"]),
    ],
)
def test_mismatches_name_their_place(pattern: object, actual: object, paths: list[str]) -> None:
    assert [mismatch.path for mismatch in mismatches(pattern, actual)] == paths  # type: ignore[arg-type] # plain patterns


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(alphabet="abc_", min_size=1), inner),
)


@pytest.mark.slow
@given(plain)
def test_plain_values_survive_json(value: object) -> None:
    assert from_json(json.loads(json.dumps(to_json(value)))) == value  # type: ignore[arg-type] # plain values


@pytest.mark.slow
@given(plain)
def test_a_plain_value_matches_itself(value: object) -> None:
    assert mismatches(value, value) == ()  # type: ignore[arg-type] # likewise
