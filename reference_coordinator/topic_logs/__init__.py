"""The logs of topics that clients write to and read from: batches as they came, in memory.

Records stay opaque; only what the header of a batch says is looked at, as far as a broker has to.
"""
