"""The results of a run: stored records, statuses, the exit code and the baseline; no pages."""
