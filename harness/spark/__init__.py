"""Turn the files of any number of runs into a report's tables, using only Spark's native expressions."""
