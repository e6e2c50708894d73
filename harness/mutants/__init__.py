"""Mutants of the reference: faults derived from its code, each of which some scenario ought to notice.

source      which modules, and their syntax trees
faults/…    what can be wrong in a function, kind by kind
derive      all mutants, each under an id that says where and what
transplant  a mutant put into the running reference, in memory
rehearsal   one scenario run on the reference in process
yardstick   what the unmutated reference does, and which lines it takes
trial       one mutant against the scenarios that reach it
crew        processes that share the trials out
equivalents mutants that nobody can notice, with the reason of each
campaign    all of it
outcome     the score, as tables and as records
"""
