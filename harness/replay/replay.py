"""Replay of a complete conversation: group by group, each as one part."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.replay.group import Account, GroupReplay
from harness.replay.history import read_conversation
from harness.replay.selecting import Gap
from harness.results.replay_results import COUNTS, FINDINGS, Replayed
from harness.targets.reference.profile import ReferenceProfile
from harness.trace.events import Event
from harness.trace.files import write_records, write_whole


def replay(
    events: Iterable[Event],
    spec: ReferenceProfile,
    *,
    conversation_id: str,
    is_whole: bool,
    gaps: Sequence[Gap] = (),
) -> Replayed:
    """Feed a recorded conversation to the reference and compare the coordinator's answers.

    Args:
        events: the events of one conversation, in their order.
        spec: the reference to compare it with.
        conversation_id: its name, for the findings.
        is_whole: whether the recording has everything that was ever sent about its groups; otherwise a group
            is compared only from when its state is known.
        gaps: when requests or answers may be missing in the recording.
    """
    conversation = read_conversation(events)
    account = Account(conversation_id=conversation_id, not_compared=Counter(conversation.unread))
    for group_id in sorted({group for each in conversation.operations for group in each.groups}):
        group = GroupReplay(group_id=group_id, spec=spec, account=account, is_whole=is_whole)
        group.take(conversation, gaps)
    return account.replayed()


def replay_all(events: Iterable[Event], spec: ReferenceProfile, *, is_whole: bool) -> tuple[Replayed, ...]:
    """Replay every conversation of some events, which come in the order of each conversation."""
    conversations: dict[str, list[Event]] = {}
    for event in events:
        conversations.setdefault(event.scenario_id, []).append(event)
    return tuple(
        replay(each, spec, conversation_id=name, is_whole=is_whole) for name, each in conversations.items()
    )


def keep(directory: Path, replayed: Sequence[Replayed]) -> None:
    """Write the results of replays into the folder of their journal."""
    write_records(directory / FINDINGS, (finding for each in replayed for finding in each.findings))
    counts = [
        {
            "conversation": each.conversation,
            "compared": each.compared,
            "not_compared": dict(each.not_compared),
        }
        for each in replayed
    ]
    write_whole(directory / COUNTS, json.dumps(counts, indent=2, ensure_ascii=False) + "\n")
