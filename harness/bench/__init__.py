"""Benchmarks of the reference, beside a broker that runs on the same machine at the same time."""
