"""Turn the Spark job's tables into reports for people and their tools; nothing here judges or recomputes."""
