"""The logs of topics that clients write to and read from: unchanged batches, in memory.

Records stay opaque; only the header of a batch is read, as far as a broker needs it.
"""
