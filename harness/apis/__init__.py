"""What the harness knows of Kafka's APIs: one row an API, from which everything else derives its sets."""
