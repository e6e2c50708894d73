"""The site of a tap: requests, answers, and violated invariants; nothing is judged."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.invariants import AtFault, Violation
from harness.invariants.checker import VIOLATIONS
from harness.report.model.conversation import (
    NO_ERROR,
    error_codes,
    heard,
    lone_conversation_data,
    steps_of,
)
from harness.report.model.coverage import heat_tables
from harness.report.model.phrases import slug
from harness.report.model.run_data import AnsweredCode
from harness.report.site.pages import Site, banner
from harness.trace.canonical import Json
from harness.trace.events import Event, EventKind
from harness.trace.files import RunFolder, read_events, read_records

CONNECTION_COUNT_MAX: Final = 400
"""The number of connections whose conversation a site contains; the trace has all."""
_VIOLATION_COUNT_MAX: Final = 500
_NO_CODE: Final = "—"
_FINE: Final = (NO_ERROR, _NO_CODE)
_ENDS: Final = (EventKind.CLOSED, EventKind.DISCONNECTED)


def tap_site(folder: RunFolder) -> Path:
    """Write the site of a tap into its folder, and return its page.

    Raises:
        TraceError: a file of the tap is damaged, or the tap was killed and is not finished yet.
    """
    header, footer = folder.read_run(), folder.read_footer()
    site = Site(folder.path, header.run_id, banner=banner(footer), nav=("tap",))
    site.clear()
    path = folder.record / VIOLATIONS
    violations = read_records(Violation, path) if path.is_file() else ()
    targets = [_target(folder, name, violations, site) for name in folder.targets()]
    site.view(
        "tap",
        "tap.html.j2",
        header=header,
        footer=footer,
        targets=targets,
        violations=violations[:_VIOLATION_COUNT_MAX],
        violation_count=len(violations),
        is_by_clients=all(each.party == AtFault.CLIENTS for each in violations),
    )
    return site.finish()


def _target(
    folder: RunFolder, name: str, violations: Iterable[Violation], site: Site
) -> Mapping[str, object]:
    events = read_events(folder.events(name))
    broken = {(each.scenario_id, each.sequence) for each in violations if each.target == name}
    by_connection: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in events:
        by_connection[event.scenario_id, event.connection or ""].append(event)
    return {
        "header": folder.read_headers(name)[0],
        "request_count": sum(each.kind == EventKind.REQUEST for each in events),
        "heat": tuple(heat_tables(_answers(events))),
        "connections": [
            _connection(name, *key, members, broken, site if place < CONNECTION_COUNT_MAX else None)
            for place, (key, members) in enumerate(by_connection.items())
        ],
    }


def _connection(
    target: str,
    conversation: str,
    name: str,
    events: Sequence[Event],
    broken: Container[tuple[str, int]],
    site: Site | None,
) -> Mapping[str, object]:
    """Return one connection with a summary of its traffic; its conversation goes into the site, if given."""
    requests = Counter(each.api or "?" for each in events if each.kind == EventKind.REQUEST)
    answers = (_code(each) for each in events if each.kind == EventKind.RESPONSE)
    errors = Counter(code for code in answers if code not in _FINE)
    # Frames that were in flight may still come after the end.
    end = next((each for each in events if each.kind in _ENDS), None)
    anchor = f"connection-{slug(f'{target}/{conversation}/{name}')}"
    return {
        "name": name,
        "conversation": conversation,
        "client_id": next((each.actor for each in events if each.actor), ""),
        "began_ms": events[0].at_ms,
        "ended_ms": events[-1].at_ms,
        "requests": requests.total(),
        "apis": _counted(requests),
        "errors": _counted(errors),
        "ended": "" if end is None else (end.note or end.kind),
        "violations": sum((each.scenario_id, each.sequence) in broken for each in events),
        "anchor": anchor,
        "talk": "" if site is None else site.talk(anchor, _conversation(anchor, name, events)),
    }


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda each: -each[1]))


def _conversation(anchor: str, name: str, events: Iterable[Event]) -> Json:
    reported, left_out = heard(events)
    further: dict[str, Json] = {"left_out": left_out, "title": name}
    return lone_conversation_data(anchor, steps_of(reported, lambda _: -1), further=further)


def _answers(events: Iterable[Event]) -> Mapping[AnsweredCode, int]:
    return Counter(
        (each.api, each.api_version, _code(each), each.actor or "an unknown client")
        for each in events
        if each.kind == EventKind.RESPONSE and each.api is not None and each.api_version is not None
    )


def _code(event: Event) -> str:
    """Return the error codes of an answer, at top level or within it, as one text."""
    found = error_codes(event)
    bad = [code for code in found if code != NO_ERROR]
    return ", ".join(bad) or (NO_ERROR if found else _NO_CODE)
