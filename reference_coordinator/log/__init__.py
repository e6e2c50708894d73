"""`__consumer_offsets` as Kafka keeps it: formats of records and batches, and the directory that has them.

From the values outwards: `schemas` and `serde` (a record's key and value), `record_batch` (batches, with
`codecs`), `conversion` (one to the other), `segments` (a partition's files), `compaction` and `cleaning`,
`directory` (the store). `batches` is what the log itself knows of all this.
"""
