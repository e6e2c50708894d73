"""What a run came to: records on file, statuses, the exit code and the baseline; nothing here is a page."""
