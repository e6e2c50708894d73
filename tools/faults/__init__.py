"""A corpus of real faults: what coordinators did wrong, as changes to single functions of the reference.

corpus     one fault, and the list of all
subjects   the faults, by what they are about
replacing  a function of the reference is replaced in the running process
campaign   the scenarios run on each faulty reference, and are judged
table      the outcome, as a table
"""
