"""Races: operations that overlap in time, and whether some order of them explains every answer.

A scenario tells every target the same and waits for its turn; what it cannot show is what a coordinator does
while two requests are on their way at once. A *race* lets them overlap, many times over, each *round* with a
group of its own, and records when each request left and when its answer came. The judgement is Herlihy and
Wing's: a round is explained if the reference, told the same requests one at a time in some order that never
contradicts what was over before what began, gives each of these answers.

    catalogue, moves ─► plan ─► drive ─► histories (JSON Lines) ─► search ─► judgement ─► report
"""
