"""The base of all handlers: partitions, timers, writes in progress and parked requests, but no groups.

`coordinator_runtime` contains the state, and completes or undoes writes. `coordinator_result` is the result
of an operation, which `write_event` writes and answers. `partitions` contains which partitions are owned,
`appends` the writes in progress, and `open_batch` the answers that wait for a batch. `append_errors` and
`error_responses` build the responses to refused requests.
"""
