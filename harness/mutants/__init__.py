"""Mutants of the reference: faults derived from its code, each of which some scenario should detect.

source      the modules to mutate, and their syntax trees
faults/…    the possible faults in a function, kind by kind
derive      all mutants, each with an id that names its place and fault
patch       a mutant put into the running reference, in memory
dry_run     one scenario run on the reference in process
baseline    the answers of the unmutated reference, and the lines that it executes
trial       one mutant run against the scenarios that reach it
pool        processes that share the trials
equivalents mutants that no client can detect, each with the reason
campaign    a whole campaign
outcome     the score, as tables and as records
"""
