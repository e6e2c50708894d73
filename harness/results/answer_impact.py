"""What a client would notice of one changed answer, by API and by what changed in it.

An error code is told by what a client does on it (`reactions`); that an answer does not come, or comes too
early, and every other field, stand here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from harness.diff.answers import kind_words
from harness.diff.model import Difference
from harness.results.client_reactions import REACTIONS, reaction
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
    """An `EventKind`, or None where the conversation had ended by then."""
    after_kind: str | None
    fields: Sequence[FieldChange]

    @property
    def errors(self) -> tuple[str, str] | None:
        """The first error code that changed, before and after; None where none did."""
        found = next((each for each in self.fields if _name(each.path) == _ERROR), None)
        return None if found is None else (_text(found.before), _text(found.after))


_CLOSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "JoinGroup": (
            "A consumer never gets into the group: it connects again, asks again, and is cut off again."
        ),
        "SyncGroup": "A consumer gets no assignment: it connects and joins again, and again.",
        "Heartbeat": "A consumer loses its coordinator with each heartbeat, until its session ends.",
        "OffsetCommit": "A commit is lost, or repeated until the call times out.",
        "OffsetFetch": "A consumer does not learn where to begin: its poll brings no records.",
        "LeaveGroup": "A consumer does not leave: its group waits for its session to end.",
        "FindCoordinator": "A client finds no coordinator, and tries until its time is up.",
        "InitProducerId": "A producer cannot begin: it tries until max.block.ms is over.",
    }
)
"""What it does where an answer was due and the connection closed."""
_UNANSWERED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "JoinGroup": (
            "A consumer waits in its poll for a rebalance that does not end in time; no records meanwhile."
        ),
        "SyncGroup": "A consumer waits for its assignment until its request times out, and joins again.",
        "Heartbeat": "A consumer counts the heartbeat as failed; without a better one its session ends.",
        "OffsetCommit": (
            "A commit that is waited for blocks until the call times out; one that is not is lost."
        ),
        "OffsetFetch": "A consumer does not learn where to begin: its poll brings no records.",
    }
)
"""And where none came."""
_TIMES_OUT: Final = "The client waits until its request times out, and asks again."
_UNREADABLE: Final = (
    "The client cannot read the answer: it drops the connection or throws, and whatever it asked for "
    "stays undone."
)
_CUT_OFF: Final = "The client loses its connection, and repeats the request in vain."

_TOO_EARLY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "JoinGroup": "A rebalance completes without those that were to be awaited: they are left without "
        "partitions, or the next rebalance follows at once.",
        "SyncGroup": "A member goes on before the leader has assigned anything.",
    }
)
_ANSWERED_AFTER_ALL: Final = "A client that waited in vain is answered."

_FIELDS: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("ApiVersions", "api_keys"): "A client picks another version of the API.",
        (
            "JoinGroup",
            "generation_id",
        ): "Generations are counted otherwise; clients send back what they got, so only tests that know the "
        "number notice.",
        ("JoinGroup", "protocol_name"): "The group takes another assignor of those that its members share: "
        "partitions move otherwise, and a rolling change of assignors takes another course.",
        ("JoinGroup", "leader"): "Another member leads: its assignor, with its settings, decides.",
        (
            "JoinGroup",
            "member_id",
        ): "The answer names the member otherwise; who takes its id from a refused answer "
        "joins with another one.",
        ("JoinGroup", "members"): "The leader sees other members, and assigns partitions to these.",
        ("JoinGroup", "protocol_type"): "A client that checks the type of its group fails to join.",
        ("SyncGroup", "assignment"): "A member works on other partitions than the leader gave it.",
        (
            "OffsetFetch",
            "committed_offset",
        ): "A consumer begins at another offset: it skips records or reads them "
        "again; at -1 it begins where auto.offset.reset says.",
        (
            "OffsetFetch",
            "committed_leader_epoch",
        ): "A consumer checks its position against that leader epoch: it may "
        "take its log for truncated, where -1 would have spared it the check.",
        (
            "OffsetFetch",
            "metadata",
        ): "Programs that keep something in a commit's metadata do not get it back as it was.",
        (
            "OffsetFetch",
            "topics",
        ): "A client that asks for offsets gets other topics than it asked for, or none: a "
        "group looks as if it had committed nothing.",
        (
            "OffsetFetch",
            "partitions",
        ): "A program that counts the answered partitions counts otherwise; who reads "
        "them by number notices nothing.",
        (
            "OffsetCommit",
            "partitions",
        ): "A program that counts the answered partitions counts otherwise; who reads "
        "them by number notices nothing.",
        ("OffsetCommit", "topics"): "A topic without partitions is answered otherwise; clients send none.",
        ("TxnOffsetCommit", "topics"): "A topic without partitions is answered otherwise; clients send none.",
        ("OffsetDelete", "topics"): "An admin client is told of other partitions than it named.",
        ("LeaveGroup", "members"): "An admin client that removes members is not told how it went with each.",
        (
            "DescribeGroups",
            "group_state",
        ): "kafka-consumer-groups --describe, and what watches groups, show another state.",
        (
            "DescribeGroups",
            "member_assignment",
        ): "kafka-consumer-groups --describe shows other partitions of a member.",
        ("DescribeGroups", "member_metadata"): "Who describes the group sees other subscriptions.",
        (
            "DescribeGroups",
            "authorized_operations",
        ): "Who asks what it may do to a group is told another set; "
        "strict decoders of the bits need to know the new ones.",
        ("ListGroups", "groups"): "kafka-consumer-groups --list shows other groups.",
        (
            "FindCoordinator",
            "error_message",
        ): "Nothing: the message is for people, and Kafka puts a word there.",
        ("FindCoordinator", "node_id"): "A client turns to another broker.",
        (
            "InitProducerId",
            "producer_id",
        ): "A producer gets another producer id: what went before under the former one is not fenced.",
        (
            "InitProducerId",
            "producer_epoch",
        ): "A producer gets another epoch: a zombie of the former epoch may not be fenced, and writes on.",
    }
)
"""By API and field: its own name, or a list that holds it."""


_PAIRS: Final[Mapping[tuple[str, str, str], str]] = MappingProxyType(
    {
        ("JoinGroup", "MEMBER_ID_REQUIRED", "NONE"): (
            "A client is in the group in one step: what it does on MEMBER_ID_REQUIRED is never tried,"
            " and a join that it repeats after a timeout leaves a member behind that nobody serves."
        ),
        ("Heartbeat", "UNKNOWN_MEMBER_ID", "GROUP_ID_NOT_FOUND"): (
            "A consumer whose group is gone does not learn it from its heartbeats: instead of joining"
            " anew it counts them as failed, until its session ends."
        ),
        ("Heartbeat", "UNKNOWN_MEMBER_ID", "NONE"): (
            "A consumer that was removed takes itself for a member, and works on beside its successor."
        ),
        ("OffsetCommit", "UNKNOWN_MEMBER_ID", "NONE"): (
            "The commit of a member that was removed is taken: it overwrites offsets of whoever has the "
            "partition now."
        ),
        ("OffsetCommit", "ILLEGAL_GENERATION", "NONE"): (
            "The commit of a former generation is taken: it overwrites offsets of whoever has the "
            "partition now."
        ),
        ("InitProducerId", "CONCURRENT_TRANSACTIONS", "NONE"): (
            "A producer begins although its former transaction has not ended, where it would have to wait."
        ),
        ("InitProducerId", "INVALID_PRODUCER_EPOCH", "NONE"): (
            "A producer that was fenced goes on, beside the one that fenced it."
        ),
    }
)
"""By API, former and latter error: what says more than the two reactions."""


def consequence(contrast: Contrast) -> str:
    """Say in a sentence what a client would notice."""
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
    """Say what a client would notice of a difference; nothing where that cannot be said of such a one.

    What was expected stands for before, what came for after. A time out of bounds has no sentence: how late
    is late depends on the client.
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
"""What was due and what came, by the classes that differences of whole answers have."""


def _of_kinds(contrast: Contrast) -> str:
    was, became = contrast.before_kind, contrast.after_kind
    if became == EventKind.MALFORMED:
        return _UNREADABLE
    if was == EventKind.SILENCE:
        return _TOO_EARLY.get(contrast.api, "A client is answered before what it waits for has happened.")
    if became == EventKind.RESPONSE:
        return _ANSWERED_AFTER_ALL
    if was == EventKind.RESPONSE and became == EventKind.CLOSED:
        return _CLOSED.get(contrast.api, _CUT_OFF)
    if was == EventKind.RESPONSE:
        return _UNANSWERED.get(contrast.api, _TIMES_OUT)
    return "A client that is not answered notices it otherwise."


def _of_errors(api: str, was: str, became: str) -> str:
    if (api, was, became) in _PAIRS:
        return _PAIRS[api, was, became]
    reactions = reaction(api, was), reaction(api, became)
    if None in reactions:
        return f"A client is told {became} where it was told {was}."
    if reactions[0] == reactions[1]:
        return f"On {became} as on {was} a client {reactions[0]}; only who looks at the code notices."
    if was == _NO_ERROR:
        return f"Where a client {reactions[0]}, it now {reactions[1]} ({became})."
    return f"On {was} a client {reactions[0]}; on {became} it {reactions[1]}."


def _of_field(api: str, path: str) -> str | None:
    """Return what is known of a field, or of the innermost list around it of which something is."""
    parts = _INDEX.sub("", path).split(".")
    return next((_FIELDS[api, part] for part in reversed(parts) if (api, part) in _FIELDS), None)


def deviation(contrast: Contrast) -> str:
    """Name a change by what it is: where nothing is known of its cause, this is what groups it."""
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
    """Return where it is decided what Kafka's client does on a deviation; nothing where it is no error."""
    api, _, what = name.partition(": ")
    found = REACTIONS.get(api) if " instead of " in what else None
    return "" if found is None else f"what clients do: {found.source}"
