"""From the files of any number of runs to the tables of a report, by Spark's native expressions alone."""
