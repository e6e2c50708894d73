"""External brokers, which ran before the harness came: guarded, and left as they were."""
