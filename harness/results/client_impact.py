"""What a client would notice of one changed answer, and of what changes between releases, as data.

A changed error code is described by how a client reacts to it. The texts of each API are in
`harness/apis/impact.toml`, those of releases in `behaviours.toml` and `gone_versions.toml`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from harness.apis.descriptor import IMPACTS, ClientImpact
from harness.diff.alignment import kind_words
from harness.diff.model import Difference
from harness.tables import Table, read_table
from harness.trace.canonical import is_prose
from harness.trace.events import EventKind
from harness.verdict import DifferenceClass

_INDEX: Final = re.compile(r"\[\w*\]")


class Effect(StrEnum):
    """What a change does to clients, the worst first."""

    STOPS = "stops working"
    DIFFERS = "behaves differently"
    TOOLS = "tools see"
    NOBODY = "nobody notices"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field of an answer, before and after."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """One place in a conversation, before and after."""

    api: str
    """`connection` if there was no API."""
    before_kind: str | None
    """An `EventKind`, or None if the conversation had ended by then."""
    after_kind: str | None
    fields: Sequence[FieldChange]
    """All fields that differ; none if only one side answered."""

    @property
    def errors(self) -> tuple[str, str] | None:
        """The first error code that changed, before and after; None if no error code changed."""
        found = next((each for each in self.fields if _name(each.path) == "error_code"), None)
        return None if found is None else (found.before.strip('"'), found.after.strip('"'))


_UNREADABLE: Final = (
    "The client cannot read the answer: it drops the connection or throws, and whatever it asked for "
    "stays undone."
)
_NO_IMPACT: Final = ClientImpact()
_ENDS: Final = ("fails", "is fenced")
"""How a reaction begins that ends what the client does."""
_TOOLS: Final = ("admin",)


def consequence(contrast: Contrast) -> str:
    """Return a sentence on what a client would notice."""
    if contrast.before_kind != contrast.after_kind:
        return _of_kinds(contrast)
    if contrast.errors is not None:
        return _of_errors(contrast.api, *contrast.errors)
    known = _known(contrast.api).fields
    for each in contrast.fields:
        if listed := _listed(contrast.api, each.path):
            return known[listed]
    names = ", ".join(dict.fromkeys(_name(each.path) for each in contrast.fields))
    return f"Programs that read {names or 'the answer'} see something else."


def impact_of(difference: Difference) -> str:
    """Return a sentence on what a client would notice of a difference; empty if there is none."""
    contrast = _contrast(difference)
    return consequence(contrast) if contrast else ""


def effect_of(difference: Difference | None) -> Effect:
    """Return what a difference does to clients; if it has no sentence, that they behave differently."""
    contrast = _contrast(difference) if difference else None
    return effect(contrast) if contrast else Effect.DIFFERS


def _contrast(difference: Difference) -> Contrast | None:
    """Return a difference, with the expected value as "before"; None if there is no sentence on it.

    A difference of times has no sentence: which delay matters depends on the client.
    """
    if difference.api is None or difference.is_lenient:
        return None
    if difference.field is not None:
        was = became = EventKind.RESPONSE
        change = FieldChange(path=difference.field, before=difference.expected, after=difference.actual)
        return Contrast(api=difference.api, before_kind=was, after_kind=became, fields=(change,))
    kinds = _KINDS_OF.get(DifferenceClass(difference.difference_class))
    if kinds is None:
        return None
    was, became = kinds
    if difference.actual == kind_words(EventKind.CLOSED):
        became = EventKind.CLOSED
    return Contrast(api=difference.api, before_kind=was, after_kind=became, fields=())


_KINDS_OF: Final[Mapping[DifferenceClass, tuple[EventKind, EventKind]]] = {
    DifferenceClass.ORDERING: (EventKind.SILENCE, EventKind.RESPONSE),
    DifferenceClass.LIVENESS: (EventKind.RESPONSE, EventKind.NO_ANSWER),
    DifferenceClass.ENCODING: (EventKind.RESPONSE, EventKind.MALFORMED),
}
"""The expected and the actual kind of event, by the class of a difference of whole answers."""


def _of_kinds(contrast: Contrast) -> str:
    was, became, known = contrast.before_kind, contrast.after_kind, _known(contrast.api)
    if became == EventKind.MALFORMED:
        return _UNREADABLE
    if was == EventKind.SILENCE:
        return known.too_early
    if became == EventKind.RESPONSE:
        return "A client that waited in vain is answered."
    if was == EventKind.RESPONSE and became == EventKind.CLOSED:
        return known.closed
    if was == EventKind.RESPONSE:
        return known.unanswered
    return "A client that is not answered notices it otherwise."


def _of_errors(api: str, was: str, became: str) -> str:
    known = _known(api)
    if (known_text := known.instead.get(f"{was} {became}")) is not None:
        return known_text
    if not known.source:
        return f"A client is told {became} where it was told {was}."
    before, after = known.reaction(was), known.reaction(became)
    if before == after:
        return f"On {became} as on {was} a client {before}; only who looks at the code notices."
    if was == "NONE":
        return f"Where a client {before}, it now {after} ({became})."
    return f"On {was} a client {before}; on {became} it {after}."


def _listed(api: str, path: str) -> str:
    """Return the name under which a field has a text, or else the innermost enclosing field that has one."""
    parts = _INDEX.sub("", path).split(".")
    paths = (parts[first:last] for last in range(len(parts), 0, -1) for first in range(last))
    return next((name for each in paths if (name := ".".join(each)) in _known(api).fields), "")


def effect(contrast: Contrast) -> Effect:
    """Return what a changed answer does to clients."""
    known, usual = _known(contrast.api), Effect.DIFFERS
    if known.who == _TOOLS:
        usual = Effect.TOOLS
    elif contrast.before_kind != contrast.after_kind:
        return Effect.STOPS if contrast.before_kind == EventKind.RESPONSE else usual
    if contrast.errors is not None and known.source:
        before, after = (known.reaction(error) for error in contrast.errors)
        if " ".join(contrast.errors) in known.instead or before != after:
            return Effect.STOPS if usual == Effect.DIFFERS and after.startswith(_ENDS) else usual
        return Effect.NOBODY
    names = [each.path for each in contrast.fields]
    is_read = any(
        _listed(contrast.api, path) not in known.unnoticed and not is_prose(_name(path)) for path in names
    )
    return usual if is_read or not names else Effect.NOBODY


def audience(api: str) -> tuple[str, ...]:
    """Return who asks an API, by their keys in `behaviours.toml`."""
    return _known(api).who


def _known(api: str) -> ClientImpact:
    return IMPACTS.get(api, _NO_IMPACT)


def deviation(contrast: Contrast) -> str:
    """Return a short name of a change, which groups changes whose cause is unknown."""
    if contrast.before_kind != contrast.after_kind:
        return f"{contrast.api}: {_DEVIATIONS.get(contrast.after_kind or '', 'nothing more')}"
    if contrast.errors is not None:
        was, became = contrast.errors
        return f"{contrast.api}: {became} instead of {was}"
    return f"{contrast.api}: {_name(contrast.fields[0].path)}" if contrast.fields else contrast.api


_DEVIATIONS: Final[Mapping[str, str]] = {
    EventKind.CLOSED: "the connection closes",
    EventKind.NO_ANSWER: "no answer",
    EventKind.SILENCE: "no answer",
    EventKind.MALFORMED: "an answer that cannot be read",
    EventKind.RESPONSE: "an answer where none was due",
}


def _name(path: str) -> str:
    return _INDEX.sub("", path).rpartition(".")[2]


def deviation_source(name: str) -> str:
    """Return the source on how Kafka's client reacts to a deviation; empty if no error code changed."""
    api, _, what = name.partition(": ")
    source = _known(api).source if " instead of " in what else ""
    return source and f"what clients do: {source}"


class BehaviourImpact(Table):
    """What a client would notice of a named behaviour of Kafka."""

    effect: Effect
    """What a release does to clients that comes to have the behaviour."""
    lost: Effect | None = None
    """What one does that has it no longer, if that is another effect."""
    who: tuple[str, ...]
    """Those that notice, by their keys in `AUDIENCES`."""
    says: str
    """How a release with the behaviour affects clients."""
    do: str = ""
    """What to do about what stops working."""
    protocol: str = ""
    """The protocol that comes with the behaviour."""


class _Impacts(Table):
    who: Mapping[str, str]
    behaviours: Mapping[str, BehaviourImpact]
    ways: Mapping[str, str]


class ClientReleases(Table):
    """Since which release a client sends which versions."""

    name: str
    source: str
    since: Mapping[str, Mapping[int, str]]
    """By API and version: the first release whose highest version is at least that one."""


class Removal(Table):
    """What raised minimum versions."""

    name: str
    """The KIP."""
    says: str
    """What is gone, although brokers advertise it."""


class _GoneVersions(Table):
    removals: Mapping[str, Removal]
    clients: Mapping[str, ClientReleases]


Release: TypeAlias = tuple[int, ...]
_IMPACTS: Final = read_table("harness.results", "behaviours.toml", _Impacts)
_GONE: Final = read_table("harness.results", "gone_versions.toml", _GoneVersions)
BEHAVIOURS: Final[Mapping[str, BehaviourImpact]] = _IMPACTS.behaviours
"""By the names of behaviours in lower case."""
AUDIENCES: Final[Mapping[str, str]] = _IMPACTS.who
"""Kinds of clients in words, by their keys in the tables."""
WAYS: Final[Mapping[str, str]] = _IMPACTS.ways
"""How the Java coordinator differs from the Scala one apart from named behaviours, by the deviation."""
CLIENTS: Final[Mapping[str, ClientReleases]] = _GONE.clients


def audience_words(keys: Iterable[str]) -> str:
    """Return kinds of clients in words."""
    return "; ".join(dict.fromkeys(AUDIENCES[key] for key in keys))


def removals_between(before: Release, after: Release) -> Mapping[str, Removal]:
    """Return what raised minimum versions after one release and until another, by its first release."""
    return {
        release: removal for release, removal in _GONE.removals.items() if before < _number(release) <= after
    }


def outdated_clients(minima: Mapping[str, int]) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return, by client, the releases before which it lacks APIs in the least versions that are served.

    Each release, the newest first, has these APIs.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for client in CLIENTS.values():
        lacking = {api: client.since.get(api, {}).get(least) for api, least in minima.items()}
        for release in sorted({each for each in lacking.values() if each}, key=_number, reverse=True):
            found.setdefault(client.name, {})[release] = [api for api in lacking if lacking[api] == release]
    return found


def _number(release: str) -> Release:
    return tuple(int(part) for part in release.split("."))
