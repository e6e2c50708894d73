"""The broker around its coordinators, sans-IO: frames in, frames out, other APIs, topics, and a cluster.

`listener` is the front; `kafka_apis` says who answers what.
"""
