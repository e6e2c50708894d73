"""The group coordinator: a state machine for groups and offsets, whose inputs contain the time.

`coordinator` is its interface, and `service` checks every request. `lifecycle` and `loader` load and unload
partitions of the log. `admin` and `deletion` describe and delete groups.
"""
