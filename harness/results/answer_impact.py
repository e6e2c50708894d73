"""What a client would notice of one changed answer, by API and by the kind of change.

A changed error code is described by how a client reacts to it. The texts of each API are in
`harness.apis.impact`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from harness.apis.descriptor import ClientImpact
from harness.apis.table import descriptor
from harness.diff.answers import kind_words
from harness.diff.model import Difference
from harness.trace.events import EventKind
from harness.trace.schema import TraceError, parsed_json
from harness.verdict import DifferenceClass

_INDEX: Final = re.compile(r"\[\w*\]")
_ERROR: Final = "error_code"
_NO_ERROR: Final = "NONE"


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
    before_kind: str | None
    """An `EventKind`, or None if the conversation had ended by then."""
    after_kind: str | None
    fields: Sequence[FieldChange]

    @property
    def errors(self) -> tuple[str, str] | None:
        """The first error code that changed, before and after; None if no error code changed."""
        found = next((each for each in self.fields if _name(each.path) == _ERROR), None)
        return None if found is None else (_text(found.before), _text(found.after))


_UNREADABLE: Final = (
    "The client cannot read the answer: it drops the connection or throws, and whatever it asked for "
    "stays undone."
)
_ANSWERED_AFTER_ALL: Final = "A client that waited in vain is answered."
_NO_IMPACT: Final = ClientImpact()


def consequence(contrast: Contrast) -> str:
    """Return a sentence on what a client would notice."""
    if contrast.before_kind != contrast.after_kind:
        return _of_kinds(contrast)
    if contrast.errors is not None:
        return _of_errors(contrast.api, *contrast.errors)
    known = next((text for each in contrast.fields if (text := _of_field(contrast.api, each.path))), None)
    if known is not None:
        return known
    names = ", ".join(dict.fromkeys(_name(each.path) for each in contrast.fields))
    return f"Programs that read {names or 'the answer'} see something else."


def impact_of(difference: Difference) -> str:
    """Return a sentence on what a client would notice of a difference, or an empty string if there is none.

    The expected value counts as "before", the actual value as "after". A difference of times has no sentence:
    which delay matters depends on the client.
    """
    if difference.api is None or difference.is_lenient:
        return ""
    if difference.field is not None:
        change = FieldChange(path=difference.field, before=difference.expected, after=difference.actual)
        return consequence(
            Contrast(
                api=difference.api,
                before_kind=EventKind.RESPONSE,
                after_kind=EventKind.RESPONSE,
                fields=(change,),
            )
        )
    kinds = _KINDS_OF.get(DifferenceClass(difference.difference_class))
    if kinds is None:
        return ""
    was, became = kinds
    if difference.actual == kind_words(EventKind.CLOSED):
        became = EventKind.CLOSED
    return consequence(Contrast(api=difference.api, before_kind=was, after_kind=became, fields=()))


_KINDS_OF: Final[Mapping[DifferenceClass, tuple[EventKind, EventKind]]] = MappingProxyType(
    {
        DifferenceClass.ORDERING: (EventKind.SILENCE, EventKind.RESPONSE),
        DifferenceClass.LIVENESS: (EventKind.RESPONSE, EventKind.NO_ANSWER),
        DifferenceClass.ENCODING: (EventKind.RESPONSE, EventKind.MALFORMED),
    }
)
"""The expected and the actual kind of event, by the class of a difference of whole answers."""


def _of_kinds(contrast: Contrast) -> str:
    was, became, known = contrast.before_kind, contrast.after_kind, _known(contrast.api)
    if became == EventKind.MALFORMED:
        return _UNREADABLE
    if was == EventKind.SILENCE:
        return known.too_early
    if became == EventKind.RESPONSE:
        return _ANSWERED_AFTER_ALL
    if was == EventKind.RESPONSE and became == EventKind.CLOSED:
        return known.closed
    if was == EventKind.RESPONSE:
        return known.unanswered
    return "A client that is not answered notices it otherwise."


def _of_errors(api: str, was: str, became: str) -> str:
    known = _known(api)
    if (was, became) in known.by_errors:
        return known.by_errors[was, became]
    if known.reactions is None:
        return f"A client is told {became} where it was told {was}."
    before, after = known.reactions.to(was), known.reactions.to(became)
    if before == after:
        return f"On {became} as on {was} a client {before}; only who looks at the code notices."
    if was == _NO_ERROR:
        return f"Where a client {before}, it now {after} ({became})."
    return f"On {was} a client {before}; on {became} it {after}."


def _of_field(api: str, path: str) -> str | None:
    """Return the text for a field or, if it has none, for the innermost enclosing field that has one."""
    by_field, parts = _known(api).by_field, _INDEX.sub("", path).split(".")
    return next((by_field[part] for part in reversed(parts) if part in by_field), None)


def _known(api: str) -> ClientImpact:
    return descriptor(api).impact or _NO_IMPACT


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
    """Return a field's own name."""
    return _INDEX.sub("", path).rpartition(".")[2]


def _text(value: str) -> str:
    """Return an error code without the quotation marks of JSON."""
    try:
        read = parsed_json(value, where="a value")
    except TraceError:
        return value
    return read if isinstance(read, str) else value


def deviation_source(name: str) -> str:
    """Return the source on how Kafka's client reacts to a deviation; empty if no error code changed."""
    api, _, what = name.partition(": ")
    found = _known(api).reactions if " instead of " in what else None
    return "" if found is None else f"what clients do: {found.source}"
