"""The group coordinator itself: one machine for groups and offsets, whose inputs carry the time.

`coordinator` is its front and `service` what every request is checked for. `lifecycle` and `loader` take over
a partition of the log and let go of it. `admin` and `deletion` show groups and forget them.
"""
