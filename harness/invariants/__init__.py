"""What must be true in every conversation with group coordinators, whoever speaks and whatever is asked.

violations = check(events)                      # of a whole trace, any target's, tapped or scripted
checker = Checker(); checker.feed(event)        # the same one event after the other, while they happen
"""

from harness.invariants.checker import Checker, check
from harness.invariants.violation import AtFault, Invariant, Violation

__all__ = ["AtFault", "Checker", "Invariant", "Violation", "check"]
