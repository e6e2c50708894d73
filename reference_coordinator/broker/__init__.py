"""The broker around its coordinators, sans-IO: frames in, frames out, other APIs, topics, and a cluster.

`listener` handles connections and frames; `kafka_apis` passes each request to its handler.
"""
