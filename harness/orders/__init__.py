"""Orders: whether the reference, fed one request at a time in some order, gives the recorded answers.

Requests that overlap may have taken effect in any order, and timers run meanwhile. A *history* contains
requests and answers with their times. The *machine* is the reference, in which nothing happens unless the
search triggers it. A *course* is one order of the history's requests and of the machine's own steps. The
*search* looks for a course on which every answer equals the recorded one.

Races and replays are two ways to get a history. They differ in what may come next (`Course.next_moves`): a
race knows only which requests ended before others began, a replay knows the times.

    history ─► course ─► machine
                 ▲
               search
"""
