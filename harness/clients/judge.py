"""Check a script's results against what it expects, and compare them with the reference's. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from harness.clients.steps import (
    Account,
    Callback,
    ClientScript,
    ClientStep,
    Command,
    Deliver,
    Endure,
    FindCoordinator,
    Notice,
    Settle,
    step_text,
)
from harness.invariants import AtFault, Violation
from harness.results.client_results import (
    FAILED,
    NOT_RUN,
    ClientObservation,
    ClientResult,
    Remark,
    ScriptOutcome,
)
from harness.results.replay_results import ReplayFinding
from harness.results.status import ENDED_COMPLETE
from harness.targets.base.java_hash import partition_of
from harness.trace.embedded import phrase
from harness.trace.events import TARGET_LOST, TraceHeader
from harness.verdict import Outcome

_WHOLE: Final = "the whole"
_UNCOMPARED: Final = frozenset({"says", "group", "partition count", "partitions"})
"""Facts that depend on the run, on a broker's settings or on a library's wording."""


def judge(
    script: ClientScript,
    result: ScriptOutcome,
    *,
    header: TraceHeader,
    reference: ScriptOutcome | None,
    compared: str,
    violations: Sequence[Violation] = (),
    replays: Sequence[ReplayFinding] = (),
) -> ClientResult:
    """Judge one result.

    Args:
        script: the script that was run.
        result: the outcome of the script.
        header: the target.
        reference: the outcome on the reference; None if there is nothing to compare with.
        compared: the reference's name, or why there is none.
        violations: violations of invariants; those by clients alone are reported, but change nothing.
        replays: findings where the reference answers the same requests otherwise.
    """
    mismatches = tuple(_mismatches(script, result))
    differences: tuple[Remark, ...] = ()
    is_broken = any(each.party == AtFault.COORDINATOR for each in violations)
    if reference is not None and reference.ended != ENDED_COMPLETE:
        compared = f"not compared: on the reference, {reference.ended}"
    elif reference is not None:
        differences = tuple(_differences(script, result, reference))
    outcome = _outcome(result, differs=bool(mismatches or differences or is_broken or replays))
    return replace(
        ClientResult.of(header, result, outcome, title=script.title, source=script.source, compared=compared),
        mismatches=mismatches,
        differences=differences,
        violations=tuple(violations),
        replays=tuple(replays),
    ).summed_up()


def _outcome(result: ScriptOutcome, *, differs: bool) -> Outcome:
    if result.ended.startswith(NOT_RUN):
        return Outcome.NOT_APPLICABLE
    if result.ended.startswith(FAILED):
        return Outcome.HARNESS_ERROR
    if result.ended.startswith(TARGET_LOST):
        # What is missing may be due to the loss of the target: it is reported, but there is no verdict.
        return Outcome.INDETERMINATE
    if differs:
        return Outcome.DIVERGES
    return Outcome.CONFORMS if result.ended == ENDED_COMPLETE else Outcome.INDETERMINATE


def _mismatches(script: ClientScript, result: ScriptOutcome) -> Iterator[Remark]:
    for seen in result.observations:
        if seen.step == len(script.steps):
            found, text = _of_whole(script, seen.facts), _WHOLE
        else:
            step = script.steps[seen.step]
            found, text = _of_step(step, seen.facts), step_text(step)
        for about, says in found:
            yield Remark(step=seen.step, text=text, says=says, about=about)


_Departure = tuple[str, str]
"""What departs from a script, without and with the observed values."""


def _of_step(step: ClientStep, facts: Mapping[str, object]) -> Iterator[_Departure]:
    match step:
        case Command():
            yield from _of_tell(step, facts)
        case Settle():
            yield from _of_settle(step, facts)
        case Deliver():
            expected = {
                partition: list(values if step.in_order else sorted(values))
                for partition, values in step.values.items()
            }
            yield from _unlike("delivered", facts["delivered"], expected)
        case Account():
            yield from _unlike("processed", facts["processed"], step.processed)
        case Notice() if facts["told"] is None:
            yield "told", f"{step.client} was not told {' or '.join(step.names)}"
        case FindCoordinator():
            yield from _of_find(facts)
        case Endure():
            unexpected = facts["unexpected"]
            assert isinstance(unexpected, list)
            yield from ((re.sub(r"\d+", "N", says), says) for says in unexpected)
        case _:
            return


def _unlike(what: str, fact: object, expected: object) -> Iterator[_Departure]:
    if fact != expected:
        yield what, f"{what} {_in_words(fact)} instead of {_in_words(expected)}"


def _of_tell(step: Command, facts: Mapping[str, object]) -> Iterator[_Departure]:
    refused = facts.get("refused")
    if refused is not None and refused not in step.refused_as:
        yield f"refused as {refused}", f"refused as {refused} ({facts['says']})"
    elif refused is None and step.refused_as:
        yield "not refused", f"not refused as {' or '.join(step.refused_as)}"
    elif refused is None and step.answers is not None and facts.get("answer") != step.answers:
        yield from _unlike("answered", facts.get("answer"), step.answers)


def _of_settle(step: Settle, facts: Mapping[str, object]) -> Iterator[_Departure]:
    if not facts["in time"]:
        wanted = step.owns if step.owns is not None else f"{phrase(step.sizes)} of {phrase(step.partitions)}"
        yield "rest", f"never came to rest as {phrase(wanted)}, but as {phrase(facts['owns'])}"
    moved = facts["moved"]
    if step.moved is not None and isinstance(moved, list) and len(moved) != step.moved:
        yield "moved", f"{len(moved)} partitions moved ({phrase(moved)}) instead of {step.moved}"
    callbacks = facts["callbacks"]
    assert isinstance(callbacks, dict)
    for client, expected in step.callbacks.items():
        reported = [(kind, len(partitions)) for kind, partitions in essence(callbacks.get(client, []))]
        wanted_reported = [(kind.value, count) for kind, count in expected]
        if reported != wanted_reported:
            says = f"{client} was told {_sequence(reported)} instead of {_sequence(wanted_reported)}"
            yield f"callbacks of {client}", says


CallbackSummary = list[tuple[str, list[str]]]
"""Callbacks, each with its partitions in order."""


def essence(callbacks: object) -> CallbackSummary:
    """Return callbacks without a random element: in how many rebalances a group comes to rest.

    Consecutive callbacks of one kind are merged, and an assignment that was revoked again is dropped.
    """
    assert isinstance(callbacks, list)
    reported: CallbackSummary = []
    for kind, partitions in callbacks:
        if reported and reported[-1][0] == kind:
            reported[-1] = (kind, sorted({*reported[-1][1], *partitions}))
        elif reported and (reported[-1], kind) == ((Callback.ASSIGNED, sorted(partitions)), Callback.REVOKED):
            reported.pop()
        else:
            reported.append((kind, sorted(partitions)))
    return reported


def _changes(late: object) -> dict[str, CallbackSummary]:
    """Return late callbacks by client, without those in which a client only got back what it had given up."""
    assert isinstance(late, dict)
    reported = {client: essence(callbacks) for client, callbacks in late.items()}
    return {client: each for client, each in reported.items() if not _is_back(each)}


def _is_back(reported: CallbackSummary) -> bool:
    kinds = [kind for kind, _ in reported]
    return kinds == [Callback.REVOKED, Callback.ASSIGNED] and reported[0][1] == reported[1][1]


def _sequence(reported: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in reported) or "nothing"


def _of_find(facts: Mapping[str, object]) -> Iterator[_Departure]:
    count = facts["partition count"]
    assert isinstance(count, int)
    expected = partition_of(str(facts["group"]), count)
    if facts["partitions"] != [expected]:
        there = _in_words(facts["partitions"])
        yield "partition", f"commits of {facts['group']} lie in {there} of {count}, not in {expected}"


def _of_whole(script: ClientScript, facts: Mapping[str, object]) -> Iterator[_Departure]:
    if facts["two owners"] and not script.two_owners_allowed:
        yield "two owners", f"two owners at once: {phrase(facts['two owners'])}"
    late = _changes(facts["late callbacks"])
    if late and not script.extra_callbacks_allowed:
        yield "late callbacks", f"told after all was at rest: {phrase(late)}"
    if facts["errors"]:
        yield "errors", f"errors: {phrase(facts['errors'])}"


def _differences(script: ClientScript, result: ScriptOutcome, reference: ScriptOutcome) -> Iterator[Remark]:
    there = {seen.step: seen for seen in reference.observations}
    for seen in result.observations:
        is_whole = seen.step == len(script.steps)
        step = None if is_whole else script.steps[seen.step]
        here_facts, there_facts = (comparable(script, step, each) for each in (seen, there[seen.step]))
        text = _WHOLE if step is None else step_text(step)
        for name in sorted(here_facts.keys() | there_facts.keys()):
            if here_facts.get(name) != there_facts.get(name):
                here, reported_there = (_in_words(facts.get(name)) for facts in (here_facts, there_facts))
                says = f"{name}: {here}, on the reference {reported_there}"
                yield Remark(step=seen.step, text=text, says=says, about=name)


def comparable(
    script: ClientScript, step: ClientStep | None, seen: ClientObservation
) -> Mapping[str, object]:
    """Return the facts about a step, or about the whole script, that must be equal everywhere.

    Callbacks are compared only where the script names them; elsewhere the number of rebalances is random.
    """
    facts = {name: fact for name, fact in seen.facts.items() if name not in _UNCOMPARED}
    match step:
        case Settle() if step.owns is None:
            owns = facts["owns"]
            assert isinstance(owns, dict)
            sizes = sorted((len(part) for part in owns.values()), reverse=True)
            return {"in time": facts["in time"], "sizes": sizes}
        case Settle():
            callbacks = facts["callbacks"]
            assert isinstance(callbacks, dict)
            reported = {
                client: [list(each) for each in essence(callbacks.get(client, []))]
                for client in step.callbacks
            }
            return {"in time": facts["in time"], "owns": facts["owns"], "callbacks": reported}
        case None:
            allowed = {
                "two owners": script.two_owners_allowed,
                "late callbacks": script.extra_callbacks_allowed,
            }
            changed: list[object] = [*sorted(_changes(facts["late callbacks"]))]
            compared: dict[str, object] = {**facts, "late callbacks": changed}
            return {name: fact for name, fact in compared.items() if not allowed.get(name)}
        case _:
            return facts


def _in_words(fact: object) -> str:
    return phrase(fact) or "nothing"
