"""Replays: the requests that a tap recorded are fed to the reference, and the answers are compared.

What real clients send depends on time and chance, so two recordings cannot be compared step by step. But a
coordinator's answers in one recording can be compared with the reference's answers to the same requests.
Requests that overlap may have taken effect in any order, and timers run meanwhile. A *course* is one order of
the requests and of the machine's own steps. The *search* looks for one on which every answer is as recorded.

    spec = specification("3.9.2", {"group.initial.rebalance.delay.ms": "0"})
    replayed = replay(events, spec, conversation_id="tap", is_whole=False)
"""

from harness.replay.group import replay
from harness.results.replay_results import Replayed, total
from harness.targets.reference.profile import ReferenceProfile, specification

__all__ = ["ReferenceProfile", "Replayed", "replay", "specification", "total"]
