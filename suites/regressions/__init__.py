"""Faults in Kafka's history, each under the KAFKA number that fixed it.

Releases with the fault and releases without it answer each scenario here differently; the reference's
table of behaviours lists which. So a scenario expects only what both sides have in common.
"""
