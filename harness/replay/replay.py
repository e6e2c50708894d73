"""Replay of a complete conversation: group by group, each as one part."""

from collections import Counter
from collections.abc import Iterable, Sequence

from harness.replay.carried import Account
from harness.replay.finding import Replayed
from harness.replay.gaps import Gap
from harness.replay.group import GroupReplay
from harness.replay.history import read_conversation
from harness.targets.reference.profile import ReferenceProfile
from harness.trace.events import Event


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
        GroupReplay(group_id, spec, account, is_whole=is_whole).take(conversation, gaps)
    return account.replayed()
