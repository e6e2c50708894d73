"""Captures of tcpdump: what brokers answered in them is compared with what the reference answers.

    spec = specification("4.1", {}, defaults={})
    judged = judge_captures([Path("broker.pcap")], spec, ports={9092}, is_whole=False, hashes_ids=False)

Each step is a function over an iterable: packets, segments, streams, whole frames, events, conversations by
group, and their replays.
"""

from harness.captures.judged import JudgedCaptures, JudgedGroup
from harness.captures.judging import DEFAULT_PORT, judge_captures

__all__ = ["DEFAULT_PORT", "JudgedCaptures", "JudgedGroup", "judge_captures"]
