"""What is made of what clients saw, without any client."""

from dataclasses import replace

import pytest

from harness.clients.admin import group_of_key
from harness.clients.book import Book, ClientEvent, Overlap
from harness.clients.collect import record
from harness.clients.judge import essence, judge
from harness.clients.steps import (
    Account,
    ClientScript,
    Command,
    Deliver,
    Fact,
    FindCoordinator,
    Notice,
    Settle,
    Verb,
)
from harness.invariants import AtFault, Violation
from harness.results.client_results import ClientObservation, ClientResult, ScriptOutcome
from harness.results.status import ENDED_COMPLETE
from harness.targets.base.java_hash import partition_of
from harness.tests.client_suite import eager
from harness.tests.made_events import HEADER
from harness.tests.made_up_clients import violation
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
                got = {
                    client: [[kind.value, [f"p-{place}" for place in range(count)]] for kind, count in each]
                    for client, each in step.callbacks.items()
                }
                seen.append({"in time": True, "owns": owns, "moved": [], "callbacks": got})
            case Deliver():
                seen.append(
                    {"in time": True, "delivered": {name: list(v) for name, v in step.values.items()}}
                )
            case Command() if step.answers is not None:
                seen.append({"answer": step.answers})
            case _:
                seen.append({})
    return [*seen, {"two owners": [], "errors": {}, "late callbacks": {}}]


def result(
    facts: list[dict[str, Fact]], ended: str = ENDED_COMPLETE, script: ClientScript = SCRIPT
) -> ScriptOutcome:
    return ScriptOutcome(
        script_id=script.id,
        library="kafka-python",
        ended=ended,
        observations=tuple(ClientObservation(step=number, facts=each) for number, each in enumerate(facts)),
        duration_s=1.0,
    )


def judged(
    facts: list[dict[str, Fact]],
    *,
    ended: str = ENDED_COMPLETE,
    script: ClientScript = SCRIPT,
    reference: ScriptOutcome | None = None,
    violations: tuple[Violation, ...] = (),
) -> ClientResult:
    return judge(
        script,
        result(facts, ended, script),
        header=HEADER,
        reference=reference,
        compared="reference-tcp:3.9",
        violations=violations,
    )


def index_of(kind: type, nth: int = 0) -> int:
    return [number for number, step in enumerate(SCRIPT.steps) if isinstance(step, kind)][nth]


def test_what_is_as_the_script_says_conforms_also_to_itself_elsewhere() -> None:
    facts = facts_of(SCRIPT)

    assert judged(facts, reference=result(facts)).outcome == Outcome.CONFORMS


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
        (index_of(Command, -1), {"answer": {"orders-0": 1, "orders-2": 3}}, "answered"),
        (
            index_of(Command, -2),
            {"refused": "UNKNOWN_MEMBER_ID", "says": "no"},
            "refused as UNKNOWN_MEMBER_ID",
        ),
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

    assert found.outcome == Outcome.DIVERGES
    assert [says in each.says for each in found.mismatches] == [True]
    assert [each.step for each in found.mismatches] == [step]


WIDE = ClientScript(
    id="clients/small/wide",
    title="One step of each kind that the other script has none of.",
    notes="",
    source="none",
    uses=(),
    steps=(
        Command(client="ana", verb=Verb.SUBSCRIBE, refused_as=("ILLEGAL_STATE",)),
        Settle(clients=("ana", "bob"), partitions=("a", "b", "c", "d"), sizes=(2, 2), because="so", moved=2),
        Notice(client="ana", names=("UNKNOWN_MEMBER_ID",)),
        Account(topic="orders", processed={"orders-0#0": 1}),
        FindCoordinator(client="ana", group="group"),
    ),
)
WHOLE = len(WIDE.steps)


def wide_facts() -> list[dict[str, Fact]]:
    owns = {"ana": ["a", "b"], "bob": ["c", "d"]}
    return [
        {"refused": "ILLEGAL_STATE", "says": "no"},
        {"in time": True, "owns": owns, "moved": ["c", "d"], "callbacks": {}},
        {"told": "UNKNOWN_MEMBER_ID"},
        {"processed": {"orders-0#0": 1}},
        {"group": "console-consumer", "partition count": 50, "partitions": [40]},
        {"two owners": [], "errors": {}, "late callbacks": {}},
    ]


def test_how_many_partitions_groups_have_is_the_brokers_own() -> None:
    there = wide_facts()
    there[4] = {"group": "console-consumer", "partition count": 8, "partitions": [0]}
    assert judged(wide_facts(), script=WIDE, reference=result(there, script=WIDE)).differences == ()


@pytest.mark.parametrize(
    ("step", "facts", "says"),
    [
        (0, {"answer": None}, "not refused as ILLEGAL_STATE"),
        (0, {"refused": "UNKNOWN_MEMBER_ID", "says": "no"}, "refused as UNKNOWN_MEMBER_ID (no)"),
        (1, {"moved": ["c"]}, "1 partitions moved (c) instead of 2"),
        (2, {"told": None}, "ana was not told UNKNOWN_MEMBER_ID"),
        (3, {"processed": {"orders-0#0": 2}}, "processed orders-0#0: 2 instead of orders-0#0: 1"),
        (3, {"processed": {}}, "processed nothing instead of orders-0#0: 1"),
        (4, {"partitions": [39]}, "commits of console-consumer lie in 39 of 50, not in 40"),
        (4, {"partitions": []}, "commits of console-consumer lie in nothing of 50, not in 40"),
    ],
)
def test_each_other_kind_of_step_does_what_it_says(step: int, facts: dict[str, Fact], says: str) -> None:
    seen = wide_facts()
    assert judged(seen, script=WIDE).outcome == Outcome.CONFORMS
    seen[step] = facts if step == 0 else {**seen[step], **facts}

    found = judged(seen, script=WIDE)

    assert (found.outcome, [each.says for each in found.mismatches]) == (Outcome.DIVERGES, [says])


def test_a_signature_leaves_out_what_the_library_says() -> None:
    def signature(**facts: Fact) -> str | None:
        return judged([facts, *wide_facts()[1:]], script=WIDE).signature

    refused = [signature(refused="UNKNOWN_MEMBER_ID", says=says) for says in ("at 10:00", "at 10:01")]
    assert refused[0] == refused[1]
    assert refused[0] not in (None, signature(refused="REQUEST_TIMED_OUT", says="at 10:00"))


def test_who_owns_what_is_free_where_the_script_says_so_and_how_many_is_not() -> None:
    swapped, uneven = wide_facts(), wide_facts()
    swapped[1] = {**swapped[1], "owns": {"ana": ["c", "d"], "bob": ["a", "b"]}}
    uneven[1] = {**uneven[1], "owns": {"ana": ["a", "b", "c"], "bob": ["d"]}}
    there = result(wide_facts(), script=WIDE)

    assert judged(swapped, script=WIDE, reference=there).differences == ()
    found = judged(uneven, script=WIDE, reference=there).differences
    assert [each.says for each in found] == ["sizes: 3, 1, on the reference 2, 2"]


@pytest.mark.parametrize(
    ("name", "fact", "allowed"),
    [
        ("two owners", ["orders-0: ana and bob"], "two_owners_allowed"),
        ("late callbacks", {"ana": [["revoked", ["a"]]]}, "extra_callbacks_allowed"),
    ],
)
def test_what_a_script_allows_of_the_whole_is_neither_a_mismatch_nor_a_difference(
    name: str, fact: Fact, allowed: str
) -> None:
    seen = wide_facts()
    seen[WHOLE] = {**seen[WHOLE], name: fact}
    there = result(wide_facts(), script=WIDE)
    lenient = replace(WIDE, **{allowed: "why"})  # type: ignore[arg-type] # both are texts

    strictly = judged(seen, script=WIDE, reference=there)
    assert (len(strictly.mismatches), len(strictly.differences)) == (1, 1)
    assert judged(seen, script=lenient, reference=there).outcome == Outcome.CONFORMS


def test_who_gets_back_at_the_end_what_it_gave_up_was_given_nothing() -> None:
    seen = wide_facts()
    back: Fact = {"ana": [["revoked", ["a", "b"]], ["assigned", ["b", "a"]]]}
    seen[WHOLE] = {**seen[WHOLE], "late callbacks": back}

    assert judged(seen, script=WIDE).outcome == Outcome.CONFORMS


def test_what_the_script_leaves_open_is_checked_against_the_reference() -> None:
    here, there = facts_of(SCRIPT), facts_of(SCRIPT)
    step = index_of(Command)
    here[step] = {"answer": "one"}
    there[step] = {"answer": "another"}

    found = judged(here, reference=result(there))

    assert (found.outcome, found.mismatches) == (Outcome.DIVERGES, ())
    assert [each.says for each in found.differences] == ["answer: one, on the reference another"]


def test_a_reference_that_did_not_come_to_the_end_is_no_measure() -> None:
    facts = facts_of(SCRIPT)

    found = judged(facts, reference=result([], "not run: it cannot"))

    assert found.outcome == Outcome.CONFORMS
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
    assert judged([], ended=ended).outcome == outcome


def test_what_departs_under_a_target_that_was_lost_is_reported_and_no_verdict() -> None:
    facts = facts_of(SCRIPT)
    step = index_of(Settle)
    facts[step] = {**facts[step], "in time": False}

    found = judged(facts[: step + 1], ended="target lost: it ended")

    assert (found.outcome, found.because) == (Outcome.INDETERMINATE, "target lost: it ended")
    assert len(found.mismatches) == 1


@pytest.mark.parametrize(
    ("fault", "outcome"), [(AtFault.COORDINATOR, Outcome.DIVERGES), (AtFault.CLIENTS, Outcome.CONFORMS)]
)
def test_a_broken_invariant_counts_where_the_coordinator_broke_it(fault: AtFault, outcome: Outcome) -> None:
    broken = replace(violation("two", SCRIPT.id, "kafka-python"), party=fault)

    found = judged(facts_of(SCRIPT), violations=(broken,))

    assert (found.outcome, found.violations) == (outcome, (broken,))


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
    assert partition_of(group, count) == partition


def test_a_commits_key_names_its_group() -> None:
    assert group_of_key(b"\x00\x01\x00\x03abc\x00\x01t\x00\x00\x00\x00") == "abc"
    assert group_of_key(b"\x00\x02\x00\x03abc") is None
    assert group_of_key(b"") is None


def got(client: str, kind: str, at_ms: float, *partitions: str) -> ClientEvent:
    return ClientEvent(client=client, kind=kind, at_ms=at_ms, partitions=partitions)


def test_two_owners_at_once_are_found_however_their_events_came() -> None:
    book = Book(events=[got("bob", "assigned", 2, "a"), got("ana", "assigned", 1, "a")])

    assert book.overlaps() == (Overlap(partition="a", earlier="ana", later="bob"),)


@pytest.mark.parametrize("kind", ["revoked", "lost"])
def test_who_gave_a_partition_up_before_shares_it_with_nobody(kind: str) -> None:
    book = Book(
        events=[got("ana", "assigned", 1, "a"), got("ana", kind, 2, "a"), got("bob", "assigned", 3, "a")]
    )

    assert book.overlaps() == ()
    assert [book.owned(client) for client in ("ana", "bob")] == [frozenset(), frozenset({"a"})]


def test_who_was_killed_owns_nothing_from_then_on() -> None:
    book = Book(events=[got("ana", "assigned", 1, "a"), got("bob", "assigned", 3, "a")])
    book.gone_at_ms["ana"] = 2

    assert book.overlaps() == ()
    assert book.owned("ana") == frozenset()

    book.gone_at_ms["ana"] = 4
    assert len(book.overlaps()) == 1


def test_callbacks_are_reported_once_of_the_clients_that_are_asked_for_and_only_with_partitions() -> None:
    book = Book(events=[got("ana", "assigned", 1, "a"), got("bob", "assigned", 2, "b")])
    book.events.append(got("ana", "revoked", 3))

    assert list(book.callbacks()) == ["ana", "bob"]
    assert [each.kind for each in book.callbacks(clients=["ana"])["ana"]] == ["assigned"]
    assert list(book.callbacks(clients=["bob"])) == ["bob"]
    book.mark_callbacks()
    assert book.callbacks() == {}


def test_records_are_reported_once_and_of_the_clients_that_are_asked_for() -> None:
    came = [
        ClientEvent(client=client, kind="delivered", at_ms=1, values=(("a", f"a#{number}"),))
        for number, client in enumerate(("ana", "bob"))
    ]
    book = Book(events=came)

    assert book.delivered(["ana", "bob"]) == {"a": ["a#0", "a#1"]}
    assert book.delivered(["bob"]) == {"a": ["a#1"]}
    book.mark_delivered()
    assert book.delivered(["ana", "bob"]) == {}


def test_an_error_that_a_script_has_looked_at_is_reported_no_more() -> None:
    book = Book(events=[ClientEvent(client="ana", kind="error", at_ms=1, name=name) for name in "XYX"])

    assert book.has_heard_of("ana", ["X"]) == "X"
    assert book.has_heard_of("bob", ["X"]) is None
    assert book.errors() == {"ana": ["X", "Y"]}
    book.observed["ana"].add("X")
    assert book.has_heard_of("ana", ["X"]) is None
    assert book.errors() == {"ana": ["Y"]}
