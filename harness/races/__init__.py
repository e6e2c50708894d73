"""Races: operations that overlap in time, and whether some order of them explains every answer.

A scenario sends every target the same requests in turn, so it cannot show what a coordinator does while two
requests are in flight. A *race* lets them overlap, many times over, each *round* with its own group, and
records all bytes. The judgement is Herlihy and Wing's
linearizability. A round is explained if the reference gives each of these answers when it gets the same
requests one at a time, in some order in which a request that was over before another began comes first.
A race is recorded as a tap records, and judged as every recording is (`harness.captures`, `harness.replay`).

    catalogue ─► plan ─► drive ─► journal
"""
