"""What reports show of a client script's result alone: how to repeat it, its steps, and its account."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harness.report.model.phrases import PROGRAM, given_options, slug
from harness.results.client_results import (
    SOAK,
    ClientResult,
    ClientResultKey,
    ClientsRun,
    Remark,
    fact_texts,
    replay_place,
)
from harness.results.status import shown

_PASSED_ON: Final = {each: each for each in ("--suites", "--profile", "--expect")}
_OF_SOAKS: Final = {each: each for each in ("--profile", "--soak", "--seed", "--soak-group", "--soak-rate")}
_REPORTED_COUNT_MAX: Final = 100


def client_talks(place: ClientResultKey) -> str:
    """Return the name of the data with the conversations of a script's suite."""
    return f"talks-{slug(place[1].rpartition('/')[0])}"


def client_conversation_key(place: ClientResultKey) -> str:
    """Return the key of a conversation in its data."""
    return " ".join(place)


def client_repetition(command: str, result: ClientResult) -> str:
    """Return a command line that runs one script of a run again, with the same library on the same target."""
    is_soak = result.scenario_id == SOAK
    passed_on = _OF_SOAKS if is_soak else _PASSED_ON
    given = given_options(command, passed_on) if command.startswith(PROGRAM) else ()
    # Java's client is stored under `java-3.9.2`, but its name on the command line is `java:3.9.2`.
    library = re.sub(r"^java-", "java:", result.library)
    chosen = ("--target", result.spec, "--client", library)
    return shlex.join((PROGRAM, "clients", *chosen, *given, *(() if is_soak else (result.scenario_id,))))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientStepRow:
    """One step, with its observations on the target and on the reference."""

    index: int
    text: str
    at: str
    """The time since the first step; empty if not recorded."""
    seen: tuple[tuple[str, str], ...]
    reference: tuple[tuple[str, str], ...] | None
    """The reference's observations, which may be equal; None if there are none."""
    is_reached: bool
    remarks: Sequence[tuple[str, Remark]]
    """Departures from what was expected, each with what it departs from."""


def reference_of(run: ClientsRun, result: ClientResult) -> ClientResultKey | None:
    """Return the key of the same script's outcome on the reference; None if it was not compared."""
    record = run.references.get(result.compared)
    return None if record is None else (record.name, result.scenario_id, result.library)


def client_steps(run: ClientsRun, result: ClientResult) -> Iterator[ClientStepRow]:
    """Yield the steps of a script with what was observed, and last what is about the whole."""
    reference, script = reference_of(run, result), run.scripts[result.scenario_id]
    here = run.outcomes.get(result.place)
    there = None if reference is None else run.outcomes.get(reference)
    seen = {each.step: each for each in here.observations} if here else {}
    seen_there = {each.step: each for each in there.observations} if there else {}
    began_ms = min((each.at_ms for each in seen.values() if each.at_ms), default=0.0)
    found = [*(("script", each) for each in result.mismatches)]
    found += [("reference", each) for each in result.differences]
    # A soak has no observation of the whole.
    for index in range(len(script.steps) + (result.scenario_id != SOAK)):
        is_whole = index == len(script.steps)
        now = seen.get(index)
        before = seen_there.get(index)
        yield ClientStepRow(
            index=index,
            text="the whole, with everything after the last check" if is_whole else script.steps[index].text,
            at=f"{(now.at_ms - began_ms) / 1000:.2f} s" if now and now.at_ms else "",
            seen=fact_texts(now.facts) if now else (),
            reference=fact_texts(before.facts) if before else None,
            is_reached=now is not None,
            remarks=[(against, each) for against, each in found if each.step == index],
        )


def account(result: ClientResult) -> Iterator[str]:
    """Yield the title of a script and everything that departs in its result, one line each."""
    yield result.title
    if result.reason != result.observed:
        yield " ".join(part for part in (result.reason, result.link) if part)
    if result.because:
        yield result.because
    if result.attempts:
        yield shown(result)
    for each in result.remarks:
        against = "" if each in result.mismatches else "against the reference: "
        yield f"{against}step {each.step}, {each.text}: {each.says}"
    for broken in result.violations:
        yield f"on the wire, by the {broken.party}: {broken.invariant}: {broken.detail}"
    for found in result.replays[:_REPORTED_COUNT_MAX]:
        yield f"in the replay, {replay_place(found)}: {found.says}"
