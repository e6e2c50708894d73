"""Faults of a script that can be found without any target."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.apis.table import apis_where, descriptor
from harness.scenario.ask import SESSION_TIMEOUT_MIN_MS, SHORT_SESSIONS
from harness.scenario.bindings import LEARNT_NAMES
from harness.scenario.errors import ScenarioError
from harness.scenario.script import (
    ELSEWHERE,
    FORMERLY,
    Append,
    DoToBroker,
    PauseAt,
    Receive,
    Repeat,
    ResumeFrom,
    Script,
    SeeClosed,
    Send,
    StayParked,
    Step,
)
from harness.scenario.sweep import Sweep
from harness.scenario.values import (
    AnswerRef,
    Containing,
    InAnyOrder,
    OneOf,
    Pattern,
    Ref,
    TopicId,
    phrase,
    references,
)
from harness.suggestions import close_to
from harness.targets.base.conformance import PRINCIPALS
from harness.targets.base.interface import (
    Breakpoint,
    BrokerAction,
    Capability,
)
from harness.wire.codec import ERROR_NAMES
from harness.wire.schema import has_version, response_shape

_CLAIMS = (Receive, StayParked, SeeClosed, Repeat)
_SOURCE = re.compile(r"\w+#\w+|KIP-\d+|KAFKA-\d+|\w+\.json")


def lint_sweep(scenario_id: str, sweep: Sweep) -> None:
    """Refuse a sweep that has no version, or versions that the codec does not support.

    Raises:
        ScenarioError: names the scenario, the API and those versions.
    """
    reported = f"{sweep.api} v{sweep.lowest} to v{sweep.highest}"
    if not sweep.versions:
        raise ScenarioError(f"{scenario_id}: its sweep over {reported} has no version")
    unknown = [f"v{version}" for version in sweep.versions if not has_version(sweep.api, version)]
    if unknown:
        raise ScenarioError(
            f"{scenario_id}: of its sweep over {reported} the codec (kio) does not know {', '.join(unknown)}"
        )


def lint(
    script: Script,
    *,
    id_pattern: re.Pattern[str],
    clause_pattern: re.Pattern[str],
    swept: tuple[str, int] | None = None,
) -> None:
    """Refuse a script that has a fault.

    Args:
        script: the script that a scenario function recorded.
        id_pattern: the form of ids.
        clause_pattern: the form of the names of the catalogue's rows.
        swept: the API and the version that the script is for, if it is part of a sweep.

    Raises:
        ScenarioError: names the scenario, all its faults, and what to do about each.
    """
    faults = [
        *_sheet_faults(script, id_pattern, clause_pattern),
        *_claim_faults(script),
        *_reference_faults(script),
        *_capability_faults(script),
        *_session_faults(script),
        *_append_faults(script),
        *(_sweep_faults(script, *swept) if swept else ()),
    ]
    if faults:
        raise ScenarioError(f"{script.id}: {'; '.join(faults)}")


def _sheet_faults(
    script: Script, id_pattern: re.Pattern[str], clause_pattern: re.Pattern[str]
) -> Iterable[str]:
    if not id_pattern.fullmatch(script.id):
        yield "an id reads suite/subject/what-is-special, in lower-case letters, digits, dots and hyphens"
    if not script.title.endswith("."):
        yield "its docstring must begin with one sentence on one line, with a full stop"
    if not _SOURCE.search(script.source):
        yield f"source {script.source!r} names no Kafka Class#method, KIP or KAFKA-number"
    for clause in script.clauses:
        if not clause_pattern.fullmatch(clause):
            yield f"clause {clause!r} is not a row of the catalogue, such as SG-14"


def _sweep_faults(script: Script, api: str, version: int) -> Iterable[str]:
    if (api, version) not in script.api_versions:
        yield f"it is swept over {api}, and sends none of v{version}"
    if not re.search(rf"\bv{version}\b", script.title):
        yield f"it is swept over {api}, so its sentence has to name the version: write v{{version}}"


def _claim_faults(script: Script) -> Iterable[str]:
    if not any(_claims(step) for step in script.steps):
        yield "it expects nothing, so it could never fail"
    for index, step in enumerate(script.steps):
        pinned = step.fields if isinstance(step, Receive) else step.until if isinstance(step, Repeat) else {}
        if isinstance(step, Receive | Repeat):
            shape = response_shape(step.api, step.api_version)
            for name in sorted(pinned.keys() - shape.fields.keys()):
                yield (
                    f"step {index} expects {name!r}, which a {step.api} v{step.api_version} response lacks; "
                    f"it has {', '.join(shape.fields)}"
                )
            for name in sorted(set(_error_codes(pinned)) - ERROR_NAMES):
                hint = close_to(name, ERROR_NAMES, otherwise="Kafka has no such error code")
                yield f"step {index} expects the error code {name!r}; {hint}"


def _error_codes(pattern: Pattern, field: str = "") -> Iterator[str]:
    """Yield the names of error codes that a pattern expects."""
    match pattern:
        case str() if field == "error_code":
            yield pattern
        case Mapping():
            for name, item in pattern.items():
                yield from _error_codes(item, name)
        case OneOf(items) | InAnyOrder(items) | Containing(items):
            for item in items:
                yield from _error_codes(item, field)
        case Sequence() if not isinstance(pattern, str | bytes):
            for item in pattern:
                yield from _error_codes(item, field)
        case _:
            pass


def _claims(step: Step) -> bool:
    """Return whether a step can violate the script itself, whatever the reference answers."""
    return isinstance(step, _CLAIMS) and not (isinstance(step, Receive) and not step.fields)


def _reference_faults(script: Script) -> Iterable[str]:
    actors = {actor.name for actor in script.actors}
    learnt: set[tuple[str, str]] = set()
    for index, step in enumerate(script.steps):
        for ref in _references(step):
            fault = _reference_fault(ref, index, actors, learnt, script.steps)
            if fault is not None:
                yield f"step {index} refers to {phrase(ref)}, {fault}"
        if isinstance(step, Receive | Repeat):
            learnt.update((step.actor, name) for name in descriptor(step.api).learnt_names)


def _references(step: Step) -> Iterable[Ref | AnswerRef | TopicId]:
    if isinstance(step, Send | Receive | Repeat):
        yield from references(step.fields)
    if isinstance(step, Repeat):
        yield from references(step.until)


def _reference_fault(
    ref: Ref | AnswerRef | TopicId,
    index: int,
    actors: set[str],
    learnt: set[tuple[str, str]],
    steps: tuple[Step, ...],
) -> str | None:
    if isinstance(ref, TopicId):
        answered = [step.api for step in steps[:index] if isinstance(step, Receive | Repeat)]
        return None if "Metadata" in answered else "which nobody has looked up by then"
    if isinstance(ref, AnswerRef):
        answers = ref.step < index and isinstance(steps[ref.step], Receive | Repeat)
        return None if answers else "where no answer came before"
    if ref.actor not in actors:
        return f"but the actors are {', '.join(sorted(actors))}"
    if ref.name not in LEARNT_NAMES:
        return f"but an actor only learns {', '.join(LEARNT_NAMES)}"
    if (ref.actor, ref.name) in learnt:
        return None
    # An expectation may refer to a value that its own answer contains, e.g. `leader=ana.member_id`.
    step, teachers = steps[index], apis_where(lambda api: ref.name in api.learnt_names)
    if isinstance(step, Receive) and step.api in teachers:
        return None
    return f"who has received no answer to a {' or '.join(sorted(teachers))} by then"


def _capability_faults(script: Script) -> Iterable[str]:
    known = {capability.value for capability in Capability}
    for name in script.needs:
        if name not in known:
            yield f"it needs {name!r}; capabilities are {', '.join(sorted(known))}"
    used = {needed: index for index, step in enumerate(script.steps) if (needed := _needed(step))}
    for sheet in script.actors:
        if sheet.principal is not None and sheet.principal not in PRINCIPALS:
            yield f"{sheet.name} is {sheet.principal!r}; who may connect is {', '.join(PRINCIPALS)}"
    is_missing = Capability.PRINCIPALS not in script.needs
    if is_missing and any(sheet.principal is not None for sheet in script.actors):
        yield "an actor with a principal needs Capability.PRINCIPALS, which the scenario does not state"
    for needed, index in used.items():
        if needed not in script.needs:
            yield f"step {index} needs Capability.{needed.name}, which the scenario does not state"


def _needed(step: Step) -> Capability | None:
    match step:
        case DoToBroker():
            return BrokerAction(step.lever).needs
        case PauseAt() | ResumeFrom():
            return Breakpoint(step.point).needs
        case Append():
            return Capability.WRITE_LOG
        case _:
            is_of_others = getattr(step, "connection", None) in (ELSEWHERE, FORMERLY)
            return Capability.CLUSTER if is_of_others else None


def _append_faults(script: Script) -> Iterable[str]:
    """Yield appends with no action on the broker next: others that share it could write to the log there."""
    for index, step in enumerate(script.steps):
        if isinstance(step, Append) and not step.spoils:
            following = script.steps[index + 1] if index + 1 < len(script.steps) else None
            if not isinstance(following, Append | PauseAt | DoToBroker):
                yield f"after step {index}, which appends, nothing is done to the broker: state spoils=True"


def _session_faults(script: Script) -> Iterable[str]:
    """Yield a fault if a script asks for a session that Kafka's defaults refuse, without stating so."""
    refused = {
        step.sent_at
        for step in script.steps
        if isinstance(step, Receive)
        and (step.rung is not None or step.fields.get("error_code") == "INVALID_SESSION_TIMEOUT")
    }
    asked = [
        timeout
        for index, step in enumerate(script.steps)
        if isinstance(step, Send) and index not in refused
        if isinstance(timeout := step.fields.get("session_timeout_ms"), int)
    ]
    is_stated = bool(script.broker_config.keys() & SHORT_SESSIONS.keys())
    if min(asked, default=SESSION_TIMEOUT_MIN_MS) < SESSION_TIMEOUT_MIN_MS and not is_stated:
        yield (
            f"a member asks for a session of {min(asked)} ms, which a broker with Kafka's defaults "
            "refuses: state broker_config=SHORT_SESSIONS"
        )
