"""A transaction coordinator that clients of the group coordinator cannot distinguish from Kafka's.

`state` defines the states of a transaction, `metadata` its data, `coordinator` the effects of requests.
The exhaustion of epochs is not modelled.
"""
