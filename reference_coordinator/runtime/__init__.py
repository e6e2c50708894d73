"""What every handler stands on: partitions, timers, writes under way and parked requests; nothing of groups.

`coordinator_runtime` is the state. `partitions` says what is owned, `appends` what a write is followed by,
`open_batch` which answers wait for a batch, `append_errors` and `error_responses` how a request is refused.
"""
