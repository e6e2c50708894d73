"""Compare what brokers answered in tcpdump captures and taps with what the reference answers.

    spec = specification("4.1", {}, defaults={})
    judged = judge_captures([Path("broker.pcap")], spec, ports={9092}, is_whole=False)

Each step is a function over an iterable: packets, segments, streams, whole frames, rows of exchanges, rows by
group, and their replays. `judge_here` and `on_spark` put the same steps together.
"""

from harness.captures.judged import JudgedCaptures, JudgedGroup
from harness.captures.judging import DEFAULT_PORT, Judge, judge_captures, judge_here

__all__ = ["DEFAULT_PORT", "Judge", "JudgedCaptures", "JudgedGroup", "judge_captures", "judge_here"]
