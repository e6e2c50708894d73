"""Invariants of every conversation with a group coordinator, for any client and any requests.

violations = check(events)                      # of a whole trace of any target, tapped or scripted
checker = Checker(); checker.feed(event)        # of one event after another, as they happen
"""

from harness.invariants.checker import Checker, check
from harness.invariants.laws import AtFault, Invariant, Violation

__all__ = ["AtFault", "Checker", "Invariant", "Violation", "check"]
