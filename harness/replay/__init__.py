"""Replays: what a tap recorded is told to the reference, and its answers are compared.

What real clients say hangs on time and chance, so two recordings cannot be compared step by step; but what a
coordinator answered to one of them can be compared with what the reference answers to the same.

    spec = specification("3.9.2", {"group.initial.rebalance.delay.ms": "0"})
    replayed = replay(events, spec, conversation_id="tap", is_whole=False)
"""

from harness.replay.finding import Replayed, total
from harness.replay.replay import replay
from harness.targets.reference.profile import ReferenceProfile, specification

__all__ = ["ReferenceProfile", "Replayed", "replay", "specification", "total"]
