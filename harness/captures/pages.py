"""The site about judged captures: a summary, a view for each finding, and the coverage of answers."""

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.apis.descriptor import OF_GROUP_COORDINATOR
from harness.apis.table import descriptor
from harness.captures.judged import (
    BROKER,
    IN_WORDS,
    Excerpt,
    JudgedCaptures,
    JudgedGroup,
    Pattern,
    likeness,
    patterns_of,
    signature_of,
)
from harness.diff.model import Difference
from harness.diff.raw_difference import field_class
from harness.replay import ReferenceProfile
from harness.replay.search import GIVEN_UP
from harness.report.model.conversation import lone_conversation_data, steps_without_script
from harness.report.model.coverage import heat_tables
from harness.report.model.phrases import address
from harness.report.model.run_data import PageLimit, for_page
from harness.report.site.pages import Site
from harness.results.replay_results import ReplayFinding
from harness.trace.canonical import Json
from harness.trace.events import EventKind
from harness.verdict import DifferenceClass

_JUDGED: Final = "judged"
_COVERAGE: Final = "coverage"
_ROWS_MAX: Final = 500
_FILES_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Given:
    """What the user gave to be judged."""

    files: Sequence[Path]
    properties: Mapping[str, str]
    """The given properties of the brokers' configuration."""
    is_newest: bool
    """Whether the newest profile is used because none was named."""


def write_pages(out: Path, judged: JudgedCaptures, spec: ReferenceProfile, given: Given) -> Path:
    """Write the site about results with excerpts into a folder, and return its page.

    Pages of an earlier judgement in the folder are replaced.
    """
    out.mkdir(parents=True, exist_ok=True)
    first, *others = given.files
    name = f"{first.name} and {len(others)} more" if others else first.name
    site = Site(out, name, nav=(_JUDGED, _COVERAGE))
    site.clear()
    patterns = {each.signature: each for each in patterns_of(judged.groups)}
    places = {signature: place for place, signature in enumerate(patterns)}
    excerpts = [each for group in judged.groups for each in group.excerpts]
    excerpts.sort(key=lambda each: places[_signature(each)])
    pages = {_key(each.finding): address(_document(place)) for place, each in enumerate(excerpts, 1)}
    findings = [finding for group in judged.groups for finding in group.replayed.findings]
    findings.sort(key=lambda each: _key(each) not in pages)
    common = {"profile": spec.profile.name, "given_up": GIVEN_UP}
    counts = {(*each, "captures"): count for each, count in judged.answered.items()}
    about_groups = sum(descriptor(api).subject in OF_GROUP_COORDINATOR for api, _, _ in judged.answered)
    site.view(_COVERAGE, "answers.html.j2", combination_count=about_groups, heat=heat_tables(counts))
    _write_findings(site, excerpts, list(pages.values()), patterns, common)
    site.view(
        _JUDGED,
        "judged.html.j2",
        given=given,
        files=given.files[:_FILES_SHOWN],
        command=shlex.join(["kafka-conformance", *sys.argv[1:]]),
        patterns=tuple(patterns.values()),
        first_pages={_signature(each): pages[_key(each.finding)] for each in reversed(excerpts)},
        clients=_clients(judged.groups, patterns),
        findings=findings[:_ROWS_MAX],
        pages=pages,
        finding_count=len(findings),
        page_count=len(excerpts),
        **_counts(judged),
        **common,
    )
    return site.finish()


def _document(place: int) -> str:
    """Return the name of a finding's document; names sort as the findings do."""
    return f"finding/{place:04}"


def _counts(judged: JudgedCaptures) -> dict[str, object]:
    """Return the summary's values for all groups together."""
    notes = list(judged.notes.in_words())
    not_compared: Counter[str] = Counter()
    for group in judged.groups:
        not_compared.update(group.replayed.not_compared)
    return {
        "groups": judged.groups,
        "shown_groups": sorted(judged.groups, key=lambda each: -len(each.replayed.findings))[:_ROWS_MAX],
        "exchange_count": sum(each.exchanges for each in judged.groups),
        "connections": judged.notes.connections,
        "compared": sum(each.replayed.compared for each in judged.groups),
        "not_compared": dict(sorted(not_compared.items(), key=lambda each: (-each[1], each[0]))),
        "refusals": sorted(
            (each for group in judged.groups for each in group.refusals),
            key=lambda each: (each.party, each.cause, each.at_ms),
        ),
        "notes": notes[:_ROWS_MAX],
        "note_count": len(notes),
    }


def _write_findings(
    site: Site,
    excerpts: Sequence[Excerpt],
    pages: Sequence[str],
    patterns: Mapping[str, Pattern],
    common: Mapping[str, object],
) -> None:
    around = ["", *pages, ""]
    for place, excerpt in enumerate(excerpts, 1):
        site.document(
            "findings",
            _document(place),
            "judged_finding.html.j2",
            talk=_conversation(excerpt, oracle=f"reference {common['profile']}"),
            pattern=patterns[_signature(excerpt)],
            finding=excerpt.finding,
            has_bytes=any(each.event and each.event.raw for each in excerpt.rows),
            previous=around[place - 1],
            following=around[place + 1],
            **common,
        )


def _signature(excerpt: Excerpt) -> str:
    return signature_of(likeness(excerpt.finding))


def _key(finding: ReplayFinding) -> tuple[str, int]:
    return finding.group, finding.position


def _clients(groups: Sequence[JudgedGroup], patterns: Mapping[str, Pattern]) -> list[Mapping[str, object]]:
    """Return a row for each library with its version: its groups, its findings, and those of each pattern."""
    names = {name for each in groups for name in each.clients}
    names |= {name for each in patterns.values() for name in each.clients}
    answered = {name: [each for each in patterns.values() if name in each.clients] for name in names}
    counts = {name: sum(each.clients[name] for each in found) for name, found in answered.items()}
    return [
        {
            "name": name,
            "groups": sum(name in each.clients if name else not each.clients for each in groups),
            "findings": counts[name],
            "patterns": answered[name],
        }
        for name in sorted(names, key=lambda each: (-counts[each], each))
    ]


def _conversation(excerpt: Excerpt, *, oracle: str) -> Mapping[str, Json]:
    """Return the conversation around a finding for `static/site.js`."""
    differences = [for_page(each) for each in _differences(excerpt)]
    counts = ", ".join(f"{count} {api}" for api, count in sorted(excerpt.left_out.items()))
    left_out = f"Left out, on other connections and answered without an error: {counts}." if counts else ""
    return lone_conversation_data(
        BROKER,
        steps_without_script(list(PageLimit().within(excerpt.rows)), differences),
        texts=excerpt.titles,
        further={
            "oracle": oracle,
            "title": "the broker",
            "first": f"first-difference-{BROKER}",
            "left_out": left_out,
        },
    )


def _differences(excerpt: Excerpt) -> Iterable[Difference]:
    finding = excerpt.finding
    for ordinal, unlike in enumerate(excerpt.unlike):
        if unlike.field:
            kind = field_class(unlike.field, presence_differs="null" in (unlike.expected, unlike.actual))
        else:
            is_early = unlike.expected == IN_WORDS[EventKind.SILENCE]
            kind = DifferenceClass.ORDERING if is_early else DifferenceClass.LIVENESS
        yield Difference(
            run_id="",
            target=BROKER,
            scenario_id="",
            ordinal=ordinal,
            is_consequence=ordinal > 0,
            against="reference",
            step=finding.position,
            api=finding.api,
            api_version=finding.api_version,
            difference_class=kind,
            field=unlike.field or None,
            expected=unlike.expected,
            actual=unlike.actual,
            signature=_signature(excerpt),
            cause="",
            is_lenient=False,
            event_sequence=2 * finding.position + 1,
        )
