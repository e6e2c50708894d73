"""A transaction coordinator, as far as clients of the group coordinator can tell it from Kafka's.

`state` says which states a transaction has, `metadata` what is known of one, `coordinator` what requests do
to it. The exhaustion of epochs is not modelled.
"""
