"""From judgements to a decision: what a pipeline asks of stored runs, and what is changed of expectations."""
