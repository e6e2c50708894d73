"""Orders: whether the reference, asked one request at a time in some order, gives the recorded answers.

Requests that overlap may have taken effect in any order, and timers run while they do. A *history* is what
was asked and answered, and when. The *machine* is the reference, in which nothing happens unless it is told
to. A *course* is one order of the history's requests and of what the machine does by itself. The *search*
looks for a course on which every answer is the recorded one.

Races and replays are two ways to get a history. They differ in what may come next (`Course.next_moves`): a
race knows only what was over before what began, a replay knows the times.

    history ─► course ─► machine
                 ▲
               search
"""
