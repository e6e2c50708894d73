"""Captures compared with the reference, group by group."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.captures.conversations import (
    CONVERSATION,
    GroupConversation,
    conversations_of,
    events_of,
)
from harness.captures.files import packets_of
from harness.captures.framing import entries_of
from harness.captures.hashing import Hashing
from harness.captures.judged import JudgedCaptures, JudgedGroup
from harness.captures.notes import Notes
from harness.captures.segments import segments_of
from harness.captures.streams import pieces_of
from harness.replay import ReferenceProfile, replay
from harness.replay.gaps import Gap

DEFAULT_PORT: Final = 9092


def judge_captures(
    paths: Sequence[Path],
    spec: ReferenceProfile,
    *,
    ports: Collection[int],
    is_whole: bool,
    hashes_ids: bool,
) -> JudgedCaptures:
    """Compare what brokers answered in captures with what the reference answers.

    Args:
        paths: of captures whose packets belong together: the files of one tcpdump, or of several brokers.
        spec: the reference to compare them with.
        ports: of the brokers.
        is_whole: whether the captures have all that was ever said about their groups.
        hashes_ids: whether ids and names are to be hashed in what is returned.

    Raises:
        ReportError: a file does not exist.
        TraceError: a file is no capture.
    """
    notes = Notes()
    pieces = pieces_of(segments_of(packets_of(paths, notes), ports, notes), notes)
    events = events_of(entries_of(pieces, notes, conversation=CONVERSATION), target=CONVERSATION)
    hashing = Hashing() if hashes_ids else None
    if hashing is not None:
        events = hashing.learning(events)
    conversations = tuple(conversations_of(events))
    groups = judged(conversations, notes.gaps, spec, is_whole=is_whole)
    if hashing is not None:
        groups = map(hashing.hashed, groups)
    return JudgedCaptures(groups=tuple(groups), notes=notes)


def judged(
    conversations: Iterable[GroupConversation],
    gaps: Sequence[Gap],
    spec: ReferenceProfile,
    *,
    is_whole: bool,
) -> Iterator[JudgedGroup]:
    """Replay the conversation of each group by itself.

    Args:
        conversations: of groups.
        gaps: when requests or answers may be missing.
        spec: the reference to compare them with.
        is_whole: whether they have all that was ever said about their groups.
    """
    for conversation in conversations:
        replayed = replay(
            conversation.events,
            spec,
            conversation_id=CONVERSATION,
            is_whole=is_whole,
            gaps=gaps,

        )
        yield JudgedGroup(group=conversation.group, clients=conversation.clients, replayed=replayed)
