"""The reference's named behaviours as text; the only module outside it that reads their table."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from harness.suggestions import close_to
from harness.targets.base.interface import TargetError
from reference_coordinator.core.ids import CoordinatorFamily
from reference_coordinator.profile.behaviour import OLDEST, Row, Span, Version
from reference_coordinator.profile.behaviours import TABLE
from reference_coordinator.profile.profiles import Profile

ANOTHER_COORDINATOR: Final = "the Java coordinator, the only one since 4.0"
"""What makes the difference if two releases have coordinators of different families."""
_FAMILIES: Final = {
    CoordinatorFamily.SCALA: "the Scala coordinator",
    CoordinatorFamily.JAVA: "the Java coordinator",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourSheet:
    """A named difference between Kafka's releases."""

    name: str
    """In lower case, as in profiles and reports."""
    meaning: str
    """What a release with this behaviour does."""
    releases: str
    """The releases that have it, e.g. `2.5 until before 3.7.1, the Scala coordinator`."""
    source: str
    """The Kafka class and method, KIP or KAFKA-number that decides."""


def behaviour_sheets() -> tuple[BehaviourSheet, ...]:
    """Return every named behaviour, in the order of the reference's table."""
    return tuple(_sheet(row) for row in TABLE)


def behaviour_sheet(name: str) -> BehaviourSheet:
    """Return a behaviour by its name, in upper or lower case, with underscores or hyphens.

    Raises:
        TargetError: there is no such behaviour; the message suggests similar names.
    """
    sheets = {sheet.name: sheet for sheet in behaviour_sheets()}
    wanted = name.lower().replace("-", "_")
    if wanted not in sheets:
        meant = close_to(wanted, sheets, otherwise="`list --behaviours` shows all of them")
        raise TargetError(f"no behaviour is called {name!r}; {meant}")
    return sheets[wanted]


def changes_with(name: str, before: Profile, after: Profile) -> str:
    """Return the release with which a behaviour begins or ends on the way from one profile to another.

    Raises:
        TargetError: there is no such behaviour.
    """
    sheet = behaviour_sheet(name)
    spans = next(row.spans for row in TABLE if row.behaviour.name.lower() == sheet.name)
    lower, upper = sorted((before.version, after.version))
    bounds = [bound for span in spans for bound in (span.since, span.until) if bound is not None]
    between = [bound for bound in bounds if lower < bound <= upper]
    if between:
        return f"{_release(max(between))}{' (going back)' if before.version == upper else ''}"
    return ANOTHER_COORDINATOR if before.coordinator != after.coordinator else sheet.releases


def _sheet(row: Row) -> BehaviourSheet:
    return BehaviourSheet(
        name=row.behaviour.name.lower(),
        meaning=row.meaning,
        releases="; ".join(_span_text(span) for span in row.spans),
        source=row.source,
    )


def _span_text(span: Span) -> str:
    since = "2.4" if span.since == OLDEST else _release(span.since)
    if span.until is None:
        releases = "all releases" if span.since == OLDEST else f"{since} and later"
    else:
        releases = f"{since} until before {_release(span.until)}"
    return releases if span.family is None else f"{releases}, {_FAMILIES[span.family]}"


def _release(version: Version) -> str:
    return ".".join(str(part) for part in version)


def behaviours_page(sheets: Iterable[BehaviourSheet], shown: Mapping[str, str]) -> str:
    """Return the documentation page of some behaviours.

    Args:
        sheets: the behaviours' sheets.
        shown: by a behaviour's name, the scenarios that show it, or why none does.
    """
    chapters = [
        f"## {sheet.name}\n\n{sheet.meaning}\n\n"
        f"- Releases: {sheet.releases}\n- Source: {sheet.source.replace('<', '&lt;')}\n"
        f"{_shown_by(shown.get(sheet.name))}"
        for sheet in sheets
    ]
    return "\n".join((_HEAD, *chapters))


def _shown_by(text: str | None) -> str:
    return "" if text is None else f"- Shown by: {text}\n"


_HEAD: Final = """# Named behaviours

What differs between Kafka's releases, as clients of a group coordinator see it. The reference asks its
profile for these and never compares versions; `kafka-conformance explain --behaviour NAME` tells one of
them. `make docs` writes this page from `reference_coordinator/profile/behaviours.py`.
"""
