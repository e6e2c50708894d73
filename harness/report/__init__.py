"""From the job's tables to what people and their tools read; nothing here judges or recomputes."""
