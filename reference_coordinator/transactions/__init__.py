"""A transaction coordinator, as far as clients of the group coordinator can tell it from Kafka's.

`state` says which states a transaction has, `metadata` what is known of one, `coordinator` what requests do
to it. Transactions over topics of records, timeouts and the exhaustion of epochs are not modelled.
"""
