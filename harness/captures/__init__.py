"""Compare what brokers answered in tcpdump captures and taps with what the reference answers.

    spec = specification("4.1", {}, defaults={})
    terms = Terms(spec=spec, ports=frozenset((9092,)), is_whole=False)
    judged = judge_here(sources_of([Path("broker.pcap")]), terms)

Each step is a function over an iterable: packets, segments, streams, whole frames, rows of exchanges, rows by
group, and their replays. `judge_here` and `on_spark` put the same steps together.
"""

from harness.captures.judged import JudgedCaptures, JudgedGroup
from harness.captures.judging import DEFAULT_PORT, Judge, Terms, judge_here
from harness.captures.sources import sources_of

__all__ = ["DEFAULT_PORT", "Judge", "JudgedCaptures", "JudgedGroup", "Terms", "judge_here", "sources_of"]
