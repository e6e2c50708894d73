"""Turn the judgements of stored runs into a decision for a pipeline, and edit expectation files."""
