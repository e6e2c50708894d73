import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.mutants.derive import (
    behaviour_names,
    decisive_behaviours,
    derive_mutants,
    function_mutants,
)
from harness.mutants.faults.checks import check_faults
from harness.mutants.faults.fields import field_faults
from harness.mutants.faults.guards import guard_faults
from harness.mutants.faults.places import Fault, around_difference
from harness.mutants.faults.timers import timer_faults
from harness.mutants.source import FUNCTIONS_LEFT_OUT, LEFT_OUT, Function, Source, every_source

Derive = Callable[[ast.FunctionDef], Iterator[Fault]]


def function(text: str) -> ast.FunctionDef:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def mutated(text: str, derive: Derive) -> list[tuple[str, str]]:
    """Every fault's name and the function's body as it becomes, in one line."""
    node = function(text)
    found = []
    for fault in list(derive(node)):
        undo = fault.edit.apply()
        body = "; ".join(" ".join(ast.unparse(each).split()) for each in node.body)
        undo.apply()
        found.append((fault.name, body))
    assert ast.unparse(node) == ast.unparse(function(text))
    return found


def test_a_check_is_dropped_and_exchanged_with_the_next_one() -> None:
    text = "def f(x):\n    if x > 1:\n        raise A\n    validate_it(x)\n    return x"
    assert mutated(text, check_faults) == [
        ("check-dropped", "pass; validate_it(x); return x"),
        ("checks-swapped", "validate_it(x); if x > 1: raise A; return x"),
        ("check-dropped", "if x > 1: raise A; pass; return x"),
    ]


def test_the_order_of_two_tests_matters_where_the_first_finds_something() -> None:
    node = function("def f(x):\n    if x > 1:\n        raise A\n    if x > 0:\n        raise B\n    return x")
    swapped = next(fault for fault in check_faults(node) if fault.name == "checks-swapped")
    assert list(swapped.lines) == [3]


def test_the_order_of_a_checking_call_and_what_follows_always_matters() -> None:
    node = function("def f(x):\n    validate_it(x)\n    if x > 0:\n        raise B\n    return x")
    swapped = next(fault for fault in check_faults(node) if fault.name == "checks-swapped")
    assert list(swapped.lines) == [2]


def test_an_arm_of_a_chain_is_dropped_and_exchanged_with_the_next_one() -> None:
    text = "def f(x):\n  if a:\n    g(Errors.ONE)\n  elif b:\n    g(Errors.TWO)\n  else:\n    h()"
    assert mutated(text, check_faults) == [
        ("check-dropped", "if b: g(Errors.TWO) else: h()"),
        ("checks-swapped", "if b: g(Errors.TWO) elif a: g(Errors.ONE) else: h()"),
        ("check-dropped", "if a: g(Errors.ONE) else: h()"),
    ]


def test_checks_that_end_alike_are_not_exchanged() -> None:
    text = "def f(x):\n    if a:\n        return 1\n    if b:\n        return 1\n    return 2"
    assert [name for name, _ in mutated(text, check_faults)] == ["check-dropped", "check-dropped"]


def test_a_branch_of_a_match_that_refuses_is_dropped() -> None:
    text = "def f(x):\n  match x:\n    case 1:\n      raise Refusal(Errors.ONE)\n    case _:\n      g()"
    assert mutated(text, check_faults) == [("check-dropped", "match x: case 1: pass case _: g()")]


def test_what_states_an_invariant_is_let_be() -> None:
    text = (
        "def f(x):\n    assert x > 1\n    if a:\n        raise AssertionError('never')\n    assert_never(x)"
    )
    assert mutated(text, check_faults) == []
    assert mutated(text, guard_faults) == [
        ("test-negated", "assert x > 1; if not a: raise AssertionError('never'); assert_never(x)")
    ]


def test_a_deadline_is_not_set_or_twice_as_far_away_or_not_lifted() -> None:
    text = "def f(s):\n    s.timers.schedule(KEY, s.now_ms + delay_ms, D)\n    s.timers.cancel(KEY)"
    assert mutated(text, timer_faults) == [
        ("schedule-dropped", "pass; s.timers.cancel(KEY)"),
        ("deadline-doubled", "s.timers.schedule(KEY, s.now_ms + 2 * delay_ms, D); s.timers.cancel(KEY)"),
        ("cancel-dropped", "s.timers.schedule(KEY, s.now_ms + delay_ms, D); pass"),
    ]


def test_durations_handed_to_what_schedules_are_doubled() -> None:
    text = (
        "def f(s):\n    _schedule_join(s, group.rebalance_timeout_ms)\n    reschedule_it(s, timeout_ms=LONG)"
    )
    assert [body for name, body in mutated(text, timer_faults) if name == "deadline-doubled"] == [
        "_schedule_join(s, 2 * group.rebalance_timeout_ms); reschedule_it(s, timeout_ms=LONG)",
        "_schedule_join(s, group.rebalance_timeout_ms); reschedule_it(s, timeout_ms=2 * LONG)",
    ]


def test_fields_of_responses_and_error_codes_become_others() -> None:
    text = "def f(x):\n    return Answer(name=x, code=Errors.ONE, items=())"
    declared = {"Answer": {"name": "str | None", "code": "Errors", "items": "tuple[int, ...]"}}
    assert mutated(text, lambda node: field_faults(node, declared)) == [
        ("name-replaced", "return Answer(name=other_than(x, ''), code=Errors.ONE, items=())"),
        ("error-replaced", "return Answer(name=x, code=Errors.UNKNOWN_SERVER_ERROR, items=())"),
    ]


def test_what_is_no_response_keeps_its_fields() -> None:
    assert mutated("def f(x):\n    return Record(name=x)", lambda node: field_faults(node, {})) == []


def test_comparisons_are_reversed_and_limits_moved() -> None:
    assert [body for _, body in mutated("def f(x):\n    return x < 1", guard_faults)] == [
        "return x >= 1",
        "return x <= 1",
    ]
    assert [body for _, body in mutated("def f(x):\n    return 0 <= x < 9", guard_faults)] == [
        "return 0 < x < 9",
        "return 0 <= x <= 9",
        "return not 0 <= x < 9",
    ]


def test_boolean_operators_are_exchanged_and_operands_negated() -> None:
    assert mutated("def f(x):\n    if a and not b:\n        g()", guard_faults) == [
        ("and-or-exchanged", "if a or not b: g()"),
        ("test-negated", "if not a and (not b): g()"),
        ("negation-dropped", "if a and b: g()"),
    ]


def test_a_default_for_what_may_be_missing_is_no_decision() -> None:
    assert [name for name, _ in mutated("def f(x):\n    return x or ''", guard_faults)] == [
        "and-or-exchanged"
    ]


def test_an_id_counts_the_faults_of_one_name_in_a_function() -> None:
    text = "def f(x):\n    return x == 1 or x == 2"
    source = Source(name="some.module", path=Path("module.py"), tree=ast.parse(text))
    place = Function(source=source, qualname="f", node=function(text))
    assert [(each.id, each.change) for each in function_mutants(place, {})][1:] == [
        ("some.module:f:comparison-reversed:0", "return x == 1 or x == 2 -> return x != 1 or x == 2"),
        ("some.module:f:comparison-reversed:1", "return x == 1 or x == 2 -> return x == 1 or x != 2"),
    ]


def test_long_lines_are_cut_to_where_they_differ() -> None:
    before, after = around_difference("a" * 100 + "<" + "b" * 100, "a" * 100 + ">" + "b" * 100)
    assert before == "…" + "a" * 40 + "<" + "b" * 40 + "…"
    assert after == "…" + "a" * 40 + ">" + "b" * 40 + "…"


def test_the_reference_has_mutants_of_every_kind_each_under_an_id_of_its_own() -> None:
    mutants = derive_mutants(("4.4",))
    assert {each.kind for each in mutants} == {"behaviour", "check", "timer", "field", "guard"}
    assert len({each.id for each in mutants}) == len(mutants)
    assert [each.id for each in derive_mutants(("4.4",))] == [each.id for each in mutants]


def test_a_behaviour_is_switched_if_a_function_asks_for_it_that_is_mutated() -> None:
    decisive = decisive_behaviours()
    assert "PENDING_SYNC_EXPIRES" in decisive
    assert set(behaviour_names()) - set(decisive) == {
        "FLEXIBLE_RECORDS_READ",
        "TYPE_0_HAS_VERSION_0",
        "UNKNOWN_VERSIONS_READ_AS_NEAREST",
        "UNREADABLE_RECORD_FAILS_PARTITION",
    }


def test_what_is_not_mutated_is_there() -> None:
    """A name that went stale would let a module or function be mutated without a word."""
    sources = {each.name: each for each in every_source()}
    packages = {name.rpartition(".")[0] for name in sources}
    assert not [name for name in sources if "tests" in name.split(".")]
    assert set(LEFT_OUT) - {"tests"} <= set(sources) | packages
    for place in FUNCTIONS_LEFT_OUT:
        module, _, qualname = place.partition(":")
        names = set(_qualnames(sources[module].tree.body, ""))
        assert qualname in names, place


def _qualnames(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _qualnames(node.body, f"{prefix}{node.name}.")
