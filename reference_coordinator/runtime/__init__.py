"""What every handler stands on: partitions, timers, writes under way and parked requests; nothing of groups.

`coordinator_runtime` is the state, and completes writes or undoes them. `coordinator_result` is what an
operation returns, which `write_event` writes and answers. `partitions` says what is owned, `appends` what is
under way, `open_batch` which answers wait for a batch, `append_errors` and `error_responses` how a request is
refused.
"""
