"""Streams groups (KIP-1071), whose members run the tasks of one topology. Source: StreamsGroup (4.3.1)."""
