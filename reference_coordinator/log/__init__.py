"""`__consumer_offsets` as Kafka stores it: the formats of records and batches, and the log directory.

From the values outwards: `message_codec` and `serde` (a record's key and value), `record_batch` (batches,
with `codecs`), `conversion` (between the two), `segments` (a partition's files), `compaction` and `cleaning`,
`directory` (the store). The log itself depends only on the types in `batches`.
"""
