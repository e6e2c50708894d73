"""What is made of what clients saw, without any client."""

import pytest

from harness.clients.admin import group_of_key
from harness.clients.book import Book, ClientEvent, Overlap
from harness.clients.collect import record
from harness.clients.judge import Judgement, essence, judge, partition_for
from harness.clients.outcome import COMPLETE, Observation, ScriptResult, result_from_json, result_to_json
from harness.clients.steps import ClientScript, Deliver, Fact, Settle, Tell
from harness.invariants import Invariant, Party, Violation
from harness.tests.client_suite import eager
from harness.trace.schema import TraceError
from harness.verdict import Outcome

SCRIPT = record(eager)


def facts_of(script: ClientScript) -> list[dict[str, Fact]]:
    """Return what is seen where all is as the script says."""
    seen: list[dict[str, Fact]] = []
    for step in script.steps:
        match step:
            case Settle():
                assert step.owns is not None
                owns = {client: list(part) for client, part in step.owns.items()}
                told = {
                    client: [[kind.value, [f"p-{place}" for place in range(count)]] for kind, count in each]
                    for client, each in step.callbacks.items()
                }
                seen.append({"in time": True, "owns": owns, "moved": [], "callbacks": told})
            case Deliver():
                seen.append(
                    {"in time": True, "delivered": {name: list(v) for name, v in step.values.items()}}
                )
            case Tell() if step.answers is not None:
                seen.append({"answer": step.answers})
            case _:
                seen.append({})
    return [*seen, {"two owners": [], "errors": {}, "late callbacks": {}}]


def result(facts: list[dict[str, Fact]], ended: str = COMPLETE) -> ScriptResult:
    return ScriptResult(
        script_id=SCRIPT.id,
        library="kafka-python",
        ended=ended,
        observations=tuple(Observation(step=number, facts=each) for number, each in enumerate(facts)),
        duration_s=1.0,
    )


def judged(
    facts: list[dict[str, Fact]],
    *,
    ended: str = COMPLETE,
    reference: ScriptResult | None = None,
    violations: tuple[Violation, ...] = (),
) -> Judgement:
    return judge(
        SCRIPT,
        result(facts, ended),
        target="here",
        reference=reference,
        compared="reference-tcp:3.9",
        violations=violations,
    )


def index_of(kind: type, nth: int = 0) -> int:
    return [number for number, step in enumerate(SCRIPT.steps) if isinstance(step, kind)][nth]


def test_what_is_as_the_script_says_conforms_also_to_itself_elsewhere() -> None:
    facts = facts_of(SCRIPT)

    assert judged(facts, reference=result(facts)).outcome is Outcome.CONFORMS


@pytest.mark.parametrize(
    ("step", "change", "says"),
    [
        (index_of(Settle, 1), {"in time": False}, "never came to rest"),
        (
            index_of(Settle, 1),
            {"callbacks": {"bob": [["assigned", ["a", "b"]]]}},
            "ana was told nothing instead of revoked 4, assigned 2",
        ),
        (index_of(Deliver), {"delivered": {"orders-0": ["orders-0#0", "orders-0#0"]}}, "instead of"),
        (index_of(Tell, -1), {"answer": {"orders-0": 1, "orders-2": 3}}, "answered"),
        (index_of(Tell, -2), {"refused": "UNKNOWN_MEMBER_ID", "says": "no"}, "refused as UNKNOWN_MEMBER_ID"),
        (len(SCRIPT.steps), {"two owners": ["orders-0: ana and bob"]}, "two owners at once"),
        (len(SCRIPT.steps), {"errors": {"ana": ["UNKNOWN_SERVER_ERROR"]}}, "errors"),
        (
            len(SCRIPT.steps),
            {"late callbacks": {"ana": [["revoked", ["orders-0"]]]}},
            "after all was at rest",
        ),
    ],
)
def test_each_thing_that_is_otherwise_diverges(step: int, change: dict[str, Fact], says: str) -> None:
    facts = facts_of(SCRIPT)
    facts[step] = {**facts[step], **change}

    found = judged(facts)

    assert found.outcome is Outcome.DIVERGES
    assert [says in each.says for each in found.mismatches] == [True]
    assert [each.step for each in found.mismatches] == [step]


def test_what_the_script_leaves_open_is_held_to_the_reference() -> None:
    here, there = facts_of(SCRIPT), facts_of(SCRIPT)
    step = index_of(Tell)
    here[step] = {"answer": "one"}
    there[step] = {"answer": "another"}

    found = judged(here, reference=result(there))

    assert (found.outcome, found.mismatches) == (Outcome.DIVERGES, ())
    assert [each.says for each in found.differences] == ["answer: one, on the reference another"]


def test_a_reference_that_did_not_come_to_the_end_is_no_measure() -> None:
    facts = facts_of(SCRIPT)

    found = judged(facts, reference=result([], "not run: it cannot"))

    assert found.outcome is Outcome.CONFORMS
    assert found.compared == "not compared: on the reference, not run: it cannot"


@pytest.mark.parametrize(
    ("ended", "outcome"),
    [
        ("not run: it cannot", Outcome.NOT_APPLICABLE),
        ("cut short: no answer", Outcome.INDETERMINATE),
        ("target lost: gone", Outcome.INDETERMINATE),
        ("harness failed: KeyError", Outcome.HARNESS_ERROR),
    ],
)
def test_what_did_not_come_to_its_end_never_conforms(ended: str, outcome: Outcome) -> None:
    assert judged([], ended=ended).outcome is outcome


@pytest.mark.parametrize(
    ("party", "outcome"), [(Party.COORDINATOR, Outcome.DIVERGES), (Party.CLIENTS, Outcome.CONFORMS)]
)
def test_a_broken_invariant_counts_where_the_coordinator_broke_it(party: Party, outcome: Outcome) -> None:
    violation = Violation(
        invariant=Invariant.ONE_OWNER,
        party=party,
        run_id="run",
        target="here",
        scenario_id=f"{SCRIPT.id}/kafka-python",
        group_id="group",
        sequence=1,
        at_ms=0.0,
        detail="two",
    )

    found = judged(facts_of(SCRIPT), violations=(violation,))

    assert (found.outcome, found.violations) == (outcome, (violation,))


def test_rounds_that_bring_nothing_are_chance() -> None:
    whole = [["revoked", ["a", "b"]], ["assigned", ["a"]]]

    assert essence([*whole, ["revoked", ["a"]], ["assigned", ["a"]]]) == essence(whole)
    assert essence([["assigned", ["a"]], ["revoked", ["a"]], ["assigned", ["b"]]]) == [("assigned", ["b"])]
    assert essence([["assigned", ["b"]], ["assigned", ["a"]]]) == [("assigned", ["a", "b"])]
    assert essence([["revoked", ["a"]], ["assigned", ["a"]]]) == [("revoked", ["a"]), ("assigned", ["a"])]


@pytest.mark.parametrize(
    ("group", "count", "partition"),
    [
        ("", 50, 0),
        ("a", 50, 47),
        ("console-consumer", 50, 40),
        ("polygenelubricants", 50, 0),
        ("größe", 7, 6),
    ],
)
def test_a_groups_partition_is_its_java_hash(group: str, count: int, partition: int) -> None:
    assert partition_for(group, count) == partition


def test_a_commits_key_names_its_group() -> None:
    assert group_of_key(b"\x00\x01\x00\x03abc\x00\x01t\x00\x00\x00\x00") == "abc"
    assert group_of_key(b"\x00\x02\x00\x03abc") is None
    assert group_of_key(b"") is None


def told(client: str, kind: str, at_ms: float, *partitions: str) -> ClientEvent:
    return ClientEvent(client=client, kind=kind, at_ms=at_ms, partitions=partitions)


def test_two_owners_at_once_are_found_however_their_events_came() -> None:
    book = Book(events=[told("bob", "assigned", 2, "a"), told("ana", "assigned", 1, "a")])

    assert book.overlaps() == (Overlap(partition="a", earlier="ana", later="bob"),)


@pytest.mark.parametrize("kind", ["revoked", "lost"])
def test_who_gave_a_partition_up_before_shares_it_with_nobody(kind: str) -> None:
    book = Book(
        events=[told("ana", "assigned", 1, "a"), told("ana", kind, 2, "a"), told("bob", "assigned", 3, "a")]
    )

    assert book.overlaps() == ()
    assert [book.owned(client) for client in ("ana", "bob")] == [frozenset(), frozenset({"a"})]


def test_who_was_killed_owns_nothing_from_then_on() -> None:
    book = Book(events=[told("ana", "assigned", 1, "a"), told("bob", "assigned", 3, "a")])
    book.gone_at_ms["ana"] = 2

    assert book.overlaps() == ()
    assert book.owned("ana") == frozenset()

    book.gone_at_ms["ana"] = 4
    assert len(book.overlaps()) == 1


def test_a_result_is_read_as_it_was_written_and_nothing_else_is() -> None:
    one = result(facts_of(SCRIPT))

    assert result_from_json(result_to_json(one)) == one
    with pytest.raises(TraceError):
        result_from_json({"script_id": "x"})
