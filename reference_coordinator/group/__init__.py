"""The group coordinator itself: one machine for groups and offsets, whose inputs carry the time.

`coordinator` is its front, `service` what every request is checked for, `shard` what all handlers share.
`partitions`, `lifecycle` and `loader` take over a partition of the log and let go of it; `appends` and its
neighbours wait for what is written; `admin` and `removal` show groups and forget them. The protocol of
members is in `classic`, offsets are in `offsets`.
"""
